/** The single row of `instance`: the identity of this database, and whether sending is paused because it may be a copy. */
import { sql } from 'kysely';
import type { DatabaseFacts, RecordedInstance } from '../../core/operations/instance.ts';
import type { Db } from '../connection/pool.ts';

export interface InstancePause {
  since: Date;
  reason: string;
}

export interface InstanceRow extends RecordedInstance {
  pause: InstancePause | undefined;
  /** Milliseconds since a process last reported that it works on this database. */
  silentMs: number;
}

/** The part of the identity that only the processes know, from outside the database. */
interface ExternalIdentity {
  addresses: readonly string[];
  name: string | null;
  filesMadeAt: number | null;
}

/** Stored with each change of the row. A row copied by a dump has another `xmin`, which gives the copy away. */
const ownXid = sql<number>`pg_current_xact_id()::text::bigint`;

export async function readDatabaseFacts(db: Db): Promise<DatabaseFacts> {
  const { rows } = await sql<Omit<DatabaseFacts, 'system' | 'timeline'>>`
    select 'instance'::regclass::oid::bigint as relation, oid::bigint as database,
      current_setting('server_version_num')::int / 10000 as server_major
    from pg_database where datname = current_database()`.execute(db);
  // PostgreSQL-compatible services may lack these functions, or deny them to ordinary roles.
  const system = await queryIfAvailable<string>(db, 'system_identifier::text from pg_control_system()');
  const timeline = await queryIfAvailable<number>(
    db,
    "('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint",
  );
  return { ...rows[0]!, system, timeline };
}

/** Returns null where the server rejects the query. */
async function queryIfAvailable<T>(db: Db, expression: string): Promise<T | null> {
  try {
    const { rows } = await sql<Record<string, T>>`select ${sql.raw(expression)}`.execute(db);
    return Object.values(rows[0]!)[0]!;
  } catch (error) {
    // Without a code the error is not the server's answer: the connection failed.
    if ((error as { code?: string }).code === undefined) throw error;
    return null;
  }
}

/** Pass `lock` if the transaction is going to change the row. */
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

/** Returns undefined unless sending is paused. */
export async function findInstancePause(db: Db): Promise<InstancePause | undefined> {
  return (await findInstance(db))?.pause;
}

/** Does nothing if another process has created the row. */
export async function createInstance(db: Db, facts: DatabaseFacts, external: ExternalIdentity): Promise<void> {
  await db
    .insertInto('instance')
    .values({ ...facts, ...columnsOf(external), xid: ownXid })
    .onConflict(conflict => conflict.doNothing())
    .execute();
}

/** Stores the current identity and ends the pause, if there is one. */
export async function recordInstance(db: Db, facts: DatabaseFacts, external: ExternalIdentity): Promise<void> {
  await db
    .updateTable('instance')
    .set({ ...facts, ...columnsOf(external), xid: ownXid, seen_at: sql`clock_timestamp()` })
    .set({ paused_at: null, paused_reason: null })
    .execute();
}

export async function pauseInstance(db: Db, reason: string): Promise<void> {
  await db.updateTable('instance').set({ paused_at: sql`now()`, paused_reason: reason, xid: ownXid }).execute();
}

/** Returns null when no server has recorded it, and an empty text when the server does not know its address. */
export async function findServedUrl(db: Db): Promise<string | null> {
  const row = await db.selectFrom('instance').select('served_url').executeTakeFirst();
  return row?.served_url ?? null;
}

export async function recordServedUrl(db: Db, url: string): Promise<void> {
  await db
    .updateTable('instance')
    .set({ served_url: url, xid: ownXid })
    .where('served_url', 'is distinct from', url)
    .execute();
}

function columnsOf({ addresses, name, filesMadeAt }: ExternalIdentity) {
  return {
    addresses: [...addresses],
    name,
    files_made_at: filesMadeAt === null ? null : new Date(filesMadeAt),
  };
}
