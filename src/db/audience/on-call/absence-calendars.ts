/** Calendars of users, whose events are absences. */
import { sql } from 'kysely';
import { calendarLimits } from '../../../core/oncall/calendars/calendar.ts';
import type { PageRequest } from '../../connection/page.ts';
import type { Db } from '../../connection/pool.ts';
import { stoppedText } from '../../ledger/moving-text.ts';

export interface AbsenceCalendarRow {
  id: number;
  /** Username. */
  user: string;
  host: string;
  words: string[];
  /** Those that are not over. */
  absences: number;
  /** The first of them. */
  found: { starts_at: Date; ends_at: Date; reason: string | null }[];
  skipped: number;
  complete: boolean;
  fetched_at: Date | null;
  error: string | null;
  failing_since: Date | null;
  next_fetch_at: Date;
  created_at: Date;
  created_by: string;
}

const found = sql`
  select coalesce(json_agg(json_build_object('starts_at', starts_at, 'ends_at', ends_at, 'reason', reason) order by starts_at, ends_at), '[]')
  from (
    select a.starts_at, a.ends_at, a.reason from absences a
    where a.organization_id = c.organization_id and a.calendar_id = c.id and a.ends_at > now()
    order by a.starts_at, a.ends_at limit ${calendarLimits.shown}
  ) first`;
const columns = sql`
  c.id, u.username as "user", c.host, c.words, (
    select count(*)::int from absences a
    where a.organization_id = c.organization_id and a.calendar_id = c.id and a.ends_at > now()
  ) as absences, (${found}) as found, c.skipped, not c.is_cut as complete, c.fetched_at, c.error, c.failing_since,
  c.due_at as next_fetch_at, c.created_at, c.created_by`;

/** Times in JSON are texts. */
function toRow({ found, ...row }: AbsenceCalendarRow): AbsenceCalendarRow {
  const times = found.map(one => ({ ...one, starts_at: new Date(one.starts_at), ends_at: new Date(one.ends_at) }));
  return { ...row, found: times };
}

/** Lists the calendars of one user, newest first. The page starts below the id `after`; 0 is the beginning. */
export async function listAbsenceCalendars(
  db: Db,
  organizationId: number,
  userId: number,
  { after, limit }: PageRequest,
): Promise<AbsenceCalendarRow[]> {
  const { rows } = await sql<AbsenceCalendarRow>`
    select ${columns} from absence_calendars c
    join users u on u.organization_id = c.organization_id and u.id = c.user_id
    where c.organization_id = ${organizationId} and c.user_id = ${userId} ${after > 0 ? sql`and c.id < ${after}` : sql``}
    order by c.id desc limit ${limit}`.execute(db);
  return rows.map(toRow);
}

export async function findAbsenceCalendar(
  db: Db,
  organizationId: number,
  userId: number,
  id: number,
): Promise<AbsenceCalendarRow | undefined> {
  const { rows } = await sql<AbsenceCalendarRow>`
    select ${columns} from absence_calendars c
    join users u on u.organization_id = c.organization_id and u.id = c.user_id
    where c.organization_id = ${organizationId} and c.user_id = ${userId} and c.id = ${id}`.execute(db);
  return rows[0] && toRow(rows[0]);
}

/** Returns the time zone of a user, or else of the organization. */
export async function findTimezone(db: Db, organizationId: number, userId: number): Promise<string | null> {
  const { rows } = await sql<{ timezone: string | null }>`
    select coalesce(u.timezone, o.timezone) as timezone from users u join organizations o on o.id = u.organization_id
    where u.organization_id = ${organizationId} and u.id = ${userId}`.execute(db);
  return rows[0]?.timezone ?? null;
}

