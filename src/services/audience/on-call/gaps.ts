/** Looks for gaps: times at which no one is on call, and people on call who would not be reached. */

import { decide, reachesPeople } from '../../../core/decision/decide.ts';
import { generalCategory, type Topic } from '../../../core/decision/preferences.ts';
import { invalid } from '../../../core/errors.ts';
import type { VisibleUsers } from '../../../core/identity/visible-users.ts';
import { type DutyBudget, listDuties } from '../../../core/oncall/duties.ts';
import { type Coverage, findGaps, type Gap, gapLimits, type Readiness } from '../../../core/oncall/gaps.ts';
import { dayMs } from '../../../core/oncall/zone.ts';
import { addressKind, fold } from '../../../core/text/text.ts';
import { listAbsences } from '../../../db/audience/on-call/absences.ts';
import { listFilledLists, listUsesOfSchedules, listVerifiedAddresses } from '../../../db/audience/on-call/readiness.ts';
import { listSchedules, type ScheduleRow } from '../../../db/audience/on-call/schedules.ts';
import { listTestPages } from '../../../db/audience/on-call/test-pages.ts';
import { findRecipientsByNameAcrossTenants } from '../../../db/audience/recipients.ts';
import { runInSlices, slices } from '../../../lib/load/slices.ts';
import type { PlannedChannel } from '../../../pipeline/plans.ts';
import { markSuppressed } from '../../../pipeline/suppressions.ts';
import type { Deps } from '../../deps.ts';
import { compile, now as currentDate } from './on-call.ts';

export const gapSearchLimits = {
  /** Gaps in one answer. */
  gaps: 1_000,
  /** Turns and edges that are computed for one answer: about three seconds in total. */
  changes: 300_000,
  /** People that are examined for one answer, and how many are read at once. */
  people: 10_000,
  peopleAtOnce: 1_000,
  /** Notifications that are named for one schedule. */
  uses: 5,
} as const;

interface GapRequest {
  /** Slugs. */
  project?: string | undefined;
  schedule?: string | undefined;
  /** Absent: a week. */
  until?: Date | undefined;
  /** With `none`, nothing is said about people. */
  visible: VisibleUsers;
}

export interface GapView extends Omit<Gap, 'from' | 'until'> {
  /** Slugs. */
  project: string;
  schedule: string;
  from: Date;
  until: Date;
  /** Paths of notifications that go to the schedule, the first ones. */
  used_by: string[];
}

export interface Gaps {
  until: Date;
  /** How many schedules were examined. */
  schedules: number;
  /** Whether all gaps were found. */
  complete: boolean;
  gaps: GapView[];
}

/** Lists the gaps from now on, by schedule in order of creation. */
export async function listGaps(
  deps: Pick<Deps, 'db' | 'pool' | 'plans'>,
  organizationId: number,
  { until: wanted, visible, project, schedule }: GapRequest,
): Promise<Gaps> {
  const from = currentDate();
  const until = wanted ?? new Date(from.getTime() + gapLimits.defaultDays * dayMs);
  if (until <= from) throw invalid({ until: ['must be in the future'] });
  if (until.getTime() - from.getTime() > gapLimits.days * dayMs)
    throw invalid({ until: [`must be within ${gapLimits.days} days`] });
  const all = await listSchedules(deps.db, organizationId, { slug: schedule, from, until });
  const rows = all.filter(row => project === undefined || row.project === project);
  const budget: DutyBudget = { left: gapSearchLimits.changes, isCutOff: false };
  const projects = new Set(rows.flatMap(row => (row.fallback === null ? [] : row.project)));
  const isFilled = await findFilledLists(deps.db, organizationId, [...projects]);
  const covered = await coverAll(rows, isFilled, { from, until }, budget);
  const people = visible === 'none' ? undefined : await readPeople(deps, organizationId, covered, { from, until });
  const pause = slices();
  const found: { row: ScheduleRow; gap: Gap }[] = [];
  for (const { row, coverage } of covered) {
    const paused = pause();
    if (paused) await paused;
    if (found.length > gapSearchLimits.gaps) break;
    for (const gap of findGaps(coverage, from.getTime(), people?.readinessIn(row.project_id))) found.push({ row, gap });
  }
  const gaps = found.slice(0, gapSearchLimits.gaps);
  return {
    until,
    schedules: rows.length,
    complete: !budget.isCutOff && gaps.length === found.length && people?.isCutOff !== true,
    gaps: await showGaps(deps, organizationId, gaps),
  };
}

type CoveredRow = Pick<ScheduleRow, 'timezone' | 'layers' | 'combine' | 'fallback' | 'overrides' | 'test'>;

interface Covered<Row extends CoveredRow = ScheduleRow> {
  row: Row;
  coverage: Coverage;
}

/** Decides who is on call in a span, pausing on the event loop. `isFilled`: whether a schedule's fallback list has active members. */
export async function coverAll<Row extends CoveredRow>(
  rows: readonly Row[],
  isFilled: (row: Row & { fallback: string }) => boolean,
  { from, until }: { from: Date; until: Date },
  budget: DutyBudget,
): Promise<Covered<Row>[]> {
  const span = { from: from.getTime(), until: until.getTime(), max: gapLimits.duties };
  const covered: Covered<Row>[] = [];
  for (const row of rows) {
    const duties = await runInSlices(listDuties(compile(row), span, budget));
    const { fallback: name } = row;
    const fallback = name === null ? null : { name, isEmpty: !isFilled({ ...row, fallback: name }) };
    covered.push({ row, coverage: { duties, fallback, isTested: row.test !== null } });
  }
  return covered;
}

