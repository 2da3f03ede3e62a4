/**
 * The two versions of a rolling upgrade. `chaos/previous-version` names the commit of the previous release, which is replaced by
 * this program. As long as there is no previous release, this program is replaced by a copy of itself with one more migration,
 * which only adds, as those of releases do. That proves that the upgrade itself loses nothing: the migration under load,
 * processes on a schema that is newer than they are, their replacement, and that the old program refuses to start afterwards. It
 * cannot prove that two different programs agree about the data.
 */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { root } from '../test/support/process.ts';
import { Skipped } from './scenario.ts';

const run = promisify(execFile);
const files = ['src', 'migrations', 'package.json', 'package-lock.json', 'openapi.json'];

/** The folders of the programs. */
export interface Versions {
  previous: string;
  next: string;
  remove(): Promise<void>;
}

export async function unpackVersions(): Promise<Versions> {
  const commit = await readFile(new URL('./previous-version', import.meta.url), 'utf8').catch(() => undefined);
  const folder = await mkdtemp(path.join(tmpdir(), 'belfry-version-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    if (commit === undefined) {
      await copyWithMigration(folder);
      return { previous: root, next: folder, remove };
    }
    await unpack(commit.trim(), folder);
    return { previous: folder, next: root, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function copyWithMigration(folder: string): Promise<void> {
  for (const name of [...files, 'dist']) await cp(path.join(root, name), path.join(folder, name), { recursive: true });
  await symlink(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  await writeFile(
    path.join(folder, 'migrations/9999_next.sql'),
    `alter table occurrences add column added_next text;
     alter table deliveries add column added_next integer not null default 0;
     create table added_next (organization_id bigint primary key references organizations on delete cascade);`,
  );
}

async function unpack(commit: string, folder: string): Promise<void> {
  const git = (...args: string[]) => run('git', ['-C', root, ...args]);
  await git('cat-file', '-e', `${commit}^{commit}`).catch(() => {
    throw new Skipped(
      `this clone lacks the commit of the previous version (${commit.slice(0, 12)}): run git fetch --unshallow`,
    );
  });
  const archive = path.join(folder, 'previous.tar');
  await git('archive', `--output=${archive}`, commit, ...files);
  await run('tar', ['-xf', archive, '-C', folder]);
  // Its own packages: it may import some that this version no longer has. PostgreSQL is that of this version.
  const options = ['--omit=dev', '--omit=optional', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  await run('npm', ['ci', ...options], { cwd: folder }).catch(error => {
    throw new Skipped(`the packages of the previous version could not be installed: ${(error as Error).message}`);
  });
}
