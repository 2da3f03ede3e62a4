/** A transaction on a connection of its own, for statements that change the ledger. */
import type pg from 'pg';

/** Closing the connection rolls back, whatever state it is in. */
export async function inTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient, rollback: (result: T) => Promise<T>) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  let end = 'commit';
  try {
    // Whoever drops a month locks deliveries first: where both tables are wanted, everybody takes them in that order.
    await client.query('begin; lock table only deliveries in row exclusive mode');
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
