/** Transactions on a connection of `pg`. Closing the connection rolls back, whatever state it is in. */
import type pg from 'pg';

/**
 * Commits when it returns, unless it has done so itself: on a pipelined connection, `commit` leaves together with the
 * statements that were just sent and are not answered yet. Where one of those fails, so does the whole.
 */
type Work<T> = (
  client: pg.PoolClient,
  ends: { commit: () => Promise<unknown>; rollback: (result: T) => Promise<T> },
) => Promise<T>;

export function inPlainTransaction<T>(pool: pg.Pool, work: Work<T>): Promise<T> {
  return transact(pool, 'begin', work);
}

/**
 * For statements that change the ledger. Whoever drops a month locks deliveries first: where both tables are wanted,
 * everybody takes them in that order.
 */
export function inTransaction<T>(pool: pg.Pool, work: Work<T>): Promise<T> {
  return transact(pool, 'begin; lock table only deliveries in row exclusive mode', work);
}

async function transact<T>(pool: pg.Pool, begin: string, work: Work<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  let ended = false;
  const end = (by: 'commit' | 'rollback') => {
    ended = true;
    return client.query(by);
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
    broken = error as Error;
    throw error;
  } finally {
    client.release(broken);
  }
}
