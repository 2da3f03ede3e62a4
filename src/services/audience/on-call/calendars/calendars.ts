/** Calendars of users, whose events are absences. They are data: a file neither has nor changes them. */
import { AppError, invalid } from '../../../../core/errors.ts';
import { actorName } from '../../../../core/identity/actor.ts';
import {
  type AbsenceCalendarUpdate,
  calendarLimits,
  calendarPauses,
  type NewAbsenceCalendar,
  normalizeWords,
  readCalendarUrl,
} from '../../../../core/oncall/calendars/calendar.ts';
import { dayMs } from '../../../../core/oncall/zone.ts';
import * as rows from '../../../../db/audience/on-call/absence-calendars.ts';
import { insert } from '../../../../db/connection/insert.ts';
import type { Db } from '../../../../db/connection/pool.ts';
import { currentTime } from '../../../../lib/time/clock.ts';
import type { Deps } from '../../../deps.ts';
import { record } from '../../../operations/audit.ts';
import { CalendarBusyError, CalendarError, type FetchedCalendar, fetchCalendar } from './fetch.ts';
import { openCalendar, sealCalendar } from './secrets.ts';

export interface UserOfOrganization {
  organization: { id: number };
  user: { id: number; username: string };
}

export interface CalendarPreview {
  host: string;
  /** Events in the calendar. */
  events: number;
  absences: number;
  found: rows.AbsenceCalendarRow['found'];
  skipped: number;
  complete: boolean;
}

/** Fetches a calendar and returns what would be stored. */
export async function previewAbsenceCalendar(
  deps: Deps,
  { organization, user }: UserOfOrganization,
  input: NewAbsenceCalendar,
): Promise<CalendarPreview> {
  const { url, words } = readInput(input);
  const { absences, events, skipped, isCut } = await fetchNow(deps, { organization, user }, url, words);
  const found = absences
    .slice(0, calendarLimits.shown)
    .map(({ from, until, reason }) => ({ starts_at: new Date(from), ends_at: new Date(until), reason }));
  return { host: url.host, events, absences: absences.length, found, skipped, complete: !isCut };
}

export async function createAbsenceCalendar(
  deps: Deps,
  of: UserOfOrganization,
  input: NewAbsenceCalendar,
): Promise<rows.AbsenceCalendarRow> {
  const { organization, user } = of;
  const { url, words } = readInput(input);
  await deps.db.transaction().execute(trx => requireRoom(trx, of));
  const content = await fetchNow(deps, of, url, words);
  return deps.db.transaction().execute(async trx => {
    await requireRoom(trx, of);
    const id = await insert(trx, organization.id, 'absence_calendars', {
      user_id: user.id,
      secrets: sealCalendar(deps.cipher, organization.id, user.id, url.href),
      host: url.host,
      words,
      created_by: actorName(deps.actor),
    });
    await storeContent(trx, organization.id, { id, user_id: user.id, host: url.host }, content);
    const added = await getAbsenceCalendar({ db: trx }, of, id);
    const path = `${user.username}/${id}`;
    await record(deps, trx, organization.id, {
      action: 'create',
      noun: 'absence_calendar',
      path,
      after: toAudit(added),
    });
    return added;
  });
}

/** Changes the address or the words, and fetches the calendar at once. */
export async function updateAbsenceCalendar(
  deps: Deps,
  of: UserOfOrganization,
  id: number,
  input: AbsenceCalendarUpdate,
  check: (current: rows.AbsenceCalendarRow) => void,
): Promise<rows.AbsenceCalendarRow> {
  const { organization, user } = of;
  const stored = await rows.findStoredCalendar(deps.db, organization.id, user.id, id);
  const before = await getAbsenceCalendar(deps, of, id);
  check(before);
  const known = () => openCalendar(deps.cipher, organization.id, { ...stored!, ...before, user_id: user.id });
  const { url, words } = readInput({ url: input.url ?? known(), words: input.words ?? before.words });
  const content = await fetchNow(deps, of, url, words);
  return deps.db.transaction().execute(async trx => {
    const secrets = sealCalendar(deps.cipher, organization.id, user.id, url.href);
    const changes = { secrets, host: url.host, words };
    if (!(await rows.updateAbsenceCalendar(trx, organization.id, id, stored!.version, changes)))
      throw new AppError('request.stale', 'it was changed meanwhile: read it again and repeat your change');
    await storeContent(trx, organization.id, { id, user_id: user.id, host: url.host }, content);
    const after = await getAbsenceCalendar({ db: trx }, of, id);
    await record(deps, trx, organization.id, {
      action: 'update',
      noun: 'absence_calendar',
      path: `${user.username}/${id}`,
      before: toAudit(before),
      after: toAudit(after),
    });
    return after;
  });
}

