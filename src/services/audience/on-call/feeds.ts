/** Calendar feeds: the shifts of a schedule, or of a user, for the calendars of other programs. */
import { AppError } from '../../../core/errors.ts';
import { type CalendarFeed, signCalendarToken, verifyCalendarToken } from '../../../core/message/recipient-links.ts';
import { listDuties, newDutyBudget } from '../../../core/oncall/duties.ts';
import { type CalendarEvent, writeCalendar } from '../../../core/oncall/ical.ts';
import { dayMs } from '../../../core/oncall/zone.ts';
import { findFeedOwner, incrementCalendarGeneration } from '../../../db/audience/on-call/feeds.ts';
import { listSchedules, type ScheduleRow } from '../../../db/audience/on-call/schedules.ts';
import { findPeople } from '../../../db/audience/users.ts';
import { runInSlices, slices } from '../../../lib/load/slices.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import { requireHere } from '../../configuration/paths/moves.ts';
import type { Deps } from '../../deps.ts';
import { record } from '../../operations/audit.ts';
import { compile } from './on-call.ts';

export const feedLimits = {
  pastDays: 30,
  aheadDays: 180,
  /** Shifts in one calendar. */
  events: 5_000,
} as const;

/** Schedules that are read at once for the calendar of a user. */
const pageSize = 100;

type FeedOwner = Omit<CalendarFeed, 'generation'>;

/** Returns the path of the calendar. It is the same until it is revoked. */
export async function feedPath({ db, signer }: Pick<Deps, 'db' | 'signer'>, owner: FeedOwner): Promise<string> {
  const found = await findFeedOwner(db, owner.organizationId, owner);
  if (!found) throw noCalendar();
  const { generation } = found;
  return `/calendar/${signCalendarToken({ ...owner, generation }, (text, purpose) => signer.sign(text, purpose))}.ics`;
}

/** Revokes the address of a calendar and returns the path of the new one. */
export async function rotateFeed(deps: Deps, owner: FeedOwner, path: string): Promise<string> {
  await deps.db.transaction().execute(async trx => {
    await incrementCalendarGeneration(trx, owner.organizationId, owner);
    await record(deps, trx, owner.organizationId, { action: 'rotate', noun: 'calendar', path });
  });
  return feedPath(deps, owner);
}

/** Finds the calendar of a token. Throws if it was revoked, or what it shows was deleted. */
export async function findFeed(
  deps: Pick<Deps, 'db' | 'signer' | 'tenantCache'>,
  token: string,
): Promise<CalendarFeed & { name: string; project?: { id: number }; slug?: string }> {
  const feed = verifyCalendarToken(token, deps.signer.isSigned);
  if (!feed) throw noCalendar();
  await requireHere(deps, { id: feed.organizationId });
  const found = await findFeedOwner(deps.db, feed.organizationId, feed);
  if (found?.generation !== feed.generation) throw noCalendar();
  const { name, project_id, slug } = found;
  return { ...feed, name, ...(project_id !== null && slug !== null && { project: { id: project_id }, slug }) };
}

function noCalendar(): AppError {
  return new AppError('calendar.not_found', 'there is no such calendar: its address may have been replaced');
}

/** Returns the calendar as text: the same one for a month, unless a shift changes. */
export async function writeFeed(deps: Pick<Deps, 'db' | 'bulk'>, feed: Awaited<ReturnType<typeof findFeed>>) {
  return deps.bulk.run(feed.organizationId, async () => {
    const { since, until } = monthsAround(currentTime());
    const user = feed.of === 'user' ? feed.name : undefined;
    const events: CalendarEvent[] = [];
    for await (const row of schedulesOf(deps, feed, { since, until })) {
      const max = feedLimits.events - events.length;
      const search = listDuties(compile(row), { from: since, until, user, max }, newDutyBudget());
      const duties = (await runInSlices(search)).filter(({ users }) => users.length > 0);
      const names = user === undefined ? await findNames(deps, feed.organizationId, duties) : undefined;
      for (const { users, from, until } of duties) {
        const uid = `${row.id}-${from.toString(36)}-${feed.of}${feed.id}@belfry`;
        const summary = names ? `${row.name}: ${users.map(names).join(', ')}` : `On call: ${row.name} (${row.project})`;
        events.push({ uid, from, until, summary });
      }
      if (events.length >= feedLimits.events) break;
    }
    return writeCalendar(user === undefined ? feed.name : `On call: ${feed.name}`, since, events);
  });
}

/** Returns whole months in UTC, so that the first shift has the same beginning in each answer, and no new identity. */
function monthsAround(now: number): { since: number; until: number } {
  const monthOf = (instant: number, months = 0) =>
    Date.UTC(new Date(instant).getUTCFullYear(), new Date(instant).getUTCMonth() + months);
  return { since: monthOf(now - feedLimits.pastDays * dayMs), until: monthOf(now + feedLimits.aheadDays * dayMs, 1) };
}

async function* schedulesOf(
  { db }: Pick<Deps, 'db'>,
  { organizationId, project, slug, name }: Awaited<ReturnType<typeof findFeed>>,
  { since, until }: { since: number; until: number },
): AsyncGenerator<ScheduleRow> {
  const span = { from: new Date(since), until: new Date(until) };
  if (project) {
    yield* await listSchedules(db, organizationId, { project, slug: slug!, ...span });
    return;
  }
  const pause = slices();
  for (let after = 0; ; ) {
    const rows = await listSchedules(db, organizationId, { ...span, user: name, page: { after, limit: pageSize } });
    for (const row of rows) {
      const paused = pause();
      if (paused) await paused;
      yield row;
    }
    if (rows.length < pageSize) return;
    after = rows.at(-1)!.id;
  }
}

async function findNames({ db }: Pick<Deps, 'db'>, organizationId: number, duties: { users: readonly string[] }[]) {
  const people = await findPeople(db, organizationId, [...new Set(duties.flatMap(({ users }) => users))]);
  const names = new Map(people.map(one => [one.username, `${one.first_name} ${one.last_name}`.trim()]));
  return (username: string) => names.get(username) || username;
}
