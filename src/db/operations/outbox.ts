/** The transactional outbox in an application's own database: the application's transactions add rows, ours remove them. */
import { createHash } from 'node:crypto';
import pg from 'pg';
import { AppError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { sqlState } from '../connection/pool.ts';
import { inPlainTransaction } from '../connection/transaction.ts';
import { outboxSchema } from './outbox-schema.ts';

export interface OutboxRow {
  seq: number;
  /** Becomes the id of the occurrence. */
  id: string;
  /** Truncated if it is too long to be the path of an event. */
  event: string;
  /** Null, like `options`, if the two together are larger than `belfry.notify` allows. */
  context: Json;
  options: Json;
  /** MD5 of the key. */
  key: string | null;
  /** Null if it is outside the years 2000 to 9999. */
  created_at: Date | null;
}

export interface OutboxFailure {
  seq: number;
  error: string;
}

export interface OutboxState {
  /** Rows that wait to be drained, counted up to `maxCounted`. */
  pending: number;
  /** Rejected rows, kept until an operator retries or deletes them; counted up to `maxCounted`. */
  failed: number;
  /** Age of the oldest waiting row; 0 if none waits. */
  lagMs: number;
}

const maxCounted = 10_000;
/** Prevents a hanging Belfry from holding locks or a transaction open in the application's database. */
const timeouts = "set local statement_timeout = '30s'; set local idle_in_transaction_session_timeout = '60s'";
/** For a server that stops answering. Longer than the statement timeout, whose error message is clearer. */
const defaultQueryTimeoutMs = 45_000;
/** The limit that `belfry.notify` enforces; the owner of the table can insert larger rows directly. */
const maxRowBytes = 1_000_000;
/** A batch ends with the fetch that reaches this size, so the process holds at most this and one fetch more. */
const maxBatchBytes = 8_000_000;
const rowsPerFetch = 10;
/** Lets one process at a time drain an outbox. Held for a transaction, which works through a connection pooler. */
const drainLock = createHash('sha256').update('belfry outbox drain').digest().readBigInt64BE().toString();

export function openOutbox(
  url: string,
  onError: (error: Error) => void,
  queryTimeoutMs = defaultQueryTimeoutMs,
): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'belfry outbox',
    max: 1,
    connectionTimeoutMillis: 15_000,
    query_timeout: queryTimeoutMs,
    keepAlive: true,
  });
  pool.on('error', onError);
  pool.on('connect', client => client.on('error', () => {}));
  return pool;
}

export async function installOutbox(pool: pg.Pool, role: string | undefined): Promise<void> {
  const grants = role
    ? `grant usage on schema belfry to ${pg.escapeIdentifier(role)};
       grant execute on function belfry.notify(text, jsonb, jsonb, text) to ${pg.escapeIdentifier(role)};`
    : '';
  await inTransaction(pool, client => client.query(`${timeouts}; ${outboxSchema} ${grants}`));
}

/**
 * Passes the oldest rows to `work`, then deletes those it returns as done and marks those it returns as failed; the others
 * stay. Skips rows that the application has locked. Returns undefined while another process drains the outbox.
 */
export async function drainOutbox<T extends { done: number[]; failed: OutboxFailure[] }>(
  pool: pg.Pool,
  maxRows: number,
  work: (rows: OutboxRow[], hasMore: boolean) => Promise<T>,
): Promise<T | undefined> {
  return inTransaction(pool, async client => {
    await client.query(timeouts);
    const { rows: locks } = await client.query(`select pg_try_advisory_xact_lock(${drainLock}) as taken`);
    if (!locks[0].taken) return undefined;
    const { rows, hasMore } = await takeRows(client, maxRows);
    const result = await work(rows, hasMore);
    if (result.done.length > 0) await client.query('delete from belfry.outbox where seq = any($1)', [result.done]);
    if (result.failed.length > 0) {
      await client.query(
        `update belfry.outbox o set failed_at = now(), error = f.error
         from unnest($1::bigint[], $2::text[]) as f (seq, error) where o.seq = f.seq`,
        [result.failed.map(({ seq }) => seq), result.failed.map(({ error }) => error)],
      );
    }
    return result;
  });
}

/** The owner of the table may have inserted anything: oversized values and impossible times are not fetched. */
const takeOldest = `
  declare oldest no scroll cursor for
  select seq::float8 as seq, id, left(event, 400) as event, md5(key) as key, bytes,
    case when bytes <= ${maxRowBytes} then context end as context,
    case when bytes <= ${maxRowBytes} then options end as options,
    case when created_at between '2000-01-01Z' and '9999-12-31Z' then created_at end as created_at
  from belfry.outbox o, lateral (select octet_length(context::text) + octet_length(options::text) as bytes) as size
  where failed_at is null order by seq for update of o skip locked`;

async function takeRows(client: pg.PoolClient, maxRows: number): Promise<{ rows: OutboxRow[]; hasMore: boolean }> {
  const rows: OutboxRow[] = [];
  let hasMore = true;
  await client.query(takeOldest);
  for (let bytes = 0; hasMore && rows.length < maxRows && bytes < maxBatchBytes; ) {
    const fetched = await client.query<OutboxRow & { bytes: number }>(`fetch ${rowsPerFetch} from oldest`);
    for (const { bytes: size, ...row } of fetched.rows) {
      rows.push(row);
      bytes += Math.min(size, maxRowBytes);
    }
    hasMore = fetched.rows.length === rowsPerFetch;
  }
  await client.query('close oldest');
  return { rows, hasMore };
}

export async function readOutboxState(pool: pg.Pool): Promise<OutboxState> {
  const counted = (condition: string) =>
    `(select count(*)::int from (select from belfry.outbox where ${condition} limit ${maxCounted}) as counted)`;
  try {
    const { rows } = await pool.query<OutboxState>(
      `select ${counted('failed_at is null')} as pending, ${counted('failed_at is not null')} as failed,
         coalesce((select extract(epoch from clock_timestamp() - created_at) * 1000
                   from belfry.outbox where failed_at is null order by seq limit 1), 0)::float8 as "lagMs"`,
    );
    return rows[0]!;
  } catch (error) {
    throw explain(error);
  }
}

async function inTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  try {
    return await inPlainTransaction(pool, work);
  } catch (error) {
    throw explain(error);
  }
}

const missing = new Set(['3F000', '42P01', '42883']);
const forbidden = '42501';

function explain(error: unknown): unknown {
  const state = sqlState(error);
  if (state && missing.has(state)) {
    return new AppError('outbox.missing', 'this database has no outbox: run `belfry outbox install`', {
      cause: error,
    });
  }
  if (state === forbidden) {
    return new AppError(
      'outbox.forbidden',
      `${(error as Error).message}: make the role of BELFRY_OUTBOX_URLS the owner of the schema belfry, or install the outbox as that role`,
      { cause: error },
    );
  }
  return error;
}
