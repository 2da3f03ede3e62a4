/**
 * The README's commands, as a newcomer runs them, in a copy of the repository. What `npm ci` would leave there is taken
 * from here: CI ran it in its clean checkout to come this far.
 */
import { execFile, spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildConsole } from '../../scripts/console.ts';
import { waitFor } from '../support/eventually.ts';
import { cleanEnv, root } from '../support/process.ts';

const run = promisify(execFile);

let clone: string;
let blocks: string[];

beforeAll(async () => {
  clone = await mkdtemp(path.join(tmpdir(), 'belfry-clone-'));
  const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root });
  for (const file of stdout.split('\0').filter(Boolean)) {
    await mkdir(path.dirname(path.join(clone, file)), { recursive: true });
    await cp(path.join(root, file), path.join(clone, file), { preserveTimestamps: true });
  }
  await buildConsole();
  await cp(path.join(root, 'console/dist'), path.join(clone, 'console/dist'), {
    recursive: true,
    preserveTimestamps: true,
  });
  await symlink(path.join(root, 'node_modules'), path.join(clone, 'node_modules'));
  const readme = await readFile(path.join(clone, 'README.md'), 'utf8');
  blocks = [...readme.matchAll(/```sh\n(.*?)```/gs)].map(([, text]) => text!.trim());
});
afterAll(() => rm(clone, { recursive: true, force: true }));

test('a newcomer starts it, runs the printed command and gets an occurrence back', { tags: ['sweep'] }, async () => {
  const [start, configure] = blocks as [string, string];
  expect(start).toMatch(/^npm ci && /);
  const env = cleanEnv({ PORT: '0' });
  const server = spawn('bash', ['-c', start.replace('npm ci && ', '')], { cwd: clone, env, detached: true });
  let output = '';
  server.stdout.setEncoding('utf8').on('data', text => (output += text));
  server.stderr.setEncoding('utf8').on('data', text => (output += text));
  const ended = new Promise(resolve => server.on('close', resolve));
  try {
    const line = await waitFor(
      'the curl line',
      () => mustRun(server, output) ?? /^curl .*$/m.exec(output)?.[0],
      90_000,
    );
    const { stdout } = await run('bash', ['-c', line]);
    expect(JSON.parse(stdout)).toEqual({ occurrence: expect.any(String) });
    const doctor = await run('bash', ['-c', 'npx belfry doctor'], { cwd: clone, env });
    expect(doctor.stdout).toContain('All checks passed.');

    for (const command of configure.split('\n')) {
      const result = await run('bash', ['-c', command], { cwd: clone, env });
      expect(result.stdout, command).not.toBe('');
    }
  } finally {
    if (server.exitCode === null) process.kill(-server.pid!, 'SIGINT');
    await ended;
  }
  expect(output).toContain('"msg":"stopped"');
});

test('the command that the README names for testing is the one that CI runs', async () => {
  expect(blocks[2]).toBe('npm ci && npm test');
  const ci = await readFile(path.join(clone, '.ci/run'), 'utf8');
  expect(ci).toMatch(/^npm ci$/m);
  expect(ci).toMatch(/^run_tests test npm test --$/m);
  expect(ci).toMatch(/^run npm run check$/m);
});

test('installing it with the current Node.js prints no warning', { tags: ['sweep'] }, async () => {
  const folders = process.env.PATH!.split(path.delimiter).filter(folder => !folder.includes('node_modules'));
  const own = Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith('npm_'));
  const env = { ...Object.fromEntries(own), PATH: folders.join(path.delimiter) };
  const bare = await mkdtemp(path.join(tmpdir(), 'belfry-install-'));
  try {
    for (const file of ['package.json', 'package-lock.json', '.npmrc']) {
      await cp(path.join(clone, file), path.join(bare, file));
    }
    const { stdout, stderr } = await run('npm', ['ci', '--dry-run', '--ignore-scripts'], { cwd: bare, env });
    expect(stdout).toContain('add fastify ');
    expect(stderr).toBe('');
  } finally {
    await rm(bare, { recursive: true, force: true });
  }
});

/** Throws with all output if the server has exited early. */
function mustRun(server: { exitCode: number | null }, output: string): undefined {
  if (server.exitCode !== null) throw new Error(`it ended with ${server.exitCode}:\n${output}`);
}
