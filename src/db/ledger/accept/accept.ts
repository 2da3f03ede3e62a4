/** Stores triggers, the hot path: many per statement, each committed before it is answered. */
import type pg from 'pg';
import { largeBytes } from '../../../core/configuration/limits.ts';
import { AppError } from '../../../core/errors.ts';
import type { Json } from '../../../core/json.ts';
import type { Db } from '../../connection/pool.ts';

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
  dedup_key?: string;
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

/** What a statement that stores triggers is made of. */
interface AcceptParts {
  occurrences?: string;
  /** Which of the triggers it may store. */
  condition?: string;
  /** The columns that it returns of an occurrence `o`, with organization and event. */
  returning?: string;
}

/**
 * SQL text of parts of a `with` clause: `claimed` claims the idempotency keys of the triggers in `$1`, `accepted` stores the
 * occurrences of those that claimed theirs or have none, and `counted` counts them. A trigger that is decided already has the state
 * after it. Keys are claimed in order, so that two batches cannot deadlock. Storing an id twice has no effect: a batch whose
 * response was lost may be sent again, and of two statements that store the same trigger, one does.
 */
export const acceptText = ({
  occurrences = 'occurrences',
  condition = 'true',
  returning = 'o.organization_id, o.event_id',
}: AcceptParts = {}): string => `
    given as materialized (
      select * from json_to_recordset($1::json) as given (
        organization_id bigint, id uuid, project_id bigint, application_id bigint, event_id bigint, priority smallint,
        context jsonb, options jsonb, correlation_id text, key_id text,
        due_at timestamptz, expires_at timestamptz, created_at timestamptz, idempotency json,
        traceparent text, dedup_key text, status text, deliveries integer, suppressed integer, reason text)
      where ${condition}
    ), claimed as (
      insert into idempotency_keys (organization_id, event_id, key, body_hash, occurrence_id)
      select organization_id, event_id, idempotency ->> 'key', decode(idempotency ->> 'body_hash', 'hex'), id
      from given where idempotency is not null
      order by 1, 2, 3
      on conflict do nothing
      returning occurrence_id
    ), accepted as (
      insert into ${occurrences} as o (organization_id, id, project_id, application_id, event_id, priority, context, options,
        correlation_id, key_id, due_at, expires_at, created_at, traceparent, dedup_key, status, deliveries, suppressed, reason,
        completed_at)
      select organization_id, id, project_id, application_id, event_id, priority, context, options,
        correlation_id, key_id, coalesce(due_at, created_at), expires_at, created_at, traceparent, dedup_key,
        coalesce(status, 'accepted'), coalesce(deliveries, 0), coalesce(suppressed, 0), reason,
        case when status = 'completed' then now() end
      from given where idempotency is null or id in (select occurrence_id from claimed)
      on conflict do nothing
      returning ${returning}, o.created_at, o.priority, o.options -> 'dry_run' is distinct from 'true' as counts
    ), counted as (
      insert into trigger_stats (organization_id, hour, event_id, part, count)
      select organization_id, date_trunc('hour', created_at), event_id, pg_backend_pid() % 16, count(*)
      from accepted where counts group by 1, 2, 3, 4 order by 1, 2, 3, 4
      on conflict (organization_id, hour, event_id, part) do update set count = trigger_stats.count + excluded.count
    )`;

// One autocommitted statement per batch, which also wakes the workers once.
const store = {
  name: 'store_occurrences',
  text: `
    with ${acceptText()}
    select (select pg_notify('belfry_work', string_agg(distinct priority::text, ' ')) from accepted having count(*) > 0),
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
): Promise<StoredOccurrence[]> {
  const values = [toJsonArray(items)];
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
