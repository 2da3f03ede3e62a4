/** Stores triggers, the hot path: many per statement, each committed before it is answered. */
import type pg from 'pg';
import { largeBytes } from '../../../core/configuration/limits.ts';
import { AppError } from '../../../core/errors.ts';
import { inStoredOrder, type Json, type JsonObject } from '../../../core/json.ts';
import type { Db } from '../../connection/pool.ts';
import type { ClaimedOccurrence } from '../expand/expand.ts';

/**
 * Absent fields, and a due time that equals the creation time, are left out of the JSON: that is about 10 % faster.
 * Arrays instead of JSON gain nothing more.
 */
export interface NewOccurrence {
  organization_id: number;
  id: string;
  project_id: number;
  application_id: number;
  event_id: number;
  priority: number;
  context: Json;
  options: Json;
  correlation_id?: string;
  key_id?: string;
  /** Absent: due immediately. */
  due_at?: Date;
  expires_at?: Date;
  created_at: Date;
  /** `body_hash` is the SHA-256 of the body in hexadecimal. */
  idempotency?: { key: string; body_hash: string };
  /** The parent span. */
  traceparent?: string;
}

/**
 * An occurrence that waits to be stored. A large one is already serialized; small ones are serialized together, which
 * takes a third of the time.
 */
export interface EncodedOccurrence extends Pick<NewOccurrence, 'organization_id' | 'id' | 'event_id' | 'idempotency'> {
  value: NewOccurrence | string;
  size: number;
}

/** `bytes` is the size of the request's body, if known. */
export function encodeOccurrence(occurrence: NewOccurrence, bytes = Number.POSITIVE_INFINITY): EncodedOccurrence {
  const { organization_id, id, event_id, idempotency } = occurrence;
  const value = bytes > largeBytes ? JSON.stringify(occurrence) : occurrence;
  const size = typeof value === 'string' ? value.length : bytes;
  return { organization_id, id, event_id, idempotency, value, size };
}

function toJsonArray(items: EncodedOccurrence[]): string {
  const small = items.map(({ value }) => value).filter(value => typeof value !== 'string');
  if (small.length === items.length) return JSON.stringify(small);
  return `[${items.map(({ value }) => (typeof value === 'string' ? value : JSON.stringify(value))).join()}]`;
}

type Writer = pg.Pool | pg.PoolClient;

export type StoredOccurrence = { id: string } | { conflict: 'idempotency' };

// One autocommitted statement per batch: claims the idempotency keys, stores the occurrences that claimed theirs or
// have none, and wakes the workers once, unless they are handed to a worker in memory. Keys are claimed in order, so that two batches cannot deadlock. Storing an id
// twice has no effect, so a batch whose response was lost may be sent again.
const store = {
  name: 'store_occurrences',
  text: `
    with given as materialized (
      select * from json_to_recordset($1::json) as given (
        organization_id bigint, id uuid, project_id bigint, application_id bigint, event_id bigint, priority smallint,
        context jsonb, options jsonb, correlation_id text, key_id text,
        due_at timestamptz, expires_at timestamptz, created_at timestamptz, idempotency json,
        traceparent text)
    ), claimed as (
      insert into idempotency_keys (organization_id, event_id, key, body_hash, occurrence_id)
      select organization_id, event_id, idempotency ->> 'key', decode(idempotency ->> 'body_hash', 'hex'), id
      from given where idempotency is not null
      order by 1, 2, 3
      on conflict do nothing
      returning occurrence_id
    ), stored as (
      insert into occurrences (organization_id, id, project_id, application_id, event_id, priority, context, options,
        correlation_id, key_id, due_at, expires_at, created_at, traceparent)
      select organization_id, id, project_id, application_id, event_id, priority, context, options,
        correlation_id, key_id, coalesce(due_at, created_at), expires_at, created_at, traceparent
      from given where idempotency is null or id in (select occurrence_id from claimed)
      on conflict do nothing
      returning organization_id, event_id, created_at, priority, options -> 'dry_run' is distinct from 'true' as counts
    ), counted as (
      insert into trigger_stats (organization_id, hour, event_id, part, count)
      select organization_id, date_trunc('hour', created_at), event_id, pg_backend_pid() % 16, count(*)
      from stored where counts group by 1, 2, 3, 4 order by 1, 2, 3, 4
      on conflict (organization_id, hour, event_id, part) do update set count = trigger_stats.count + excluded.count
    )
    select case when $2::boolean then
        pg_notify('belfry_work', (select string_agg(distinct priority::text, ' ') from stored)) end,
      array(select occurrence_id from claimed) as claimed`,
};

