/** The report about being on call: who was how long, what they were sent, and how quickly they responded. */
import { AppError, invalid } from '../../../core/errors.ts';
import type { VisibleUsers } from '../../../core/identity/visible-users.ts';
import { timeOfUuid } from '../../../core/ids.ts';
import { type Duty, listDuties, newDutyBudget } from '../../../core/oncall/duties.ts';
import { collectTimes, isWithin, measure, spreadOf } from '../../../core/oncall/report.ts';
import { hourMs, zoneOf } from '../../../core/oncall/zone.ts';
import { fold } from '../../../core/text/text.ts';
import { findDutyZones, listPages, listResponses } from '../../../db/audience/on-call/report.ts';
import { listSchedules } from '../../../db/audience/on-call/schedules.ts';
import { runInSlices, slices } from '../../../lib/load/slices.ts';
import { requirePath } from '../../configuration/entries.ts';
import type { Deps } from '../../deps.ts';
import { toCsv } from '../list-files.ts';
import { compile, requireSpan, type ShiftSpan } from './on-call.ts';

export const reportLimits = {
  /** Schedules in one report, and shifts of each. */
  schedules: 500,
  shifts: 5_000,
  /** Pages and responses in one report. */
  rows: 100_000,
} as const;

export interface ReportRequest extends ShiftSpan {
  /** Slugs. A schedule needs its project. */
  project?: string | undefined;
  schedule?: string | undefined;
  /** With `none`, only usernames are returned: the schedules have them, too. */
  visible: VisibleUsers;
}

export type OnCallReport = Awaited<ReturnType<typeof createReport>>;

/** Pages count if the user was on call in one of the schedules when they were sent. */
export async function createReport(
  { db, bulk }: Pick<Deps, 'db' | 'bulk'>,
  { id: organizationId, slug: org }: { id: number; slug: string },
  { since, until, project: prj, schedule, visible }: ReportRequest,
) {
  requireSpan({ since, until });
  if (schedule !== undefined && prj === undefined) throw invalid({ project: ['is required with a schedule'] });
  const project = prj === undefined ? undefined : (await requirePath(db, { org, prj })).project!;
  return bulk.run(organizationId, async () => {
    const span = { from: since, until, page: { after: 0, limit: reportLimits.schedules + 1 } };
    const rows = await listSchedules(db, organizationId, {
      ...span,
      ...(project && { project }),
      ...(schedule !== undefined && { slug: schedule }),
    });
    if (schedule !== undefined && rows.length === 0)
      throw new AppError('schedule.not_found', `there is no schedule ${schedule} in ${org}/${prj}`);
    if (rows.length > reportLimits.schedules)
      throw invalid({ project: [`there are more than ${reportLimits.schedules} schedules: choose a project`] });
    const duties: Duty[][] = [];
    for (const row of rows) {
      const times = { from: since.getTime(), until: until.getTime(), max: reportLimits.shifts };
      const budget = newDutyBudget();
      duties.push(await runInSlices(listDuties(compile(row), times, budget)));
      if (budget.isCutOff) throw invalid({ until: [`${row.slug} changes too often: ask for a shorter time`] });
    }
    const times = collectTimes(duties);
    const usernames = [...times.keys()];
    const selection = { since, until, project, limit: reportLimits.rows + 1 };
    const [people, pages, responses] = [
      await findDutyZones(db, organizationId, usernames),
      await listPages(db, organizationId, usernames, selection),
      await listResponses(db, organizationId, selection),
    ];
    if (Math.max(pages.length, responses.length) > reportLimits.rows)
      throw invalid({ until: [`there are more than ${reportLimits.rows} pages: ask for a shorter time`] });
    const pause = slices();
    const received = new Map<string, number>();
    for (const { username, sent_at } of pages) {
      const paused = pause();
      if (paused) await paused;
      if (isWithin(times.get(username)!.intervals, sent_at.getTime()))
        received.set(username, (received.get(username) ?? 0) + 1);
    }
    const acknowledged = secondsByUser(responses.filter(({ kind }) => kind === 'acknowledged'));
    const resolved = secondsByUser(responses.filter(({ kind }) => kind === 'resolved'));
    const byName = new Map(people.map(one => [one.username, one]));
    const found = [];
    for (const [username, { shifts, intervals }] of times) {
      const paused = pause();
      if (paused) await paused;
      const person = byName.get(username);
      const named = visible === 'none' ? undefined : person;
      const timezone = person?.timezone ?? 'UTC';
      const { all, night, weekend } = measure(intervals, zoneOf(timezone));
      const [acks, ends] = [acknowledged.get(fold(username)) ?? [], resolved.get(fold(username)) ?? []];
      found.push({
        ...{ username, first_name: named?.first_name ?? '', last_name: named?.last_name ?? '', timezone, shifts },
        ...{ hours: toHours(all), night_hours: toHours(night), weekend_hours: toHours(weekend) },
        pages: received.get(username) ?? 0,
        ...{ acknowledged: acks.length, time_to_acknowledge: spreadOf(acks) },
        ...{ resolved: ends.length, time_to_resolve: spreadOf(ends) },
      });
    }
    const mean = found.reduce((sum, { hours }) => sum + hours, 0) / Math.max(1, found.length);
    return {
      ...{ since, until, schedules: rows.length },
      people: found
        .map(one => ({ ...one, against_mean: Math.round((one.hours / (mean || 1)) * 100) / 100 }))
        .sort((a, b) => b.hours - a.hours || (a.username < b.username ? -1 : 1)),
    };
  });
}

const toHours = (ms: number) => Math.round((ms / hourMs) * 100) / 100;

/** Returns the seconds from each trigger to its first such response, by who gave it. */
function secondsByUser(responses: readonly { occurrence_id: string; at: Date; by: string }[]): Map<string, number[]> {
  const seconds = new Map<string, number[]>();
  let last: string | undefined;
  for (const { occurrence_id, at, by } of responses) {
    if (occurrence_id === last) continue;
    last = occurrence_id;
    // Followed by where it was done, such as "in Slack", or for whom.
    const user = fold(/^[^\s,]*/.exec(by)![0]);
    const taken = Math.max(0, Math.round((at.getTime() - timeOfUuid(occurrence_id)) / 1_000));
    const own = seconds.get(user);
    if (own) own.push(taken);
    else seconds.set(user, [taken]);
  }
  return seconds;
}

const csvColumns = [
  ...['username', 'first_name', 'last_name', 'timezone', 'shifts', 'hours', 'night_hours', 'weekend_hours'],
  ...['against_mean', 'pages', 'acknowledged', 'time_to_acknowledge_median', 'time_to_acknowledge_p90'],
  ...['resolved', 'time_to_resolve_median', 'time_to_resolve_p90'],
] as const;

/** Returns the report as CSV. Times are in seconds; empty: there was none. */
export function reportToCsv({ people }: Pick<OnCallReport, 'people'>): string {
  const rows = people.map(({ time_to_acknowledge: taken, time_to_resolve: ended, ...one }) => {
    const cells: Record<string, string | number | undefined> = {
      ...one,
      ...{ time_to_acknowledge_median: taken?.median, time_to_acknowledge_p90: taken?.p90 },
      ...{ time_to_resolve_median: ended?.median, time_to_resolve_p90: ended?.p90 },
    };
    return csvColumns.map(column => String(cells[column] ?? ''));
  });
  return toCsv([[...csvColumns], ...rows]);
}
