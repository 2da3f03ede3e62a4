/**
 * Reads and writes whole databases with COPY, which every PostgreSQL has. `pg_dump` must be installed and not older than the
 * server; and PostgreSQL's own backup functions copy files, which only the same major version can read. The schema comes from
 * the migrations, so that only rows are copied, and any supported version of PostgreSQL can restore them.
 */
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { AppError } from '../../core/errors.ts';
import { copyIn, copyOut } from '../connection/copy.ts';
import { beginCopySession } from '../connection/copying.ts';
import { createSchema, migrationState, migrationTables } from '../connection/migrate.ts';
import { createMonths, listMonths } from '../connection/partitions.ts';
import { type Db, openDatabase } from '../connection/pool.ts';
import { emptyDatabase } from './restore.ts';

export interface BackupTable {
  name: string;
  /** Without generated columns. */
  columns: string[];
}

export interface Snapshot {
  tables: BackupTable[];
  migrations: string[];
  months: string[];
  sequences: Record<string, number>;
  postgres: string;
  /** The number of rows, as PostgreSQL last estimated it. */
  estimatedRows: number;
}

/** Attempts to list the tables while no migration creates or drops one. */
const maxAttempts = 5;
const name = pg.escapeIdentifier;

/** Opens one connection, and Kysely on it, so that transactions and COPY share it. */
export async function withCopySession<T>(url: string, work: (client: pg.PoolClient, db: Db) => Promise<T>): Promise<T> {
  // A reader that waits for its disk must not look like a machine that vanished.
  const database = openDatabase({ url, name: 'belfry backup', connections: 1, settings: { tcp_user_timeout: '0' } });
  let client: pg.PoolClient | undefined;
  let failed = true;
  try {
    client = await database.pool.connect();
    const connection = { query: client.query.bind(client), release: () => {} };
    const pool = { connect: async () => connection, end: async () => {} };
    await beginCopySession(client);
    const result = await work(client, new Kysely({ dialect: new PostgresDialect({ pool: pool as never }) }));
    failed = false;
    return result;
  } finally {
    // After a failure it may be in the middle of a COPY.
    client?.release(failed);
    await database.close();
  }
}

/**
 * Runs `work` in a transaction that sees the database as it was at one moment, however long it takes. It locks out only
 * what changes the schema: triggers and deliveries go on.
 */
export async function readSnapshot(
  client: pg.PoolClient,
  db: Db,
  work: (snapshot: Snapshot) => Promise<void>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const locked = await listTables(client);
    await client.query('begin isolation level repeatable read, read only');
    // Before the first query, which takes the snapshot: no table changes or disappears after it.
    if (locked.length > 0)
      await client.query(`lock table ${locked.map(table => name(table.name)).join()} in access share mode`);
    const tables = await listTables(client);
    const isSame = JSON.stringify(tables) === JSON.stringify(locked);
    if (isSame) {
      await work({ ...(await describeSnapshot(client, db)), tables });
      await client.query('commit');
      return;
    }
    await client.query('rollback');
    if (attempt === maxAttempts) throw new AppError('backup.failed', 'the schema is being changed: try again later');
  }
}

/** Lists the tables in an order that does not matter: foreign keys are added after the rows. */
async function listTables(client: pg.PoolClient): Promise<BackupTable[]> {
  const { rows } = await client.query<BackupTable>(
    `select relname as name, array(select attname::text from pg_attribute
       where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '' order by attnum) as columns
     from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
       and relpersistence = 'p' and relname <> all($1::text[])
       and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'e')
     order by relname`,
    [migrationTables],
  );
  return rows;
}

async function describeSnapshot(client: pg.PoolClient, db: Db): Promise<Omit<Snapshot, 'tables'>> {
  const { applied } = await migrationState(db);
  if (applied.length === 0) throw new AppError('backup.failed', 'the database has no tables of Belfry');
  const { rows } = await client.query<{
    postgres: string;
    estimated: number;
    sequences: Record<string, number> | null;
  }>(
    `select current_setting('server_version') as postgres,
       (select sum(greatest(reltuples, 0))::float8 from pg_class
        where relnamespace = 'public'::regnamespace and relkind = 'r') as estimated,
       (select json_object_agg(sequencename, last_value) from pg_sequences
        where schemaname = 'public' and last_value is not null) as sequences`,
  );
  const { postgres, estimated, sequences } = rows[0]!;
  const months = (await listMonths(db)).map(month => month.name);
  return { migrations: applied, months, postgres, estimatedRows: estimated, sequences: sequences ?? {} };
}

/** Returns the number of rows. */
export function readTable(
  client: pg.PoolClient,
  { name: table, columns }: BackupTable,
  write: (block: Buffer, rows: number) => Promise<void>,
): Promise<number> {
  return copyOut(client, `copy (select ${columns.map(name).join()} from ${name(table)}) to stdout`, write);
}

/**
 * Recreates the database of a snapshot in one transaction: after a failure everything is as it was. `fill` stores the
 * rows; of a table that is not Belfry's, it stores none and gets undefined.
 */
export async function recreateDatabase(
  client: pg.PoolClient,
  db: Db,
  { migrations, months, sequences }: Pick<Snapshot, 'migrations' | 'months' | 'sequences'>,
  { replace }: { replace: boolean },
  fill: (store: (table: BackupTable, blocks: AsyncIterable<Buffer>) => Promise<number | undefined>) => Promise<void>,
): Promise<void> {
  await db.transaction().execute(async trx => {
    if (replace) await emptyDatabase(trx);
    await createSchema(trx, migrations);
    await client.query('set local lock_timeout = 0');
    await createMonths(trx, months);
    const restoreChecks = await removeChecks(client);
    // Migrations may have stored rows.
    const tables = await listTables(client);
    await client.query(`truncate ${tables.map(table => name(table.name)).join()}`);
    const known = new Set(tables.map(table => table.name));
    await fill(async ({ name: table, columns }, blocks) =>
      known.has(table)
        ? copyIn(client, `copy ${name(table)} (${columns.map(name).join()}) from stdin`, blocks)
        : undefined,
    );
    await client.query(
      `select setval(c.oid, value::bigint) from jsonb_each_text($1::jsonb) join pg_class c on c.relname = key
       where c.relnamespace = 'public'::regnamespace and c.relkind = 'S'`,
      [JSON.stringify(sequences)],
    );
    await restoreChecks();
  });
  await client.query('analyze');
}

/**
 * Removes foreign keys, so that the order of the tables does not matter, and disables triggers, which would announce every
 * row and compute columns that are restored as they were. Their owner may do both. Returns what adds them again; adding
 * checks all rows.
 */
async function removeChecks(client: pg.PoolClient): Promise<() => Promise<void>> {
  const { rows: keys } = await client.query<{ table: string; name: string; definition: string }>(
    `select conrelid::regclass::text as table, conname as name, pg_get_constraintdef(oid) as definition
     from pg_constraint where connamespace = 'public'::regnamespace and contype = 'f' and conparentid = 0 order by oid`,
  );
  const { rows: triggered } = await client.query<{ table: string }>(
    'select distinct tgrelid::regclass::text as table from pg_trigger where not tgisinternal',
  );
  for (const key of keys) await client.query(`alter table ${key.table} drop constraint ${name(key.name)}`);
  for (const { table } of triggered) await client.query(`alter table ${table} disable trigger user`);
  return async () => {
    for (const key of keys) {
      await client.query(`alter table ${key.table} add constraint ${name(key.name)} ${key.definition}`);
    }
    for (const { table } of triggered) await client.query(`alter table ${table} enable trigger user`);
  };
}