const findClaims = {
  name: 'find_idempotency_keys',
  text: `
    select k.organization_id, k.event_id, k.key, k.occurrence_id, encode(k.body_hash, 'hex') as body_hash
    from unnest($1::bigint[], $2::bigint[], $3::text[]) as wanted (organization_id, event_id, key)
    join idempotency_keys k using (organization_id, event_id, key)`,
};

/** Stores a batch of any tenants' occurrences. The results are in the order of the items. */
export async function storeOccurrencesAcrossTenants(
  writer: Writer,
  items: EncodedOccurrence[],
  announce = true,
): Promise<StoredOccurrence[]> {
  const values = [toJsonArray(items), announce];
  const { rows } = await writer.query<{ claimed: string[] }>({ ...store, values });
  const claimed = new Set(rows[0]!.claimed);
  const contested = items.filter(item => item.idempotency && !claimed.has(item.id));
  if (contested.length === 0) return items.map(({ id }) => ({ id }));

  const claims = await findClaimsAcrossTenants(writer, contested);
  return items.map(item => {
    if (!contested.includes(item)) return { id: item.id };
    const claim = claims.get(idempotencyClaimKey(item.organization_id, item.event_id, item.idempotency!.key));
    // The earlier claim has just been deleted because of its age.
    if (!claim)
      throw new AppError('service.unavailable', 'the idempotency key has just expired; send the request again');
    return claim.body_hash === item.idempotency!.body_hash ? { id: claim.occurrence_id } : { conflict: 'idempotency' };
  });
}

/** A worker in this process that can expand occurrences right away, without reading them from the queue. */
export interface OccurrenceReceiver {
  /** Whether it has nothing else to do first. */
  readonly isReady: boolean;
  handOver(occurrences: ClaimedOccurrence[]): void;
}

/**
 * Stores a batch and hands it over to the worker, if it is ready. The queue is the fallback: an occurrence that gets lost on
 * the way is found by the next scan for due work.
 */
export async function storeAndHandOverAcrossTenants(
  writer: Writer,
  items: EncodedOccurrence[],
  receiver: OccurrenceReceiver,
): Promise<StoredOccurrence[]> {
  const handed = receiver.isReady ? items.map(toClaimed).filter(one => one !== undefined) : [];
  const results = await storeOccurrencesAcrossTenants(writer, items, handed.length < items.length);
  const isNew = new Set(results.map(result => 'id' in result && result.id));
  const stored = handed.filter(({ id }) => isNew.has(id));
  if (stored.length > 0) receiver.handOver(stored);
  return results;
}

/** Returns the occurrence as it is read from the ledger; undefined if it is large or not due yet. */
function toClaimed({ value }: EncodedOccurrence): ClaimedOccurrence | undefined {
  if (typeof value === 'string' || value.due_at) return undefined;
  return {
    organization_id: value.organization_id,
    id: value.id,
    project_id: value.project_id,
    application_id: value.application_id,
    event_id: value.event_id,
    priority: value.priority,
    context: inStoredOrder(value.context) as JsonObject,
    options: inStoredOrder(value.options) as JsonObject,
    cursor: null,
    deliveries: 0,
    correlation_id: value.correlation_id ?? null,
    key_id: value.key_id ?? null,
    due_at: value.created_at,
    expires_at: value.expires_at ?? null,
    created_at: value.created_at,
    cancelled_at: null,
    acknowledged_at: null,
    resolved_at: null,
    traceparent: value.traceparent ?? null,
  };
}

interface IdempotencyClaim {
  organization_id: number;
  event_id: number;
  key: string;
  occurrence_id: string;
  body_hash: string;
}

export async function findClaimsAcrossTenants(
  writer: Writer,
  items: EncodedOccurrence[],
): Promise<Map<string, IdempotencyClaim>> {
  const { rows } = await writer.query<IdempotencyClaim>({
    ...findClaims,
    values: [
      items.map(item => item.organization_id),
      items.map(item => item.event_id),
      items.map(item => item.idempotency!.key),
    ],
  });
  return new Map(rows.map(row => [idempotencyClaimKey(row.organization_id, row.event_id, row.key), row]));
}

export function idempotencyClaimKey(organizationId: number, eventId: number, key: string): string {
  return `${organizationId}/${eventId}/${key}`;
}

export async function deleteOldIdempotencyKeysAcrossTenants(db: Db, before: Date): Promise<void> {
  await db.deleteFrom('idempotency_keys').where('created_at', '<', before).execute();
}
