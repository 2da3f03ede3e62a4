/** Payloads that sources received, and what became of them. */
import { sql } from 'kysely';
import type pg from 'pg';
import type { JsonObject } from '../../../core/json.ts';
import { type AlertOutcome, sourceLimits } from '../../../core/sources/alert.ts';
import type { Db } from '../../connection/pool.ts';
import { withoutSync } from '../../connection/transaction.ts';

export type PayloadState = 'received' | 'taken' | 'partly' | 'rejected' | 'refused';

/** What became of an alert. */
export interface AlertResult {
  /** Where it is in the payload. */
  at: string;
  key?: string;
  state?: string;
  event?: string;
  occurrence?: string;
  outcome: AlertOutcome;
  error?: string;
}

export interface NewPayload {
  organization_id: number;
  source_id: number;
  id: string;
  state: PayloadState;
  request: JsonObject;
  body: Buffer;
  bytes: number;
  note: string | null;
}

/** How long a process may take to judge a payload before another one does. */
const judgeSeconds = 60;

/** Stores a batch of any tenants' payloads. */
export async function storePayloadsAcrossTenants(pool: pg.Pool, items: readonly NewPayload[]): Promise<undefined[]> {
  await pool.query({
    name: 'store_payloads',
    text: `
      insert into source_payloads (organization_id, source_id, id, state, request, body, bytes, note, retry_at)
      select organization_id, source_id, id, state, request::jsonb, body, bytes, note,
        case when state = 'received' then now() + interval '${judgeSeconds} seconds' end
      from unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::bytea[], $7::int[], $8::text[])
        as given (organization_id, source_id, id, state, request, body, bytes, note)
      where exists (
        select from sources s where s.organization_id = given.organization_id and s.id = given.source_id)`,
    values: [
      items.map(item => item.organization_id),
      items.map(item => item.source_id),
      items.map(item => item.id),
      items.map(item => item.state),
      items.map(item => JSON.stringify(item.request)),
      items.map(item => item.body),
      items.map(item => item.bytes),
      items.map(item => item.note),
    ],
  });
  return items.map(() => undefined);
}

export interface Settlement {
  organization_id: number;
  source_id: number;
  id: string;
  state: PayloadState;
  alerts: AlertResult[];
  counts: Record<string, number>;
  note: string | null;
}

/** Stores what became of a batch of payloads. Only the beginning of their bodies is kept. After a crash, they may be judged again. */
export async function settlePayloadsAcrossTenants(pool: pg.Pool, items: readonly Settlement[]): Promise<undefined[]> {
  await pool.query({
    name: 'settle_payloads',
    text: `
      with ${withoutSync}
      update source_payloads p set state = g.state, alerts = g.alerts::jsonb, counts = g.counts::jsonb, note = g.note, retry_at = null,
        body = case when p.bytes > ${sourceLimits.keptBytes} then substring(p.body for ${sourceLimits.keptBytes}) else p.body end
      from unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[])
        as g (organization_id, source_id, id, state, alerts, counts, note), without_sync
      where p.organization_id = g.organization_id and p.source_id = g.source_id and p.id = g.id`,
    values: [
      items.map(item => item.organization_id),
      items.map(item => item.source_id),
      items.map(item => item.id),
      items.map(item => item.state),
      items.map(item => JSON.stringify(item.alerts)),
      items.map(item => JSON.stringify(item.counts)),
      items.map(item => item.note),
    ],
  });
  return items.map(() => undefined);
}

/** Leaves a payload to be judged later. */
export async function postponePayload(db: Db, organizationId: number, sourceId: number, id: string, seconds: number) {
  await sql`
    update source_payloads set retry_at = now() + make_interval(secs => ${seconds})
    where organization_id = ${organizationId} and source_id = ${sourceId} and id = ${id} and state = 'received'`.execute(
    db,
  );
}

export interface OpenPayload {
  organization_id: number;
  source_id: number;
  id: string;
  request: JsonObject;
  body: Buffer;
}

/** Claims payloads whose process died, or that had to wait. */
export async function claimOpenPayloadsAcrossTenants(pool: pg.Pool, max: number): Promise<OpenPayload[]> {
  const { rows } = await pool.query<OpenPayload>({
    name: 'claim_open_payloads',
    text: `
      update source_payloads p set retry_at = now() + interval '${judgeSeconds} seconds'
      from (
        select organization_id, source_id, id from source_payloads where state = 'received' and retry_at < now()
        order by retry_at limit $1 for update skip locked
      ) due
      where p.organization_id = due.organization_id and p.source_id = due.source_id and p.id = due.id
      returning p.organization_id, p.source_id, p.id, p.request, p.body`,
    values: [max],
  });
  return rows;
}

export interface Payload {
  id: string;
  state: PayloadState;
  request: JsonObject;
  body: Buffer;
  bytes: number;
  alerts: AlertResult[];
  counts: Record<string, number>;
  note: string | null;
}

const columns = ['id', 'bytes', 'note', 'body'] as const;

function selectPayloads(db: Db, organizationId: number, sourceId: number) {
  return db
    .selectFrom('source_payloads')
    .select([
      ...columns,
      sql<PayloadState>`state`.as('state'),
      sql<JsonObject>`request`.as('request'),
      sql<AlertResult[]>`alerts`.as('alerts'),
      sql<Record<string, number>>`counts`.as('counts'),
    ])
    .where('organization_id', '=', organizationId)
    .where('source_id', '=', sourceId);
}

/** Returns payloads, newest first. */
export async function listPayloads(
  db: Db,
  organizationId: number,
  sourceId: number,
  { after, limit }: { after: string; limit: number },
): Promise<Payload[]> {
  let query = selectPayloads(db, organizationId, sourceId);
  if (after !== '') query = query.where('id', '<', after);
  return query.orderBy('id', 'desc').limit(limit).execute();
}

export async function findPayload(
  db: Db,
  organizationId: number,
  sourceId: number,
  id: string,
): Promise<Payload | undefined> {
  return selectPayloads(db, organizationId, sourceId).where('id', '=', id).executeTakeFirst();
}

/**
 * Deletes all but the newest payloads of a source. With `max`, it deletes at most so many, the newest of them: the index behind them is full
 * of what was deleted since the last vacuum, and after 30,000 payloads, reading that took 25 ms.
 */
export async function pruneSourcePayloads(
  db: Db,
  organizationId: number,
  sourceId: number,
  max: number | null,
): Promise<void> {
  await sql`
    with ${sql.raw(withoutSync)}
    delete from source_payloads p using without_sync
    -- By ctid alone: with the key of the source, PostgreSQL 15 reads all of its payloads where statistics do not know them.
    where p.state <> 'received' and p.ctid = any(array(
      select ctid from source_payloads where organization_id = ${organizationId} and source_id = ${sourceId}
      order by id desc offset ${sourceLimits.keptPayloads} limit ${max}))`.execute(db);
}

/** Deletes payloads that are too old, and those beyond the number that a source keeps. */
export async function deleteOldPayloadsAcrossTenants(db: Db, before: string): Promise<void> {
  const { rows } = await sql<{ organization_id: number; id: number }>`select organization_id, id from sources`.execute(
    db,
  );
  for (const { organization_id, id } of rows) {
    await sql`
      delete from source_payloads
      where organization_id = ${organization_id} and source_id = ${id} and id < ${before}::uuid`.execute(db);
    await pruneSourcePayloads(db, organization_id, id, null);
  }
}