export async function getAbsenceCalendar(
  { db }: Pick<Deps, 'db'>,
  { organization, user }: UserOfOrganization,
  id: number,
): Promise<rows.AbsenceCalendarRow> {
  const found = await rows.findAbsenceCalendar(db, organization.id, user.id, id);
  if (!found) throw new AppError('absence_calendar.not_found', `${user.username} has no calendar ${id}`);
  return found;
}

/** Deletes a calendar with its absences. */
export async function deleteAbsenceCalendar(
  deps: Deps,
  of: UserOfOrganization,
  id: number,
  dryRun: boolean,
  check: (current: rows.AbsenceCalendarRow) => void,
): Promise<{ absence_calendars: number; absences: number }> {
  const { organization, user } = of;
  return deps.db.transaction().execute(async trx => {
    const calendar = await getAbsenceCalendar({ db: trx }, of, id);
    check(calendar);
    const deleted = { absence_calendars: 1, absences: calendar.absences };
    if (dryRun || (await rows.deleteAbsenceCalendar(trx, organization.id, user.id, id)) === 0) return deleted;
    const path = `${user.username}/${id}`;
    await record(deps, trx, organization.id, {
      action: 'delete',
      noun: 'absence_calendar',
      path,
      before: toAudit(calendar),
    });
    return deleted;
  });
}

/** Replaces what is known of a calendar, in the transaction of the caller. */
export async function storeContent(
  trx: Db,
  organizationId: number,
  calendar: { id: number; user_id: number; host: string },
  { absences, ...content }: FetchedCalendar,
): Promise<void> {
  const since = new Date(currentTime() - calendarLimits.pastDays * dayMs);
  const by = `calendar on ${calendar.host}`;
  await rows.replaceAbsences(trx, organizationId, calendar, absences, { since, by });
  await rows.settleFetched(trx, organizationId, calendar.id, content, calendarPauses.again);
}

function readInput({ url: text, words }: NewAbsenceCalendar): { url: URL; words: string[] } {
  const url = readCalendarUrl(text);
  if ('mistake' in url) throw invalid({ url: [url.mistake] });
  return { url, words: normalizeWords(words) };
}

async function fetchNow(
  deps: Deps,
  { organization, user }: UserOfOrganization,
  url: URL,
  words: readonly string[],
): Promise<FetchedCalendar> {
  const timezone = await rows.findTimezone(deps.db, organization.id, user.id);
  const request = { organizationId: organization.id, url: url.href, words, timezone, etag: null, last_modified: null };
  try {
    return (await fetchCalendar(deps, request))!;
  } catch (error) {
    if (error instanceof CalendarError) throw invalid({ url: [`the calendar cannot be fetched: ${error.message}`] });
    if (error instanceof CalendarBusyError)
      throw new AppError('service.unavailable', 'too many calendars are being fetched: try again in a minute');
    throw error;
  }
}

async function requireRoom(trx: Db, { organization, user }: UserOfOrganization): Promise<void> {
  if ((await rows.countAbsenceCalendars(trx, organization.id, user.id)) < calendarLimits.perUser) return;
  throw new AppError(
    'absence_calendar.limit',
    `a user has at most ${calendarLimits.perUser} calendars: delete one that is no longer needed`,
  );
}

const toAudit = ({ host, words, absences }: rows.AbsenceCalendarRow) => ({ host, words, absences });
