/**
 * Schedules whose changes are announced, and what is to be announced. The rows of both are claimed by one process at a time; what it
 * leaves behind is due again. Triggers of the database make a schedule due with every change of it or of its overrides.
 */
import { type SqlBool, sql } from 'kysely';
import { uuidv7 } from '../../../core/ids.ts';
import type { JsonObject } from '../../../core/json.ts';
import type { PlannedShift } from '../../../core/oncall/changes.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { Db } from '../../connection/pool.ts';
import { stoppedText } from '../../ledger/moving-text.ts';

/** Notified when a schedule, an announcement or a group in a chat has become due. */
export const shiftsChannel = 'belfry_shifts';
const claimSeconds = 30;
const stopped = sql.raw(stoppedText);

/** Returns the milliseconds until the next schedule or announcement is due; null: none is within the time. */
export async function findNextShiftDueAcrossTenants(db: Db, withinMs: number): Promise<number | null> {
  const { rows } = await sql<{ in_ms: number | null }>`
    select (extract(epoch from least(
      (select min(due_at) from schedule_watches where due_at <= now() + ${withinMs} * interval '1 ms'),
      (select min(due_at) from schedule_notices where due_at <= now() + ${withinMs} * interval '1 ms')
    ) - now()) * 1000)::float8 as in_ms`.execute(db);
  return rows[0]!.in_ms;
}

export interface WatchedSchedule {
  organization_id: number;
  schedule_id: number;
  /** What was announced. Null: it is seen for the first time. */
  shifts: PlannedShift[] | null;
  now: Date;
}

/** Locks schedules that are due, until the end of the transaction. */
export async function lockDueSchedulesAcrossTenants(db: Db, limit: number): Promise<WatchedSchedule[]> {
  const { rows } = await sql<WatchedSchedule>`
    select organization_id, schedule_id, shifts, date_trunc('milliseconds', now()) as now from schedule_watches
    where due_at <= now() and organization_id <> all(${stopped})
    order by due_at limit ${limit} for update skip locked`.execute(db);
  return rows;
}

/** Locks a schedule that was never seen; undefined for any other. */
export async function lockUnseenSchedule(
  db: Db,
  organizationId: number,
  scheduleId: number,
): Promise<WatchedSchedule | undefined> {
  const { rows } = await sql<WatchedSchedule>`
    select organization_id, schedule_id, shifts, date_trunc('milliseconds', now()) as now from schedule_watches
    where organization_id = ${organizationId} and schedule_id = ${scheduleId} and shifts is null for update`.execute(
    db,
  );
  return rows[0];
}

/** Stores what was seen of a schedule that this transaction has locked. */
export async function storeLook(
  db: Db,
  organizationId: number,
  scheduleId: number,
  { shifts, dueAt }: { shifts: readonly PlannedShift[]; dueAt: Date },
): Promise<void> {
  await sql`
    update schedule_watches set shifts = ${JSON.stringify(shifts)}::jsonb, due_at = ${dueAt}
    where organization_id = ${organizationId} and schedule_id = ${scheduleId}`.execute(db);
}

interface NewNotice {
  context: JsonObject;
  recipients: readonly string[];
}

export async function addNotice(
  db: Db,
  organizationId: number,
  scheduleId: number,
  { context, recipients }: NewNotice,
): Promise<void> {
  await sql`
    insert into schedule_notices (organization_id, id, schedule_id, context, recipients)
    values (${organizationId}, ${uuidv7(currentTime())}, ${scheduleId}, ${JSON.stringify(context)}::jsonb, ${[...recipients]}::text[])`.execute(
    db,
  );
}

export interface ClaimedNotice {
  organization_id: number;
  schedule_id: number;
  id: string;
  context: JsonObject;
  recipients: string[];
  created_at: Date;
  /** Null: it is not announced any more. */
  on_change: string | null;
  /** Slugs. */
  organization: string;
  project: string;
  schedule: string;
}

/** Claims announcements that are due, those of a schedule in their order. */
export async function claimNoticesAcrossTenants(db: Db, limit: number): Promise<ClaimedNotice[]> {
  const { rows } = await sql<ClaimedNotice>`
    with due as (
      select ctid from schedule_notices
      where due_at <= now() and organization_id <> all(${stopped})
      order by due_at, id limit ${limit} for update skip locked
    ), claimed as (
      update schedule_notices n set due_at = now() + ${claimSeconds} * interval '1 second' from due
      -- Joined by their keys, PostgreSQL 15 reads all notices.
      where n.ctid = due.ctid
      returning n.*
    )
    select c.organization_id, c.schedule_id, c.id, c.context, c.recipients, c.created_at, s.on_change,
      o.slug as organization, p.slug as project, s.slug as schedule
    from claimed c
    join schedules s on s.organization_id = c.organization_id and s.id = c.schedule_id
    join projects p on p.organization_id = s.organization_id and p.id = s.project_id
    join organizations o on o.id = c.organization_id
    order by c.id`.execute(db);
  return rows;
}

type NoticeKey = Pick<ClaimedNotice, 'organization_id' | 'schedule_id' | 'id'>;

/** Deletes what was announced, or given up for this error. */
export async function endNotice(
  db: Db,
  organizationId: number,
  { id, schedule_id }: NoticeKey,
  error: string | null,
): Promise<void> {
  await sql`
    with ended as (delete from schedule_notices where organization_id = ${organizationId} and id = ${id})
    ${setError(organizationId, schedule_id, error)}`.execute(db);
}

export async function postponeNotice(
  db: Db,
  organizationId: number,
  { id, schedule_id }: NoticeKey,
  { error, seconds }: { error: string; seconds: number },
): Promise<void> {
  await sql`
    with postponed as (
      update schedule_notices set due_at = now() + ${seconds} * interval '1 second'
      where organization_id = ${organizationId} and id = ${id}
    ) ${setError(organizationId, schedule_id, error)}`.execute(db);
}

const setError = (organizationId: number, scheduleId: number, error: string | null) => sql<SqlBool>`
  update schedule_watches set error = ${error}::text
  where organization_id = ${organizationId} and schedule_id = ${scheduleId} and error is distinct from ${error}::text`;

/** Returns why changes of these schedules could not be announced the last time, by id. */
export async function findAnnouncementErrors(
  db: Db,
  organizationId: number,
  scheduleIds: readonly number[],
): Promise<Map<number, string>> {
  const { rows } = await sql<{ schedule_id: number; error: string }>`
    select schedule_id, error from schedule_watches
    where organization_id = ${organizationId} and schedule_id = any(${[...scheduleIds]}::bigint[]) and error is not null`.execute(
    db,
  );
  return new Map(rows.map(({ schedule_id, error }) => [schedule_id, error]));
}
