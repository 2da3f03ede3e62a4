/** Transactions on a connection of `pg`. Closing the connection rolls back, whatever state it is in. */
import type pg from 'pg';

type Work<T> = (client: pg.PoolClient, rollback: (result: T) => Promise<T>) => Promise<T>;

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
  let end = 'commit';
  try {
    await client.query(begin);
    const result = await work(client, async value => {
      end = 'rollback';
      return value;
    });
    await client.query(end);
    return result;
  } catch (error) {
    broken = error as Error;
    throw error;
  } finally {
    client.release(broken);
  }
}
