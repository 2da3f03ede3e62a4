/** Checks whether a backup may be restored into this database, and empties it first if asked to. */
import { sql } from 'kysely';
import type { Db } from '../connection/pool.ts';

/** Counts tables, indexes and other relations in the schema `public`: 0 in an empty database. */
export async function countRelations(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from pg_class where relnamespace = 'public'::regnamespace`.execute(db);
  return rows[0]!.count;
}

/** Counts other client connections, without those that keep an embedded server running. */
export async function countSessions(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and application_name <> 'belfry presence'
      and backend_type = 'client backend'`.execute(db);
  return rows[0]!.count;
}

/** Deletes everything in the schema `public`. */
export async function emptyDatabase(trx: Db): Promise<void> {
  await sql`drop schema public cascade`.execute(trx);
  await sql`create schema public`.execute(trx);
}
