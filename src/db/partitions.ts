/** Occurrences and deliveries live in one partition for each month of the occurrence's identifier, made ahead of time. */
import { sql } from 'kysely';
import { lowestUuidAt } from '../core/ids.ts';
import type { Db } from './pool.ts';

const partitioned = ['occurrences', 'deliveries'] as const;
const monthsAhead = 2;

/** Makes the partitions of this month and the next ones; safe to call at any time from any process. */
export async function createPartitions(db: Db, now: number): Promise<void> {
  const today = new Date(now);
  for (let ahead = 0; ahead <= monthsAhead; ahead++) {
    const from = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + ahead);
    const to = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + ahead + 1);
    const month = new Date(from).toISOString().slice(0, 7).replace('-', '_');
    await db.transaction().execute(async trx => {
      // Two processes that make the same partition at once would both see it missing.
      await sql`select pg_advisory_xact_lock(hashtextextended('belfry partitions', 0))`.execute(trx);
      for (const table of partitioned) {
        await sql`create table if not exists ${sql.table(`${table}_${month}`)} partition of ${sql.table(table)}
          for values from (${sql.lit(lowestUuidAt(from))}) to (${sql.lit(lowestUuidAt(to))})`.execute(trx);
      }
    });
  }
}