/** Counts the calendars. The user is locked first, so that concurrent requests do not exceed a limit. */
export async function countAbsenceCalendars(db: Db, organizationId: number, userId: number): Promise<number> {
  await sql`select from users where organization_id = ${organizationId} and id = ${userId} for no key update`.execute(
    db,
  );
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from absence_calendars
    where organization_id = ${organizationId} and user_id = ${userId}`.execute(db);
  return rows[0]!.count;
}

export interface StoredCalendar {
  secrets: Buffer;
  words: string[];
  version: number;
}

export async function findStoredCalendar(
  db: Db,
  organizationId: number,
  userId: number,
  id: number,
): Promise<StoredCalendar | undefined> {
  return db
    .selectFrom('absence_calendars')
    .select(['secrets', 'words', 'version'])
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Changes a calendar. Returns false if someone else has changed it since that version. */
export async function updateAbsenceCalendar(
  db: Db,
  organizationId: number,
  id: number,
  version: number,
  { secrets, host, words }: { secrets: Buffer; host: string; words: string[] },
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update absence_calendars set secrets = ${secrets}, host = ${host}, words = ${words}, version = version + 1
    where organization_id = ${organizationId} and id = ${id} and version = ${version}`.execute(db);
  return numAffectedRows === 1n;
}

/** Deletes a calendar with its absences. */
export async function deleteAbsenceCalendar(
  db: Db,
  organizationId: number,
  userId: number,
  id: number,
): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('absence_calendars')
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

export interface ClaimedCalendar extends StoredCalendar {
  organization_id: number;
  id: number;
  user_id: number;
  host: string;
  /** Of the user, or else of the organization. */
  timezone: string | null;
  /** Null: the content has to be read again, even if it has not changed. */
  etag: string | null;
  last_modified: string | null;
  error: string | null;
  failures: number;
}

interface CalendarClaim {
  /** How long the claim lasts. */
  seconds: number;
  /** The organization whose turn was last: the next ones come first. */
  after: number;
  /** Organizations of which enough calendars are being fetched. */
  except: readonly number[];
  /** Seconds after which an unchanged content is read again. */
  readAgain: number;
}

/** Claims a calendar that is due, of the next organization with one. Few are due at a time, as each is every hour. */
export async function claimCalendarAcrossTenants(
  db: Db,
  { seconds, after, except, readAgain }: CalendarClaim,
): Promise<ClaimedCalendar | undefined> {
  const { rows } = await sql<ClaimedCalendar>`
    update absence_calendars c set due_at = now() + make_interval(secs => ${seconds})
    from (
      select organization_id, id from absence_calendars
      where due_at <= now() and organization_id <> all(${sql.raw(stoppedText)})
        and organization_id <> all(${[...except]}::bigint[])
      order by organization_id <= ${after}, organization_id, due_at limit 1 for update skip locked
    ) due, users u, organizations o
    where c.organization_id = due.organization_id and c.id = due.id and u.organization_id = c.organization_id
      and u.id = c.user_id and o.id = c.organization_id
    returning c.organization_id, c.id, c.user_id, c.secrets, c.host, c.words, c.version, c.error, c.failures,
      coalesce(u.timezone, o.timezone) as timezone,
      case when c.read_at > now() - make_interval(secs => ${readAgain})
        and c.timezone is not distinct from coalesce(u.timezone, o.timezone, 'UTC') then c.etag end as etag,
      case when c.read_at > now() - make_interval(secs => ${readAgain})
        and c.timezone is not distinct from coalesce(u.timezone, o.timezone, 'UTC') then c.last_modified end as last_modified`.execute(
    db,
  );
  return rows[0];
}

export interface FetchedContent {
  etag: string | null;
  last_modified: string | null;
  timezone: string;
  skipped: number;
  isCut: boolean;
  absences: readonly { from: number; until: number; reason: string | null }[];
}

interface CalendarKey {
  id: number;
  version: number;
}

/** Returns whether the calendar still exists in this version, and locks it: its absences are then replaced by one process at a time. */
export async function lockCalendar(db: Db, organizationId: number, { id, version }: CalendarKey): Promise<boolean> {
  const { rows } = await sql`
    select from absence_calendars where organization_id = ${organizationId} and id = ${id} and version = ${version}
    for update`.execute(db);
  return rows.length > 0;
}

