/**
 * Migrations: numbered SQL files, forward only. Kysely's migrator holds a lock in the database, so any number of
 * processes may start at the same moment and each file runs once, in a transaction.
 */
import { readdir, readFile } from 'node:fs/promises';
import { sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { AppError } from '../../core/errors.ts';
import { createPartitions } from './partitions.ts';
import type { Db } from './pool.ts';
import { requireSupportedVersion } from './pool.ts';

const folder = new URL('../../../migrations/', import.meta.url);
const table = 'belfry_migrations';

interface MigrationState {
  available: string[];
  applied: string[];
}

/** Brings the schema up to date; returns the names of the migrations it applied. */
export async function migrate(db: Db): Promise<string[]> {
  await requireSupportedVersion(db);
  const state = await migrationState(db);
  refuseNewer(state);
  const applied = state.available.every(name => state.applied.includes(name)) ? [] : await applyMissing(db);
  await createPartitions(db, Date.now());
  return applied;
}

async function applyMissing(db: Db): Promise<string[]> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: loadMigrations },
    migrationTableName: table,
    migrationLockTableName: `${table}_lock`,
  });
  const { error, results = [] } = await migrator.migrateToLatest();
  if (error) throw error;
  return results.map(result => result.migrationName);
}

export async function migrationState(db: Db): Promise<MigrationState> {
  const available = await migrationNames();
  const { rows: found } = await sql<{ exists: boolean }>`select to_regclass(${table}) is not null as exists`.execute(
    db,
  );
  if (!found[0]?.exists) return { available: available, applied: [] };
  const { rows } = await sql<{ name: string }>`select name from ${sql.table(table)} order by name`.execute(db);
  return { available: available, applied: rows.map(row => row.name) };
}

function refuseNewer({ available, applied }: MigrationState): void {
  const newer = applied.filter(name => !available.includes(name));
  if (newer.length === 0) return;
  throw new AppError(
    'schema.newer',
    `the database has been migrated by a newer Belfry (${newer.join(', ')}); run that version or a newer one`,
  );
}

export async function migrationNames(): Promise<string[]> {
  const files = await readdir(folder);
  return files
    .filter(file => file.endsWith('.sql'))
    .map(file => file.slice(0, -'.sql'.length))
    .sort();
}

async function loadMigrations(): Promise<Record<string, Migration>> {
  const load = async (name: string): Promise<[string, Migration]> => {
    const text = await readFile(new URL(`${name}.sql`, folder), 'utf8');
    return [name, { up: async db => void (await sql.raw(text).execute(db)) }];
  };
  return Object.fromEntries(await Promise.all((await migrationNames()).map(load)));
}
