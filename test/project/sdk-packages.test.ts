/**
 * The packages of sdk/, as a project installs them: packed, and used from ES modules and CommonJS under `strict`.
 *
 * @module-tag sweep
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readBlocks } from '../support/guides.ts';
import { root } from '../support/process.ts';

const run = promisify(execFile);
const sdks = ['client', 'inbox'];
let project: string;

beforeAll(async () => {
  project = await mkdtemp(path.join(tmpdir(), 'belfry-sdk-'));
  for (const sdk of sdks) {
    const cwd = path.join(root, 'sdk', sdk);
    await run('npm', ['pack', '--silent', '--pack-destination', project], { cwd });
    const target = path.join(project, 'node_modules/@belfry', sdk);
    await mkdir(target, { recursive: true });
    const tarball = path.join(project, `belfry-${sdk}-0.1.0.tgz`);
    await run('tar', ['--extract', '--gzip', '--strip-components=1', '--file', tarball], { cwd: target });
  }
});
afterAll(() => rm(project, { recursive: true, force: true }));

test.each(sdks)('@belfry/%s contains its license, and a README that says how to install it', async sdk => {
  const read = (file: string) => readFile(path.join(project, 'node_modules/@belfry', sdk, file), 'utf8');
  expect(await read('LICENSE')).toBe(await readFile(path.join(root, 'LICENSE'), 'utf8'));
  expect(await read('README.md')).toContain(`npm pack ./sdk/${sdk}\nnpm install ./belfry-${sdk}-0.1.0.tgz`);
});

/** Returns the compiler's errors; empty if it compiles. */
async function compile(files: Record<string, string>): Promise<string> {
  const compilerOptions = {
    target: 'es2022',
    module: 'nodenext',
    strict: true,
    noEmit: true,
    types: ['node'],
    typeRoots: [path.join(root, 'node_modules/@types')],
  };
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(project, name), text);
  await writeFile(path.join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: Object.keys(files) }));
  return run(process.execPath, [path.join(root, 'node_modules/typescript/bin/tsc'), '-p', project]).then(
    () => '',
    (error: { stdout: string }) => error.stdout,
  );
}

test('the examples of the client compile under strict, also in CommonJS', async () => {
  const readme = await readFile(path.join(root, 'sdk/client/README.md'), 'utf8');
  const examples = readBlocks(readme).filter(({ language, comment }) => language === 'ts' && comment === '');
  expect(examples).toHaveLength(2);
  const common = `import { Belfry, BelfryError, verifyWebhook, type WebhookEvent } from '@belfry/client';
export const belfry: Belfry = new Belfry({ url: 'http://x.test', key: 'k' });
export const isKnown = (error: unknown): boolean => error instanceof BelfryError && error.is('user.exists');
export const verify: (body: string) => Promise<WebhookEvent> = body => verifyWebhook(body, {}, 'whsec_');
`;
  const modules = Object.fromEntries(examples.map(({ text }, i) => [`example-${i}.mts`, text]));
  expect(await compile({ ...modules, 'common.cts': common })).toBe('');
});

test('the client is loaded by import and by require', async () => {
  const print = 'console.log(typeof Belfry, typeof verifyWebhook)';
  await writeFile(path.join(project, 'a.mjs'), `import { Belfry, verifyWebhook } from '@belfry/client';\n${print}`);
  await writeFile(
    path.join(project, 'b.cjs'),
    `const { Belfry, verifyWebhook } = require('@belfry/client');\n${print}`,
  );
  for (const file of ['a.mjs', 'b.cjs']) {
    // Without the support for ES modules in `require` that older versions lack.
    const args = ['--no-experimental-require-module', path.join(project, file)];
    expect((await run(process.execPath, args)).stdout).toBe('function function\n');
  }
});

test('the inbox loads and renders where there is no browser, and is a client component for React', async () => {
  for (const name of ['react', 'react-dom']) {
    await symlink(path.join(root, 'node_modules', name), path.join(project, 'node_modules', name));
  }
  const program = `import '@belfry/inbox';
    import { createElement } from 'react';
    import { renderToString } from 'react-dom/server';
    import { BelfryInbox, useInbox } from '@belfry/inbox/react';
    const user = { url: 'https://notify.test', organization: 'acme', username: 'jane' };
    const Count = () => createElement('b', {}, useInbox(user).unread);
    console.log(renderToString([createElement(BelfryInbox, { ...user, key: 1 }), createElement(Count, { key: 2 })]));`;
  await writeFile(path.join(project, 'server.mjs'), program);
  const element = '<belfry-inbox url="https://notify.test" organization="acme" username="jane"></belfry-inbox>';
  expect((await run(process.execPath, [path.join(project, 'server.mjs')])).stdout).toBe(`${element}<b>0</b>\n`);
  const component = await readFile(path.join(project, 'node_modules/@belfry/inbox/dist/react.js'), 'utf8');
  expect(component).toMatch(/^'use client';/);
});
