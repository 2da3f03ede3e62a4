/** Messages to webhook endpoints, sent and waiting, as the API shows them. */
import { sql } from 'kysely';
import type { JsonObject } from '../../core/json.ts';
import type { PageRequest } from '../connection/page.ts';
import type { Db } from '../connection/pool.ts';

export type WebhookMessageStatus = 'waiting' | 'sent' | 'failed';

export interface WebhookAttempt {
  at: string;
  ms: number;
  ok: boolean;
  /** The HTTP status and the beginning of the response body, or why there was no response. */
  answer: string;
}

export interface WebhookMessage {
  id: number;
  key: string;
  type: string;
  data: JsonObject;
  status: WebhookMessageStatus;
  attempts: number;
  is_sending: boolean;
  due_at: Date;
  created_at: Date;
  sent_at: Date | null;
  log: WebhookAttempt[];
}

function select(db: Db, organizationId: number, webhookId: number) {
  return db
    .selectFrom('webhook_messages')
    .select(['id', 'key', 'type', 'attempts', 'due_at', 'created_at', 'sent_at'])
    .select([
      sql<JsonObject>`data`.as('data'),
      sql<WebhookMessageStatus>`status`.as('status'),
      sql<boolean>`claimed_at is not null and due_at > now()`.as('is_sending'),
      sql<WebhookAttempt[]>`log`.as('log'),
    ])
    .where('organization_id', '=', organizationId)
    .where('webhook_id', '=', webhookId);
}

/** Lists the messages of an endpoint, newest first. */
export async function listWebhookMessages(
  db: Db,
  organizationId: number,
  webhookId: number,
  status: WebhookMessageStatus | undefined,
  { after, limit }: PageRequest,
): Promise<WebhookMessage[]> {
  let query = select(db, organizationId, webhookId);
  if (status) query = query.where('status', '=', status);
  if (after > 0) query = query.where('id', '<', after);
  return query.orderBy('id', 'desc').limit(limit).execute();
}

export async function findWebhookMessage(db: Db, organizationId: number, webhookId: number, id: number) {
  return select(db, organizationId, webhookId).where('id', '=', id).executeTakeFirst();
}

/** Adds a message that does not come from an event, such as a test message. */
export async function addWebhookMessage(
  db: Db,
  organizationId: number,
  webhookId: number,
  type: string,
  data: JsonObject,
): Promise<number> {
  const { id } = await db
    .insertInto('webhook_messages')
    .values({ organization_id: organizationId, webhook_id: webhookId, type, data: JSON.stringify(data) })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/** Makes a message due now and resets its attempts. Returns false while it is being sent. */
export async function resendWebhookMessage(db: Db, organizationId: number, webhookId: number, id: number) {
  const { numUpdatedRows } = await db
    .updateTable('webhook_messages')
    .set({ status: 'waiting', attempts: 0, due_at: sql`now()`, claimed_at: null, sent_at: null })
    .where('organization_id', '=', organizationId)
    .where('webhook_id', '=', webhookId)
    .where('id', '=', id)
    .where(sql<boolean>`(claimed_at is null or due_at <= now())`)
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

/** Lists the organizations with messages, including deleted ones, with a loose index scan. */
export async function listMessageOwnersAcrossTenants(db: Db): Promise<{ id: number; retention_days: number | null }[]> {
  const { rows } = await sql<{ id: number; retention_days: number | null }>`
    with recursive owners as (
      (select organization_id as id from webhook_messages order by organization_id limit 1)
      union all
      select (select organization_id from webhook_messages where organization_id > owners.id
        order by organization_id limit 1) from owners where owners.id is not null
    )
    select owners.id, o.retention_days from owners left join organizations o on o.id = owners.id
    where owners.id is not null`.execute(db);
  return rows;
}

/** Deletes up to `max` messages. Returns how many were deleted. */
export async function deleteOldWebhookMessages(db: Db, organizationId: number, before: Date, max: number) {
  const { numAffectedRows } = await sql`
    delete from webhook_messages where ctid = any(array(
      select ctid from webhook_messages where organization_id = ${organizationId} and created_at < ${before}
      order by created_at limit ${max}))`.execute(db);
  return Number(numAffectedRows ?? 0);
}
