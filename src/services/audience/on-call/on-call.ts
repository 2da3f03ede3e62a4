/** Who is on call: now, at any time, and in which shifts. */
import { invalid } from '../../../core/errors.ts';
import type { VisibleUsers } from '../../../core/identity/visible-users.ts';
import { type CompiledSchedule, compileSchedule, listShifts, whoIsOnCall } from '../../../core/oncall/schedule.ts';
import { findTurn } from '../../../core/oncall/turns.ts';
import { dayMs } from '../../../core/oncall/zone.ts';
import { listSchedules, type ScheduleRow } from '../../../db/audience/on-call/schedules.ts';
import { findAnnouncementErrors } from '../../../db/audience/on-call/watches.ts';
import { findPeople, type Person } from '../../../db/audience/users.ts';
import type { PageRequest } from '../../../db/connection/page.ts';
import { slices } from '../../../lib/load/slices.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { Deps } from '../../deps.ts';
import { findCollisionsOf } from './absences.ts';

export const onCallLimits = {
  /** Days of shifts in one answer. */
  days: 92,
  /** Shifts in one answer. */
  shifts: 5_000,
  /** How far ahead the next users are looked for. */
  aheadDays: 400,
} as const;

export const now = () => new Date(currentTime());

type Rules = Pick<ScheduleRow, 'timezone' | 'layers' | 'combine' | 'overrides'> & Partial<Pick<ScheduleRow, 'history'>>;

export const compile = ({ timezone, layers, combine, overrides, history }: Rules): CompiledSchedule =>
  compileSchedule({ timezone, layers, combine }, overrides, history);

/** Returns the usernames of the users on call at a time, after so many changes, and the fallback list. */
export async function findOnCallAt(
  { db }: Pick<Deps, 'db'>,
  organizationId: number,
  project: { id: number },
  { schedule: slug, offset }: { schedule: string; offset: number },
  at: Date,
): Promise<{ users: readonly string[]; fallback: string | null }> {
  const [row] = await listSchedules(db, organizationId, { project, slug, from: at });
  if (!row) return { users: [], fallback: null };
  return { users: findTurn(compile(row), at.getTime(), offset).users, fallback: row.fallback };
}

interface OnCallRequest {
  project?: { id: number };
  slug?: string;
  /** Only schedules that name this user. */
  user?: string | undefined;
  page?: PageRequest;
  at: Date;
  /** With `none`, only usernames are returned: the schedules have them, too. */
  visible: VisibleUsers;
}

export type OnCallView = Awaited<ReturnType<typeof listOnCall>>[number];

/** Lists schedules with who is on call at a time and who is next. */
export async function listOnCall(
  { db }: Pick<Deps, 'db'>,
  organizationId: number,
  { at, visible, ...selection }: OnCallRequest,
) {
  const until = new Date(at.getTime() + onCallLimits.aheadDays * dayMs);
  const rows = await listSchedules(db, organizationId, { ...selection, from: at, until });
  const pause = slices();
  const found: { row: ScheduleRow; now: ReturnType<typeof whoIsOnCall>; turn: ReturnType<typeof findTurn> }[] = [];
  for (const row of rows) {
    const paused = pause();
    if (paused) await paused;
    const compiled = compile(row);
    found.push({ row, now: whoIsOnCall(compiled, at.getTime()), turn: findTurn(compiled, at.getTime(), 1) });
  }
  const usernames = found.flatMap(({ now, turn }) => [...now.users, ...turn.users]);
  const people = await findPeopleOf(db, organizationId, usernames, visible);
  const collisions = await findCollisionsOf(db, organizationId, usernames, at, until, visible);
  const errors = await findAnnouncementErrors(
    db,
    organizationId,
    rows.map(({ id }) => id),
  );
  return found.map(({ row, now, turn }) => ({
    id: row.id,
    project: row.project,
    schedule: row.slug,
    name: row.name,
    timezone: row.timezone,
    fallback: row.fallback,
    users: now.users.map(people),
    layers: [...now.layers],
    overrides: [...now.overrides],
    until: turn.changesAt === undefined ? null : new Date(turn.changesAt),
    next: turn.shift ? { from: new Date(turn.shift.from), users: turn.shift.users.map(people) } : null,
    absences: [
      ...collisions(now.users, at.getTime(), turn.changesAt ?? at.getTime() + onCallLimits.days * dayMs),
      ...(turn.shift ? collisions(turn.shift.users, turn.shift.from, turn.shift.until) : []),
    ],
    announcement_error: errors.get(row.id) ?? null,
  }));
}

export interface ShiftSpan {
  since: Date;
  until: Date;
}

/** Throws if a span cannot be answered at once. */
export function requireSpan({ since, until }: ShiftSpan): void {
  if (until <= since) throw invalid({ until: ['must be after since'] });
  if (until.getTime() - since.getTime() > onCallLimits.days * dayMs)
    throw invalid({ until: [`must be at most ${onCallLimits.days} days after since`] });
}

export type ShiftView = Awaited<ReturnType<typeof listScheduleShifts>>[number];

/** Lists the shifts of a span, without gaps: where no one is on call, `users` is empty. */
export async function listScheduleShifts(
  { db }: Pick<Deps, 'db'>,
  organizationId: number,
  { project, slug }: { project: { id: number }; slug: string },
  { since, until }: ShiftSpan,
  visible: VisibleUsers,
) {
  requireSpan({ since, until });
  const [row] = await listSchedules(db, organizationId, { project, slug, from: since, until });
  return row ? showShifts(db, organizationId, compile(row), { since, until }, visible) : [];
}

export async function showShifts(
  db: Deps['db'],
  organizationId: number,
  schedule: CompiledSchedule,
  { since, until }: ShiftSpan,
  visible: VisibleUsers,
) {
  const shifts = listShifts(schedule, since.getTime(), until.getTime());
  if (shifts.length > onCallLimits.shifts)
    throw invalid({ until: [`there are more than ${onCallLimits.shifts} shifts: ask for a shorter time`] });
  const usernames = shifts.flatMap(({ users }) => users);
  const people = await findPeopleOf(db, organizationId, usernames, visible);
  const collisions = await findCollisionsOf(db, organizationId, usernames, since, until, visible);
  return shifts.map(({ from, until, users, layers, overrides }) => ({
    from: new Date(from),
    until: new Date(until),
    users: users.map(people),
    layers: [...layers],
    overrides: [...overrides],
    absences: collisions(users, from, until),
  }));
}

/** Returns a function that finds a person by username. Deleted users have no name. */
async function findPeopleOf(
  db: Deps['db'],
  organizationId: number,
  usernames: readonly string[],
  visible: VisibleUsers,
): Promise<(username: string) => Person> {
  if (visible === 'none') return username => ({ username, first_name: '', last_name: '', state: 'active' });
  const found = await findPeople(db, organizationId, [...new Set(usernames)]);
  const byName = new Map(found.map(person => [person.username, person]));
  return username => byName.get(username) ?? { username, first_name: '', last_name: '', state: 'missing' };
}
