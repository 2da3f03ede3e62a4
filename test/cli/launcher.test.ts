/** bin/belfry.js: how the command `belfry` finds a Node.js to run on. */
import { spawn } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { waitFor } from '../support/eventually.ts';
import { cleanEnv, root } from '../support/process.ts';

/** A Node.js that reports an old version. */
const old = `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.0.0'}})`;

let folder: string;
/** An installed package, which has no Node.js. */
let installed: string;
let wanted: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'belfry-launcher-'));
  installed = await mkdtemp(path.join(tmpdir(), 'belfry-installed-'));
  for (const name of ['bin', 'package.json'])
    await cp(path.join(root, name), path.join(installed, name), { recursive: true });
  await symlink(path.join(root, 'dist'), path.join(installed, 'dist'));
  wanted = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')).devDependencies.node;
});
afterEach(async () => {
  for (const each of [folder, installed]) await rm(each, { recursive: true, force: true });
});

function launch(args: string[], options: { isOld: boolean; npm?: string }) {
  const launcher = path.join(installed, 'bin/belfry.js');
  const env = cleanEnv({ XDG_CACHE_HOME: folder, ...(options.npm ? { PATH: options.npm } : {}) });
  const child = spawn(process.execPath, [...(options.isOld ? ['--import', old] : []), launcher, ...args], { env });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (output += text));
  const ended = new Promise<number | null>(resolve => child.on('close', resolve));
  return { child, ended, output: () => output };
}

/** Creates a fake npm that runs the script. */
async function fakeNpm(script: string): Promise<string> {
  const bin = path.join(folder, 'npm');
  await mkdir(bin);
  await writeFile(path.join(bin, 'npm'), `#!/bin/sh\n${script}\n`);
  await chmod(path.join(bin, 'npm'), 0o755);
  return bin;
}

test('runs on the installed Node.js when it is recent enough, and downloads nothing', async () => {
  const { ended, output } = launch(['help'], { isOld: false });
  expect([await ended, output()]).toEqual([0, expect.stringContaining('Usage: belfry COMMAND')]);
  expect(await readdir(folder)).toEqual([]);
});

test.each([
  ['a previously downloaded Node.js', () => path.join(folder, `belfry/node-${wanted}/bin`)],
  ['the Node.js among the packages of a clone', () => path.join(installed, 'node_modules/node/bin')],
])('runs on %s when the installed one is too old, and passes its exit code on', async (_, find) => {
  const bin = find();
  await mkdir(bin, { recursive: true });
  // Records that this one was executed.
  await writeFile(path.join(bin, 'node'), `#!/bin/sh\ntouch ${folder}/ran\nshift 2\nexec ${process.execPath} "$@"\n`);
  await chmod(path.join(bin, 'node'), 0o755);
  const { ended, output } = launch(['nonsense'], { isOld: true });
  expect([await ended, output()]).toEqual([2, expect.stringContaining('unknown command nonsense')]);
  expect(await readdir(folder)).toContain('ran');
});

test('forwards the signal of a supervisor', async () => {
  const bin = path.join(folder, `belfry/node-${wanted}/bin`);
  await mkdir(bin, { recursive: true });
  const program = `process.on('SIGTERM', () => process.exit(7)); setInterval(() => {}, 1000); console.log('ready')`;
  await writeFile(path.join(bin, 'node'), `#!/bin/sh\nexec ${process.execPath} -e "${program}"\n`);
  await chmod(path.join(bin, 'node'), 0o755);
  const { child, ended, output } = launch(['serve'], { isOld: true });
  await waitFor('the program to run', () => output().includes('ready'));
  child.kill('SIGTERM');
  expect(await ended).toBe(7);
});

test('downloads a Node.js from npm, completely or not at all', async () => {
  const made = path.join(folder, 'made');
  await mkdir(path.join(made, 'bin'), { recursive: true });
  await symlink(process.execPath, path.join(made, 'bin/node'));
  const npm = await fakeNpm(
    `for last; do :; done; /bin/mkdir -p "$3/node_modules"; /bin/cp -a ${made} "$3/node_modules/\${last%@*}"`,
  );
  const { ended, output } = launch(['help'], { isOld: true, npm });
  expect([await ended, output()]).toEqual([0, expect.stringContaining(`Downloading Node.js ${wanted} from npm, once`)]);
  expect(await readdir(path.join(folder, 'belfry'))).toEqual([`node-${wanted}`]);
});

test('explains what to do when npm is unavailable', async () => {
  const npm = await fakeNpm('echo "npm error network" >&2; exit 1');
  const { ended, output } = launch(['help'], { isOld: true, npm });
  expect(await ended).toBe(1);
  expect(output()).toMatch(/this is v[\d.]+\.\n.*\nThe download failed \(npm error network\)\. Install Node\.js 24: /);
  expect(await readdir(path.join(folder, 'belfry'))).toEqual([]);
});
