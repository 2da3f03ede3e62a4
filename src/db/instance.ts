/** Which database this is, and whether sending is paused because it may be a copy: the one row of `instance`. */
import { sql } from 'kysely';
import type { DatabaseFacts, RecordedInstance } from '../core/instance.ts';
import type { Db } from './pool.ts';

export interface InstancePause {
  since: Date;
  reason: string;
}

export interface InstanceRow extends RecordedInstance {
  pause: InstancePause | undefined;
  /** Since a process last said that it works on this database. */
  silentMs: number;
}

/** What processes know from outside. */
export interface KnownAs {
  addresses: readonly string[];
  name: string | null;
  filesMadeAt: number | null;
}

/** Written with each change of the row, so that it can be told from a copy. */
const ownXid = sql<number>`pg_current_xact_id()::text::bigint`;

export async function readDatabaseFacts(db: Db): Promise<DatabaseFacts> {
  const { rows } = await sql<Omit<DatabaseFacts, 'system' | 'timeline'>>`
    select 'instance'::regclass::oid::bigint as relation, oid::bigint as database,
      current_setting('server_version_num')::int / 10000 as server_major
    from pg_database where datname = current_database()`.execute(db);
  // Not every service that is much like PostgreSQL has these, or lets everybody ask.
  const system = await ask<string>(db, 'system_identifier::text from pg_control_system()');
  const timeline = await ask<number>(
    db,
    "('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint",
  );
  return { ...rows[0]!, system, timeline };
}

async function ask<T>(db: Db, what: string): Promise<T | null> {
  try {
    const { rows } = await sql<Record<string, T>>`select ${sql.raw(what)}`.execute(db);
    return Object.values(rows[0]!)[0]!;
  } catch (error) {
    // What is no answer of the server is told to whoever asks next.
    if ((error as { code?: string }).code === undefined) throw error;
    return null;
  }
}

/** Locked where the transaction is going to change it. */
export async function findInstance(db: Db, { lock = false } = {}): Promise<InstanceRow | undefined> {
  const row = await db
    .selectFrom('instance')
    .selectAll()
    .select(sql<boolean>`xmin::text::bigint = xid & 4294967295`.as('isOwnRow'))
    .select(sql<number>`(extract(epoch from clock_timestamp() - seen_at) * 1000)::float8`.as('silentMs'))
    .$if(lock, query => query.forUpdate())
    .executeTakeFirst();
  if (!row) return undefined;
  const { paused_at, paused_reason, files_made_at, ...rest } = row;
  return {
    ...rest,
    filesMadeAt: files_made_at?.getTime() ?? null,
    pause: paused_at ? { since: paused_at, reason: paused_reason ?? '' } : undefined,
  };
}

/** Undefined: sending is not paused. */
export async function findInstancePause(db: Db): Promise<InstancePause | undefined> {
  return (await findInstance(db))?.pause;
}

/** Nothing where another process was first. */
export async function createInstance(db: Db, facts: DatabaseFacts, known: KnownAs): Promise<void> {
  await db
    .insertInto('instance')
    .values({ ...facts, ...columnsOf(known), xid: ownXid })
    .onConflict(conflict => conflict.doNothing())
    .execute();
}

/** As it is now; ends the pause, if there is one. */
export async function recordInstance(db: Db, facts: DatabaseFacts, known: KnownAs): Promise<void> {
  await db
    .updateTable('instance')
    .set({ ...facts, ...columnsOf(known), xid: ownXid, seen_at: sql`clock_timestamp()` })
    .set({ paused_at: null, paused_reason: null })
    .execute();
}

export async function pauseInstance(db: Db, reason: string): Promise<void> {
  await db.updateTable('instance').set({ paused_at: sql`now()`, paused_reason: reason, xid: ownXid }).execute();
}

function columnsOf({ addresses, name, filesMadeAt }: KnownAs) {
  return {
    addresses: [...addresses],
    name,
    files_made_at: filesMadeAt === null ? null : new Date(filesMadeAt),
  };
}
