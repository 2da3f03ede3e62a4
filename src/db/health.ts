/** Facts about the database itself, whoever's data it holds. */
import { sql } from 'kysely';
import type { Db } from './pool.ts';

export async function describeServerAcrossTenants(db: Db): Promise<{ version: string; now: Date }> {
  const { rows } = await sql<{ version: string; now: Date }>`
    select current_setting('server_version') as version, clock_timestamp() as now`.execute(db);
  return rows[0]!;
}

/** Triggers that are stored, due and not yet worked on. */
export async function describeQueueAcrossTenants(db: Db): Promise<{ waiting: number; oldest: Date | null }> {
  return db
    .selectFrom('occurrences')
    .select(({ fn }) => [fn.countAll<number>().as('waiting'), fn.min('due_at').as('oldest')])
    .where('status', '=', 'accepted')
    .where('due_at', '<=', sql<Date>`now()`)
    .executeTakeFirstOrThrow();
}
