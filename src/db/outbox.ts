/** The outbox in an application's own database: a transaction of the application wrote it, and one of ours takes it away. */
import { createHash } from 'node:crypto';
import pg from 'pg';
import { AppError } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import { outboxSchema } from './outbox-schema.ts';
import { sqlState } from './pool.ts';
import { inPlainTransaction } from './transaction.ts';

export interface OutboxRow {
  seq: number;
  /** Of the occurrence to be. */
  id: string;
  event: string;
  context: Json;
  options: Json;
  key: string | null;
  created_at: Date;
}

export interface OutboxFailure {
  seq: number;
  error: string;
}

export interface OutboxState {
  /** Waiting to be taken; up to `mostCounted`. */
  pending: number;
  /** Refused, and kept until somebody has looked; up to `mostCounted`. */
  failed: number;
  /** For how long the oldest that is waiting has been there. */
  lagMs: number;
}

const mostCounted = 10_000;
/** So that a Belfry that hangs keeps the application's database from nothing. */
const timeouts = "set local statement_timeout = '30s'; set local idle_in_transaction_session_timeout = '60s'";
/** One at a time takes from an outbox, whatever the number of processes; held for a transaction, so that poolers may stand between. */
const drainLock = createHash('sha256').update('belfry outbox drain').digest().readBigInt64BE().toString();

export function openOutbox(url: string, onError: (error: Error) => void): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'belfry outbox',
    max: 1,
    connectionTimeoutMillis: 5_000,
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
 * Takes the oldest rows, has them worked on, and deletes those that were. What was not named by `work` stays. Returns
 * undefined when somebody else is at it. Rows that the application itself has locked are passed over.
 */
export async function drainOutbox<T extends { done: number[]; failed: OutboxFailure[] }>(
  pool: pg.Pool,
  most: number,
  work: (rows: OutboxRow[]) => Promise<T>,
): Promise<T | undefined> {
  return inTransaction(pool, async client => {
    await client.query(timeouts);
    const { rows: locks } = await client.query(`select pg_try_advisory_xact_lock(${drainLock}) as taken`);
    if (!locks[0].taken) return undefined;
    const { rows } = await client.query<OutboxRow>(
      `select seq::float8 as seq, id, event, context, options, key, created_at from belfry.outbox
       where failed_at is null order by seq limit $1 for update skip locked`,
      [most],
    );
    const result = await work(rows);
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

export async function readOutboxState(pool: pg.Pool): Promise<OutboxState> {
  const counted = (condition: string) =>
    `(select count(*)::int from (select from belfry.outbox where ${condition} limit ${mostCounted}) as counted)`;
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
    return new AppError('outbox.missing', 'there is no outbox in this database: run `belfry outbox install`', {
      cause: error,
    });
  }
  if (state === forbidden) {
    return new AppError(
      'outbox.forbidden',
      `${(error as Error).message}: let the role of BELFRY_OUTBOX_URLS own the schema belfry, or install the outbox with it`,
      { cause: error },
    );
  }
  return error;
}
