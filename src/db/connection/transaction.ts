/** Transactions on a `pg` connection. A connection that failed is closed, which rolls back in any state. */
import { sql } from 'kysely';
import type pg from 'pg';
import type { Db } from './pool.ts';

/**
 * The transaction commits when the work returns, unless it called `commit` itself: on a pipelined connection, `commit` is
 * then sent together with the last statements, before their results arrive. If one of those fails, the whole does.
 */
type Work<T> = (
  client: pg.PoolClient,
  ends: { commit: () => Promise<unknown>; rollback: (result: T) => Promise<T> },
) => Promise<T>;

export function inPlainTransaction<T>(pool: pg.Pool, work: Work<T>): Promise<T> {
  return transact(pool, 'begin', work);
}

const lockText = 'lock table only deliveries in row exclusive mode';

/**
 * For statements that change the ledger. It locks deliveries first, in the same order as dropping a month does, which
 * prevents deadlocks.
 */
export function inLedgerTransaction<T>(pool: pg.Pool, work: Work<T>): Promise<T> {
  return transact(pool, `begin; ${lockText}`, work);
}

/**
 * SQL text of a part of a `with` clause. If the statement selects from `without_sync`, its transaction does not wait for the disk: for
 * what would be done again after a crash. What is lost then is always the latest, never something that later changes depend on.
 */
export const withoutSync = `without_sync as materialized (select set_config('synchronous_commit', 'off', true))`;

/** The same as `inLedgerTransaction` for a transaction that has begun already. */
export async function lockLedger(db: Db): Promise<void> {
  await sql.raw(lockText).execute(db);
}

async function transact<T>(pool: pg.Pool, begin: string, work: Work<T>): Promise<T> {
  const client = await pool.connect();
  let failure: Error | undefined;
  let ended = false;
  const end = (statement: 'commit' | 'rollback') => {
    ended = true;
    return client.query(statement);
  };
  try {
    const beginning = client.query(begin);
    if (!client.pipeline) await beginning;
    const [, result] = await Promise.all([
      beginning,
      work(client, {
        commit: () => end('commit'),
        rollback: async value => {
          await end('rollback');
          return value;
        },
      }),
    ]);
    if (!ended) await end('commit');
    return result;
  } catch (error) {
    failure = error as Error;
    throw error;
  } finally {
    client.release(failure);
  }
}
