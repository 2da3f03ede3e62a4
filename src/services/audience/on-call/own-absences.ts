/** What users see and change of their own absences, on the preference page. */
import { isTimezone } from '../../../core/decision/quiet-hours.ts';
import { AppError } from '../../../core/errors.ts';
import { absenceLimits, NewAbsence } from '../../../core/oncall/absences.ts';
import { calendarLimits, NewAbsenceCalendar } from '../../../core/oncall/calendars/calendar.ts';
import { listDuties, newDutyBudget } from '../../../core/oncall/duties.ts';
import { findAbsentTimes } from '../../../core/oncall/gaps.ts';
import { dayMs } from '../../../core/oncall/zone.ts';
import { parse } from '../../../core/schema.ts';
import { listAbsenceCalendars } from '../../../db/audience/on-call/absence-calendars.ts';
import { listAbsences } from '../../../db/audience/on-call/absences.ts';
import { listSchedules } from '../../../db/audience/on-call/schedules.ts';
import type { LinkedUser } from '../../../db/audience/recipient-links.ts';
import type { Db } from '../../../db/connection/pool.ts';
import { runInSlices } from '../../../lib/load/slices.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { Deps } from '../../deps.ts';
import { asVisitor } from '../recipient-links.ts';
import { createAbsence, deleteAbsence } from './absences.ts';
import { createAbsenceCalendar, deleteAbsenceCalendar } from './calendars/calendars.ts';
import { compile } from './on-call.ts';

export const ownAbsenceLimits = {
  /** How far ahead shifts that collide with absences are looked for. */
  days: 180,
  /** Collisions that are shown, the first ones. */
  collisions: 20,
} as const;

export type OwnAbsences = NonNullable<Awaited<ReturnType<typeof readOwnAbsences>>>;

/** Returns undefined for users whom absences do not concern: no schedule names them. */
export async function readOwnAbsences({ db }: Pick<Deps, 'db'>, user: LinkedUser) {
  const concerns = await readConcerns(db, user);
  if (!concerns) return undefined;
  const { absences, calendars } = concerns;
  return {
    timezone: timezoneOf(user),
    absences,
    calendars,
    mayConnect: calendars.length < calendarLimits.perUser,
    ...(await findOwnCollisions(user.username, concerns)),
  };
}

/** A stored zone may be missing from this version of the time zone database. */
export function timezoneOf({ timezone, organization }: LinkedUser): string {
  const zone = timezone ?? organization.timezone ?? 'UTC';
  return isTimezone(zone) ? zone : 'UTC';
}

async function readConcerns(db: Db, { organization_id: organizationId, id, username }: LinkedUser) {
  const daysAhead = (days: number) => new Date(currentTime() + days * dayMs);
  const span = { from: daysAhead(0), until: daysAhead(ownAbsenceLimits.days) };
  const [schedules, absences, calendars] = await Promise.all([
    listSchedules(db, organizationId, { user: username, ...span }),
    listAbsences(db, organizationId, [username], span.from, daysAhead(absenceLimits.aheadDays + absenceLimits.days)),
    listAbsenceCalendars(db, organizationId, id, { after: 0, limit: calendarLimits.perUser }),
  ]);
  const isConcerned = schedules.length + absences.length + calendars.length > 0;
  return isConcerned ? { schedules, absences, calendars, span } : undefined;
}

/** Finds the times at which the user is on call while away, the next ones first. */
async function findOwnCollisions(
  user: string,
  { schedules, absences, span }: NonNullable<Awaited<ReturnType<typeof readConcerns>>>,
) {
  const away = absences.map(one => ({ from: one.starts_at.getTime(), until: one.ends_at.getTime() }));
  const until = Math.min(span.until.getTime(), Math.max(0, ...away.map(one => one.until)));
  const budget = newDutyBudget();
  const found: { schedule: string; project: string; from: number; until: number }[] = [];
  for (const row of schedules) {
    const search = { from: span.from.getTime(), until, user, max: Number.POSITIVE_INFINITY };
    const duties = await runInSlices(listDuties(compile(row), search, budget));
    const { name: schedule, project } = row;
    found.push(...findAbsentTimes(duties, away).map(times => ({ schedule, project, ...times })));
  }
  const { collisions: max } = ownAbsenceLimits;
  return {
    collisions: found.sort((a, b) => a.from - b.from).slice(0, max),
    hasMoreCollisions: budget.isCutOff || found.length > max,
  };
}

/** Throws with the fields that are invalid. */
export async function addOwnAbsence(deps: Deps, user: LinkedUser, input: object): Promise<void> {
  const of = await requireConcerned(deps, user);
  await createAbsence(asVisitor(deps, user), of, parse(NewAbsence, input));
}

export async function deleteOwnAbsence(deps: Deps, user: LinkedUser, id: number): Promise<void> {
  await deleteAbsence(asVisitor(deps, user), pathOf(user), id, false, () => {});
}

/** Throws with the fields that are invalid, also if the calendar cannot be fetched. */
export async function connectOwnCalendar(deps: Deps, user: LinkedUser, input: object): Promise<void> {
  const of = await requireConcerned(deps, user);
  await createAbsenceCalendar(asVisitor(deps, user), of, parse(NewAbsenceCalendar, input));
}

export async function removeOwnCalendar(deps: Deps, user: LinkedUser, id: number): Promise<void> {
  await deleteAbsenceCalendar(asVisitor(deps, user), pathOf(user), id, false, () => {});
}

/** Links to the page are in all messages: only users of schedules may have an address fetched. */
async function requireConcerned(deps: Deps, user: LinkedUser) {
  if (await readConcerns(deps.db, user)) return pathOf(user);
  throw new AppError('absence.not_found', `no schedule names ${user.username}`);
}

const pathOf = (user: LinkedUser) => ({ organization: { id: user.organization_id }, user });
