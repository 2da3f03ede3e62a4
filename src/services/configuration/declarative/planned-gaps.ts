/** Looks for times at which no one would be on call once a document was applied, in the projects that the document names. */
import type { OrganizationState } from '../../../core/configuration/state.ts';
import type { DutyBudget } from '../../../core/oncall/duties.ts';
import { findGaps, type Gap, gapLimits } from '../../../core/oncall/gaps.ts';
import { dayMs } from '../../../core/oncall/zone.ts';
import { fold } from '../../../core/text/text.ts';
import { listSchedules, type ScheduleRow } from '../../../db/audience/on-call/schedules.ts';
import { findOrganizationsAcrossTenants } from '../../../db/configuration/organizations.ts';
import type { Db } from '../../../db/connection/pool.ts';
import { coverAll, findFilledLists, gapSearchLimits } from '../../audience/on-call/gaps.ts';
import { now } from '../../audience/on-call/on-call.ts';
import type { Deps } from '../../deps.ts';
import { type ApplyOptions, type Plan, withPlan } from './declarative.ts';

export interface PlannedGaps {
  until: Date;
  /** Whether all gaps were found. */
  complete: boolean;
  gaps: (Pick<Gap, 'message' | 'advice'> & {
    /** Path of the schedule: acme/ops/primary. */
    schedule: string;
    from: Date;
    until: Date;
  })[];
}

type PlannedSchedule = Pick<
  ScheduleRow,
  'project' | 'timezone' | 'layers' | 'combine' | 'overrides' | 'fallback' | 'test'
> & {
  path: string;
  isFilled: boolean;
};

export async function listPlannedGaps(deps: Deps, document: unknown, options: ApplyOptions): Promise<PlannedGaps> {
  const from = now();
  const until = new Date(from.getTime() + gapLimits.days * dayMs);
  const planned = await withPlan(deps, document, options, (plan, trx) => readPlanned(plan, trx, options, from, until));
  const budget: DutyBudget = { left: gapSearchLimits.changes, isCutOff: false };
  const covered = await coverAll(planned, ({ isFilled }) => isFilled, { from, until }, budget);
  const gaps = covered.flatMap(({ row, coverage }) =>
    findGaps(coverage, from.getTime()).map(({ message, advice, from, until }) => ({
      ...{ schedule: row.path, message, advice },
      from: new Date(from),
      until: new Date(until),
    })),
  );
  const shown = gaps.slice(0, gapSearchLimits.gaps);
  return { until, complete: !budget.isCutOff && shown.length === gaps.length, gaps: shown };
}

/** Returns the schedules of the named projects as they would be. Overrides stay. */
async function readPlanned(
  { organizations, steps }: Plan,
  trx: Db,
  { prune }: ApplyOptions,
  from: Date,
  until: Date,
): Promise<PlannedSchedule[]> {
  const slugs = organizations.map(({ slug }) => slug);
  const found = slugs.length === 0 ? [] : await findOrganizationsAcrossTenants(trx, slugs);
  const all: PlannedSchedule[] = [];
  for (const organization of organizations) {
    const { slug, projects = [] } = organization;
    const named = projects.map(project => project.slug);
    const id = found.find(one => one.slug === slug)?.id;
    if (named.length === 0) continue;
    const stored = id === undefined ? [] : await listSchedules(trx, id, { from, until });
    const isFilled = id === undefined ? () => false : await findFilledLists(trx, id, named);
    const planned = new Map<string, Omit<PlannedSchedule, 'path' | 'isFilled'>>();
    for (const row of stored) if (named.includes(row.project)) planned.set(`${slug}/${row.project}/${row.slug}`, row);
    for (const { noun, action, path, state } of steps) {
      const [org, project] = path.split('/');
      if (noun !== 'schedule' || org !== slug) continue;
      if (action === 'delete') planned.delete(path);
      else {
        const { timezone, layers, combine, fallback = null } = state;
        const overrides = planned.get(path)?.overrides ?? [];
        planned.set(path, { project: project!, timezone, layers, combine, fallback, overrides, test: null });
      }
    }
    for (const [path, schedule] of planned) {
      const { project, fallback } = schedule;
      const wasFilled = fallback !== null && isFilled({ project, fallback });
      const members = membersOf(organization, schedule);
      all.push({
        ...schedule,
        path,
        isFilled: members === undefined ? wasFilled : members > 0 || (wasFilled && !prune),
      });
    }
  }
  return all;
}

/** Returns how many members the document gives to the fallback list; undefined if it does not manage them. */
function membersOf(
  { projects }: OrganizationState,
  { project: slug, fallback }: Pick<PlannedSchedule, 'project' | 'fallback'>,
): number | undefined {
  if (fallback === null) return undefined;
  const lists = projects?.find(project => project.slug === slug)?.distribution_lists;
  return lists?.find(({ name }) => fold(name) === fold(fallback))?.members?.length;
}