/** Returns a function that says whether the fallback list of a schedule has active members. */
export async function findFilledLists(
  db: Deps['db'],
  organizationId: number,
  projects: readonly string[],
): Promise<(row: { project: string; fallback: string }) => boolean> {
  const lists = projects.length === 0 ? [] : await listFilledLists(db, organizationId, projects);
  const filled = new Set(lists.map(one => `${one.project}/${one.name_key}`));
  return ({ project, fallback }) => filled.has(`${project}/${fold(fallback)}`);
}

/** Required: what a person has switched off does not count, because it depends on the event. */
const topic: Topic = { category: { ...generalCategory, kind: 'required', quiet_hours: 'ignore' }, event: undefined };

type Known = Omit<Readiness, 'reachable'> & { reachableBy: (channels: readonly PlannedChannel[]) => Set<string> };

async function readPeople(
  deps: Pick<Deps, 'db' | 'pool' | 'plans'>,
  organizationId: number,
  covered: readonly Covered[],
  { from, until }: { from: Date; until: Date },
) {
  const { db, plans } = deps;
  const all = [...new Set(covered.flatMap(({ coverage }) => coverage.duties.flatMap(({ users }) => users)))];
  const isTested = covered.some(({ coverage }) => coverage.isTested);
  const known = new Map<string, Known>();
  const pause = slices();
  for (let i = 0; i < Math.min(all.length, gapSearchLimits.people); i += gapSearchLimits.peopleAtOnce) {
    const some = all.slice(i, Math.min(i + gapSearchLimits.peopleAtOnce, gapSearchLimits.people));
    const wanted = some.map(username => ({ organizationId, username }));
    const recipients = await markSuppressed(deps, await findRecipientsByNameAcrossTenants(deps.pool, wanted));
    const verified = Map.groupBy(await listVerifiedAddresses(db, organizationId, some), ({ username }) => username);
    const absences = Map.groupBy(await listAbsences(db, organizationId, some, from, until), ({ user }) => user);
    const tested = new Map(
      isTested ? (await listTestPages(db, organizationId, some)).map(one => [one.username, one.confirmed_at]) : [],
    );
    for (const username of some) known.set(username, missing);
    for (const recipient of recipients) {
      const { username, locked, rules } = recipient;
      const circumstances = {
        topic,
        defaults: { timezone: null, quiet_hours: null },
        isUrgent: true,
        now: from.getTime(),
      };
      known.set(username, {
        state: locked ? 'locked' : 'active',
        ruled: [...new Set([...(rules?.important ?? []), ...(rules?.normal ?? [])].map(({ by }) => by))],
        verified: [...new Set((verified.get(username) ?? []).map(({ name }) => addressKind(name)))],
        absences: (absences.get(username) ?? []).map(one => ({
          from: one.starts_at.getTime(),
          until: one.ends_at.getTime(),
        })),
        testedAt: tested.get(username)?.getTime() ?? null,
        reachableBy: channels => {
          const open = channels.filter(one => decide(one, recipient, {}, circumstances).some(({ reason }) => !reason));
          return new Set(open.map(({ type }) => type));
        },
      });
    }
    const paused = pause();
    if (paused) await paused;
  }
  const channelsOf = new Map<number, PlannedChannel[]>();
  for (const { row } of covered) {
    if (channelsOf.has(row.project_id)) continue;
    const usable = await plans.listUsable(organizationId, row.project_id);
    // A message in the inbox wakes no one.
    channelsOf.set(
      row.project_id,
      usable.filter(one => reachesPeople(one) && one.type !== 'inbox'),
    );
  }
  return {
    isCutOff: all.length > gapSearchLimits.people,
    readinessIn(projectId: number) {
      const channels = channelsOf.get(projectId)!;
      const found = new Map<string, Readiness>();
      return (username: string): Readiness | undefined => {
        const facts = known.get(username);
        if (facts && !found.has(username)) found.set(username, { ...facts, reachable: facts.reachableBy(channels) });
        return found.get(username);
      };
    },
  };
}

const missing: Known = {
  state: 'missing',
  ruled: [],
  verified: [],
  absences: [],
  testedAt: null,
  reachableBy: () => new Set(),
};

async function showGaps(
  { db }: Pick<Deps, 'db'>,
  organizationId: number,
  found: readonly { row: ScheduleRow; gap: Gap }[],
): Promise<GapView[]> {
  if (found.length === 0) return [];
  const ids = [...new Set(found.map(({ row }) => row.id))];
  const uses = Map.groupBy(await listUsesOfSchedules(db, organizationId, ids), one => one.schedule_id);
  return found.map(({ row, gap: { from, until, ...gap } }) => ({
    project: row.project,
    schedule: row.slug,
    ...gap,
    from: new Date(from),
    until: new Date(until),
    used_by: (uses.get(row.id) ?? []).slice(0, gapSearchLimits.uses).map(({ path }) => path),
  }));
}
