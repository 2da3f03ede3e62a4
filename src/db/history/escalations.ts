/** What escalations show beside their occurrences: step runs, the users they reached, and responses. */
import { sql } from 'kysely';
import type { ResponseKind } from '../../core/history/responses.ts';
import { lowestUuidAt } from '../../core/ids.ts';
import type { Db } from '../connection/pool.ts';

export interface StepRunView {
  occurrence: string;
  notification: string | null;
  number: number;
  step: number;
  status: 'waiting' | 'done' | 'skipped' | 'ended';
  is_running: boolean;
  due_at: Date;
}

/** Lists the stored runs of these occurrences, past and next, in order. */
export async function listStepRuns(db: Db, organizationId: number, ids: string[]): Promise<StepRunView[]> {
  const { rows } = await sql<StepRunView>`
    select s.occurrence_id as occurrence, n.name as notification, s.number, s.step, s.status,
      s.status = 'waiting' and (s.owner is not null or s.cursor is not null) as is_running, s.due_at
    from steps s left join notifications n on n.organization_id = s.organization_id and n.id = s.notification_id
    where s.organization_id = ${organizationId} and s.occurrence_id = any(${ids}::uuid[]) and s.number > 0
    order by s.occurrence_id, s.notification_id, s.number`.execute(db);
  return rows;
}

/** Open escalations, newest first, that are searched for one that was sent to an address. */
const maxSearched = 1_000;

interface OpenEscalation {
  id: string;
  /** The bundle of alerts that it was sent in. */
  bundle: string | null;
}

/** Finds the newest occurrence that awaits an acknowledgement and was sent to an address through a channel before a reply. */
export async function findNewestOpen(
  db: Db,
  organizationId: number,
  channelId: number,
  { addresses, before }: { addresses: string[]; before: Date },
): Promise<OpenEscalation | undefined> {
  // Some services report full seconds.
  const sentBefore = new Date(before.getTime() + 1_000);
  const { rows } = await sql<OpenEscalation>`
    select open.id, reached.bundle from (
      select o.id from occurrences o
      where o.organization_id = ${organizationId} and o.awaits_acknowledgement
        and o.id < ${lowestUuidAt(sentBefore.getTime())}::uuid
      order by o.id desc limit ${maxSearched}
    ) open, lateral (
      select d.digest_id as bundle from deliveries d
      where d.organization_id = ${organizationId} and d.occurrence_id = open.id and d.channel_id = ${channelId}
        and d.address = any(${addresses}::text[]) and d.step > 0 and d.status in ('sent', 'unknown')
        and coalesce(d.sent_at, d.created_at) < ${sentBefore}
      order by d.id desc
      -- Without it, a hash join could read all deliveries of the organization.
      limit 1
    ) reached
    order by open.id desc limit 1`.execute(db);
  return rows[0];
}

/** Deliveries of an occurrence that are searched for users. */
const maxScanned = 500;

/** Lists users to whom a step of these occurrences was sent, at most `max` of each occurrence. */
export async function listNotifiedUsers(db: Db, organizationId: number, ids: string[], max: number) {
  const { rows } = await sql<{ occurrence: string; user: string }>`
    select given.id as occurrence, u.username as user
    from unnest(${ids}::uuid[]) as given (id), lateral (
      select d.user_id from (
        select user_id, status, step from deliveries
        where organization_id = ${organizationId} and occurrence_id = given.id order by id limit ${maxScanned}
      ) d where d.status = 'sent' and d.step > 0 group by d.user_id limit ${max}
    ) notified
    join users u on u.organization_id = ${organizationId} and u.id = notified.user_id
    order by given.id, u.username`.execute(db);
  return rows;
}

interface ResponseRow {
  number: number;
  kind: ResponseKind;
  at: Date;
  by: string | null;
  until: Date | null;
}

const maxListed = 100;

/** Lists the last responses, oldest first. */
export async function listResponses(db: Db, organizationId: number, occurrenceId: string): Promise<ResponseRow[]> {
  const { rows } = await sql<ResponseRow>`
    select number, kind, at, by, until from responses
    where organization_id = ${organizationId} and occurrence_id = ${occurrenceId}
    order by number desc limit ${maxListed}`.execute(db);
  return rows.reverse();
}
