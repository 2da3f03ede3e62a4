/**
 * Migrations: numbered SQL files, forward only. Kysely's migrator holds a lock in the database, so any number of
 * processes may start at the same moment and each file runs once, in a transaction. Processes of the previous version
 * go on working meanwhile: a migration waits only briefly for a lock, as their statements queue behind it, and is
 * retried, also after a deadlock with them.
 */
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { type Migration, type MigrationResultSet, Migrator } from 'kysely/migration';
import { AppError } from '../../core/errors.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { createPartitions } from './partitions.ts';
import type { Db } from './pool.ts';
import { requireSupportedVersion, sqlState } from './pool.ts';

const folder = new URL('../../../migrations/', import.meta.url);
const table = 'belfry_migrations';
/** The tables of the migrator, which describe the schema rather than being part of it. */
export const migrationTables: readonly string[] = [table, `${table}_lock`];
/** How long a migration waits for a lock, and how long it is retried. */
const locking = { timeoutMs: 1_000, retryMs: 60_000 };
const lockConflicts: readonly (string | undefined)[] = ['55P03', '40P01'];

interface MigrationState {
  available: string[];
  applied: string[];
}

/** Brings the schema up to date; returns the names of the migrations it applied. */
export async function migrate(db: Db, from: URL = folder): Promise<string[]> {
  await requireSupportedVersion(db);
  const state = await migrationState(db, from);
  refuseUnknown('database', state);
  const applied = state.available.every(name => state.applied.includes(name))
    ? []
    : await applyMissing(db, from, state.applied.length === 0);
  await createPartitions(db, currentTime());
  return applied;
}

/** Creates the schema that an older version of Belfry had, in an empty database and within its transaction. */
export async function createSchema(trx: Db, names: readonly string[]): Promise<void> {
  await requireSupportedVersion(trx);
  namesOf(await createMigrator(trx, folder, names).migrateToLatest());
}

/** @param names the migrations to run; all if absent */
function createMigrator(db: Db, from: URL, names?: readonly string[]): Migrator {
  return new Migrator({
    db,
    provider: { getMigrations: async () => loadMigrations(from, names ?? (await migrationNames(from))) },
    migrationTableName: table,
    migrationLockTableName: `${table}_lock`,
  });
}

async function applyMissing(db: Db, from: URL, isNew: boolean): Promise<string[]> {
  const migrator = createMigrator(db, from);
  if (isNew) return namesOf(await migrator.migrateToLatest());
  const applied: string[] = [];
  for (let giveUpAt = performance.now() + locking.retryMs; ; ) {
    const run = await migrator.migrateUp();
    if (run.error && lockConflicts.includes(sqlState(run.error)) && performance.now() < giveUpAt) {
      await sleep(Math.random() * locking.timeoutMs);
      continue;
    }
    const names = namesOf(run);
    if (names.length === 0) return applied;
    applied.push(...names);
    giveUpAt = performance.now() + locking.retryMs;
  }
}

function namesOf({ error, results = [] }: MigrationResultSet): string[] {
  if (!error) return results.map(result => result.migrationName);
  if (!lockConflicts.includes(sqlState(error))) throw error;
  const name = results.find(result => result.status === 'Error')?.migrationName;
  throw new AppError(
    'service.unavailable',
    `the migration ${name} could not lock its tables for a minute; pg_stat_activity shows the session that holds them`,
  );
}

export async function migrationState(db: Db, from?: URL): Promise<MigrationState> {
  const available = await migrationNames(from);
  const { rows: found } = await sql<{ exists: boolean }>`select to_regclass(${table}) is not null as exists`.execute(
    db,
  );
  if (!found[0]?.exists) return { available: available, applied: [] };
  const { rows } = await sql<{ name: string }>`select name from ${sql.table(table)} order by name`.execute(db);
  return { available: available, applied: rows.map(row => row.name) };
}

/** The first migration of the versions before 0.1.0, which has all of theirs in one. */
const firstBefore = '0001_foundation';

/** Refuses a schema with migrations that this version does not have. */
export function refuseUnknown(what: 'database' | 'backup', { available, applied }: MigrationState): void {
  const unknown = applied.filter(name => !available.includes(name));
  if (unknown.length === 0) return;
  if (applied.includes(firstBefore)) {
    throw new AppError(
      'schema.unsupported',
      `the ${what} is from a version before 0.1.0 (${firstBefore} to ${unknown.at(-1)}) and cannot be upgraded; export its ` +
        'configuration with that version (`belfry export`), and apply it to a new database with this one (`belfry apply`)',
    );
  }
  throw new AppError(
    'schema.newer',
    `the ${what} was migrated by a newer Belfry (${unknown.join(', ')}); use that version or a newer one`,
  );
}

export async function migrationNames(from: URL = folder): Promise<string[]> {
  const files = await readdir(from);
  return files
    .filter(file => file.endsWith('.sql'))
    .map(file => file.slice(0, -'.sql'.length))
    .sort();
}

async function loadMigrations(from: URL, names: readonly string[]): Promise<Record<string, Migration>> {
  const load = async (name: string): Promise<[string, Migration]> => {
    const text = await readFile(new URL(`${name}.sql`, from), 'utf8');
    const up: Migration['up'] = async db => {
      await sql`set local lock_timeout = ${sql.lit(locking.timeoutMs)}`.execute(db);
      await sql.raw(text).execute(db);
    };
    return [name, { up }];
  };
  return Object.fromEntries(await Promise.all(names.map(load)));
}
