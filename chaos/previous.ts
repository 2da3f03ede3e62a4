/**
 * The program of the version before, as it was: the commit that `chaos/previous-version` names, unpacked beside this one. A
 * release sets it to the commit that it follows.
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
    throw new Skipped(`this is no clone that has the version before (${commit.slice(0, 12)}): git fetch --unshallow`);
  });
  const folder = await mkdtemp(path.join(tmpdir(), 'belfry-previous-'));
  const archive = path.join(folder, 'previous.tar');
  await git('archive', `--output=${archive}`, commit, 'src', 'migrations', 'package.json', 'openapi.json');
  await run('tar', ['-xf', archive, '-C', folder]);
  // It ran with the packages of its time; these are newer at most by what was added since.
  await symlink(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}