/** Replaces the absences of a calendar, except for those that ended before `since`. Those that have not changed keep their ids. */
export async function replaceAbsences(
  db: Db,
  organizationId: number,
  calendar: { id: number; user_id: number },
  absences: FetchedContent['absences'],
  { since, by }: { since: Date; by: string },
): Promise<void> {
  const found = sql`unnest(
    ${absences.map(one => new Date(one.from).toISOString())}::timestamptz[],
    ${absences.map(one => new Date(one.until).toISOString())}::timestamptz[],
    ${absences.map(one => one.reason)}::text[]
  ) as f (starts_at, ends_at, reason)`;
  const same = sql`f.starts_at = a.starts_at and f.ends_at = a.ends_at and f.reason is not distinct from a.reason`;
  await sql`
    with gone as (
      delete from absences a
      where a.organization_id = ${organizationId} and a.calendar_id = ${calendar.id} and a.ends_at > ${since}
        and not exists (select from ${found} where ${same})
    )
    insert into absences (organization_id, user_id, calendar_id, starts_at, ends_at, reason, created_by)
    select ${organizationId}, ${calendar.user_id}, ${calendar.id}, f.starts_at, f.ends_at, f.reason, ${by} from ${found}
    where not exists (
      select from absences a where a.organization_id = ${organizationId} and a.calendar_id = ${calendar.id} and ${same}
    )`.execute(db);
}

/** Stores that a fetch succeeded. Without a content, it has not changed. */
export async function settleFetched(
  db: Db,
  organizationId: number,
  id: number,
  content: Omit<FetchedContent, 'absences'> | undefined,
  seconds: number,
): Promise<void> {
  const read = content
    ? sql`, etag = ${content.etag}, last_modified = ${content.last_modified}, timezone = ${content.timezone},
        skipped = ${content.skipped}, is_cut = ${content.isCut}, read_at = now()`
    : sql``;
  await sql`
    update absence_calendars set fetched_at = now(), error = null, failing_since = null, failures = 0,
      due_at = now() + make_interval(secs => ${seconds}) ${read}
    where organization_id = ${organizationId} and id = ${id}`.execute(db);
}

/** Stores why a fetch failed. The absences stay as they are. */
export async function settleFailed(
  db: Db,
  organizationId: number,
  { id, version }: CalendarKey,
  { error, seconds }: { error: string; seconds: number },
): Promise<void> {
  await sql`
    update absence_calendars set error = ${error}, failing_since = coalesce(failing_since, now()),
      failures = failures + 1, due_at = now() + make_interval(secs => ${seconds})
    where organization_id = ${organizationId} and id = ${id} and version = ${version}`.execute(db);
}

/** Gives a claim back: the calendar is due again after these seconds. */
export async function postponeCalendar(
  db: Db,
  organizationId: number,
  { id, version }: CalendarKey,
  seconds: number,
): Promise<void> {
  await sql`
    update absence_calendars set due_at = now() + make_interval(secs => ${seconds})
    where organization_id = ${organizationId} and id = ${id} and version = ${version}`.execute(db);
}

export interface FailingCalendar {
  organization: string;
  user: string;
  host: string;
  error: string;
  failing_since: Date;
}

/** Lists calendars that could not be fetched for some time, longest first. */
export async function listFailingCalendarsAcrossTenants(
  db: Db,
  since: Date,
  limit: number,
): Promise<FailingCalendar[]> {
  const { rows } = await sql<FailingCalendar>`
    select o.slug as organization, u.username as "user", c.host, coalesce(c.error, '') as error, c.failing_since
    from absence_calendars c
    join users u on u.organization_id = c.organization_id and u.id = c.user_id
    join organizations o on o.id = c.organization_id
    where c.failing_since < ${since} order by c.failing_since, c.id limit ${limit}`.execute(db);
  return rows;
}
