/**
 * Unpacks the previous version of the program: the commit in `chaos/previous-version`, which each release sets to the commit of the
 * release before it.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { root } from '../test/support/process.ts';
import { Skipped } from './scenario.ts';

const run = promisify(execFile);

export interface PreviousVersion {
  folder: string;
  remove(): Promise<void>;
}

export async function unpackPreviousVersion(): Promise<PreviousVersion> {
  const commit = (await readFile(new URL('./previous-version', import.meta.url), 'utf8')).trim();
  const git = (...args: string[]) => run('git', ['-C', root, ...args]);
  await git('cat-file', '-e', `${commit}^{commit}`).catch(() => {
    throw new Skipped(
      `this clone lacks the commit of the previous version (${commit.slice(0, 12)}): run git fetch --unshallow`,
    );
  });
  const folder = await mkdtemp(path.join(tmpdir(), 'belfry-previous-'));
  const archive = path.join(folder, 'previous.tar');
  const files = ['src', 'migrations', 'package.json', 'package-lock.json', 'openapi.json'];
  await git('archive', `--output=${archive}`, commit, ...files);
  await run('tar', ['-xf', archive, '-C', folder]);
  // Its own packages: it may import some that this version no longer has. PostgreSQL is that of this version.
  const options = ['--omit=dev', '--omit=optional', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  await run('npm', ['ci', ...options], { cwd: folder }).catch(async error => {
    await rm(folder, { recursive: true, force: true });
    throw new Skipped(`the packages of the previous version could not be installed: ${(error as Error).message}`);
  });
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}
