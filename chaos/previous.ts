/**
 * Unpacks the previous version of the program: the commit in `chaos/previous-version`, which each release sets to the commit of the
 * release before it.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
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
  await git('archive', `--output=${archive}`, commit, 'src', 'migrations', 'package.json', 'openapi.json');
  await run('tar', ['-xf', archive, '-C', folder]);
  // Uses the current packages instead of those of its time.
  await symlink(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}
