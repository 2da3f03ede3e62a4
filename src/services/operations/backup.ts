/**
 * Backup by pg_dump and restore by pg_restore. Checks that the programs are installed and match the server, and refuses a
 * restore that would lose data. A restored database sends nothing until it is resumed: see instance.ts.
 */
import { existsSync } from 'node:fs';
import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { AppError } from '../../core/errors.ts';
import { migrationNames } from '../../db/connection/migrate.ts';
import { type Database, openDatabase } from '../../db/connection/pool.ts';
import { describeServerAcrossTenants } from '../../db/operations/health.ts';
import { countRelations, countSessions, emptyDatabase } from '../../db/operations/restore.ts';
import { countOf } from '../../lib/count-of.ts';
import { type PostgresTool, runTool, toolVersion } from '../../lib/postgres-tools.ts';

/** Writes a new file, which appears only when it is complete and only its owner can read, and returns its size. */
export async function writeBackup(url: string, file: string): Promise<{ bytes: number }> {
  if (existsSync(file)) throw new AppError('backup.failed', `${file} already exists: choose another file name`);
  await requireTool('pg_dump', await withDatabase(url, majorOf));
  const draft = `${file}.${process.pid}.part`;
  try {
    // pg_dump would create it with the permissions of the umask, and keeps those of an existing file. If it cannot be
    // created, pg_dump says why.
    await writeFile(draft, '', { mode: 0o600 }).catch(() => {});
    // The data of unlogged tables does not survive a crash either.
    const args = ['--format=custom', '--no-owner', '--no-privileges', '--no-unlogged-table-data', `--file=${draft}`];
    const { code, stderr } = await runTool('pg_dump', args, url);
    if (code !== 0) throw failed('pg_dump', stderr);
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
  return { bytes: (await stat(file)).size };
}

/** Restores into an empty database; with `replace`, everything in the database is deleted first. */
export async function restoreBackup(url: string, file: string, { replace = false } = {}): Promise<void> {
  await requireKnownMigrations(file);
  await withDatabase(url, async ({ db }) => {
    if ((await countRelations(db)) === 0) return;
    if (!replace) {
      throw new AppError(
        'restore.not_empty',
        'the database is not empty: restore into an empty one, or add --replace, which deletes everything in it',
      );
    }
    const sessions = await countSessions(db);
    if (sessions > 0) {
      throw new AppError(
        'restore.in_use',
        `${countOf(sessions, 'other connection')} ${sessions === 1 ? 'is' : 'are'} open to the database: stop all ` +
          'Belfry processes, and everything else that uses it',
      );
    }
    await emptyDatabase(db);
  });
  const args = ['--no-owner', '--no-privileges', '--exit-on-error', '--single-transaction', file];
  const { code, stderr } = await runTool('pg_restore', args, url);
  if (code !== 0) throw failed('pg_restore', stderr);
}

/** Runs before anything is changed: this version cannot read the data of a newer one. */
async function requireKnownMigrations(file: string): Promise<void> {
  if (!existsSync(file)) throw new AppError('backup.failed', `file not found: ${file}`);
  await requireTool('pg_restore', 0);
  const args = ['--data-only', '--table=belfry_migrations', '--file=-', file];
  const { code, stdout, stderr } = await runTool('pg_restore', args);
  if (code !== 0) throw failed('pg_restore', stderr);
  const [, rows] = /^COPY public\.belfry_migrations .*\n([\s\S]*?)^\\\.$/m.exec(stdout) ?? [];
  if (!rows) throw new AppError('backup.failed', `${file} is not a backup of Belfry`);
  const known = await migrationNames();
  const applied = rows.split('\n').flatMap(line => line.split('\t')[0] || []);
  const newer = applied.filter(name => !known.includes(name));
  if (newer.length > 0) {
    throw new AppError(
      'schema.newer',
      `the backup was made by a newer Belfry (${newer.join(', ')}): restore it with that version or a newer one`,
    );
  }
}

async function requireTool(tool: PostgresTool, serverMajor: number): Promise<void> {
  const major = await toolVersion(tool);
  const remedy = `install the PostgreSQL client programs${serverMajor ? `, version ${serverMajor} or later` : ''}`;
  if (major === undefined) throw new AppError('backup.failed', `${tool} was not found on PATH: ${remedy}`);
  if (major < serverMajor) {
    throw new AppError(
      'backup.failed',
      `the server runs PostgreSQL ${serverMajor}, but ${tool} is version ${major}: ${remedy}`,
    );
  }
}

async function majorOf({ db }: Database): Promise<number> {
  return Number.parseInt((await describeServerAcrossTenants(db)).version, 10);
}

async function withDatabase<T>(url: string, work: (database: Database) => Promise<T>): Promise<T> {
  const database = openDatabase({ url, name: 'belfry backup', connections: 1 });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

function failed(tool: PostgresTool, stderr: string): AppError {
  return new AppError('backup.failed', `${tool} failed: ${stderr.trim().split('\n').slice(0, 5).join('\n')}`);
}
