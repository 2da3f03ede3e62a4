/** Installs packages from PyPI for tests, in a virtual environment below node_modules, once. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { root } from './process.ts';

const run = promisify(execFile);

/** Returns the folder of the programs `python3` and `python`, or why there is none. */
export async function installPython(...requirements: string[]): Promise<{ bin: string } | { missing: string }> {
  const home = path.join(root, 'node_modules/.cache', requirements.join('+').replaceAll('==', '-'));
  const bin = path.join(home, 'bin');
  if (existsSync(path.join(home, 'installed'))) return { bin };
  try {
    await rm(home, { recursive: true, force: true });
    await mkdir(path.dirname(home), { recursive: true });
    await run('python3', ['-m', 'venv', home], { timeout: 120_000 });
    const quiet = ['--quiet', '--disable-pip-version-check', '--no-input', '--retries', '1', '--timeout', '20'];
    const python = path.join(bin, 'python');
    await run(python, ['-m', 'pip', 'install', ...quiet, ...requirements], { timeout: 180_000 });
    await writeFile(path.join(home, 'installed'), '');
    return { bin };
  } catch (error) {
    return {
      missing: `${requirements.join(', ')} cannot be installed here: ${(error as Error).message.split('\n')[0]}`,
    };
  }
}
