/** The list of components is part of every release, and is checked for known vulnerabilities. */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { root } from '../support/process.ts';

/** npm takes seconds, and a busy machine makes them minutes. */
const timeoutMs = 300_000;

async function run(script: string, args: string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [path.join(root, 'scripts', script), ...args], {
    cwd: root,
    env: { ...process.env, ...env },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (output += text));
  const code = await new Promise<number | null>(resolve => child.on('close', resolve));
  return { code, output };
}

/** Where npm asks for vulnerabilities, for the length of a test; `asked` are the packages that it named. */
async function registry(answer: (path: string) => [status: number, body: unknown]) {
  const asked: Record<string, string[]> = {};
  const server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    if (bytes.length > 0 && request.url?.endsWith('/advisories/bulk')) {
      Object.assign(asked, JSON.parse(String(bytes[0] === 0x1f ? gunzipSync(bytes) : bytes)));
    }
    const [status, body] = answer(request.url ?? '');
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  return { asked, env: { npm_config_registry: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` } };
}

describe('the audit', () => {
  test('fails when a package that Belfry runs on has a known vulnerability, and names it', {
    timeout: timeoutMs,
  }, async () => {
    const advisory = {
      id: 1,
      url: 'https://advisories.example/1',
      title: 'Everything is lost',
      severity: 'high',
      vulnerable_versions: '>=0',
      cwe: [],
      cvss: { score: 9, vectorString: null },
    };
    const { dependencies } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
    const version = dependencies.fastify;
    const known = {
      name: 'fastify',
      'dist-tags': { latest: version },
      versions: { [version]: { name: 'fastify', version } },
    };
    const { asked, env } = await registry(at => [200, at === '/fastify' ? known : { fastify: [advisory] }]);
    const { code, output } = await run('audit.ts', [], env);
    expect(output).toMatch(/fastify.*high: Everything is lost/);
    expect(code).toBe(1);
    expect(Object.keys(asked)).toEqual(expect.arrayContaining(['fastify', 'pg']));
    expect(Object.keys(asked)).not.toContain('vitest');
  });

  test('passes when there is none', { tags: ['sweep'], timeout: timeoutMs }, async () => {
    const { env } = await registry(() => [200, {}]);
    expect(await run('audit.ts', [], env)).toEqual({
      code: 0,
      output: 'audited: no runtime package has a known vulnerability\n',
    });
  });

  test('passes if the registry cannot be reached, and says "not audited" in one line without any address', {
    tags: ['sweep'],
    timeout: timeoutMs,
  }, async () => {
    const { env } = await registry(() => [405, {}]);
    const refused = await run('audit.ts', [], env);
    expect(refused).toEqual({ code: 0, output: expect.stringMatching(/^not audited: .+\n$/) });
    expect(refused.output).not.toContain('127.0.0.1');
    const closed = createSocketServer().listen(0, '127.0.0.1');
    await new Promise(resolve => closed.once('listening', resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise(resolve => closed.close(resolve));
    const unreachable = await run('audit.ts', [], { npm_config_registry: `http://127.0.0.1:${port}/` });
    expect(unreachable).toEqual({ code: 0, output: expect.stringMatching(/^not audited: .+\n$/) });
  });
});

describe('CI', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'belfry-ci-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Runs .ci/run with programs that do nothing, except that the check ends with this result of the audit. */
  async function runCi(audit: string): Promise<string[]> {
    const check = audit && `[ "$2" != check ] || echo '${audit}' > "$AUDIT_RESULT"`;
    for (const [name, does] of [
      ['npm', check],
      ['npx', 'echo "npx $*"'],
    ] as const) {
      writeFileSync(path.join(folder, name), `#!/bin/sh\n${does}\n`, { mode: 0o755 });
    }
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
    const { stdout } = await promisify(execFile)(path.join(root, '.ci/run'), { env });
    return stdout.trimEnd().split('\n').slice(-2);
  }

  test.each([
    ['not audited: the registry has no audit service', 'not audited: the registry has no audit service'],
    ['audited: no runtime package has a known vulnerability', 'audited: no runtime package has a known vulnerability'],
    ['', 'not audited: the check ended before the package audit'],
  ])('ends with the result of the audit: %j', async (audit, said) => {
    expect(await runCi(audit)).toEqual([said, expect.stringContaining('.ci/report.mjs')]);
  });
});

describe('documents and messages', () => {
  const isText = (file: string) => /\.(md|ts|tsx|yaml|txt|service|conf|html|example)$|file(\.\w+)?$/i.test(file);
  const files = execFileSync(
    'git',
    ['ls-files', 'docs', 'deploy', 'src', 'console', 'sdk', 'bin', '*.md', '.env.example'],
    {
      cwd: root,
      encoding: 'utf8',
    },
  )
    .split('\n')
    // The checks run in a clone, and so do the tools of contributors.
    .filter(file => isText(file) && !file.startsWith('deploy/checks/'));
  /** In a clone with its packages installed, npx runs those. */
  const inClone = ['README.md', 'CONTRIBUTING.md'];
  /** Commands that run or install a package by a name, which a registry would be asked for. */
  const byName =
    /\b(npx|bunx|npm (exec|x)|(pnpm|yarn) dlx|(npm|pnpm|yarn|bun) (i|install|add)) +(-\S+ +)*(@?belfry\S*)/g;

  test('never let a registry choose what runs as Belfry', () => {
    expect(files.length).toBeGreaterThan(500);
    const found = files.flatMap(file =>
      [...readFileSync(path.join(root, file), 'utf8').matchAll(byName)].map(([text]) => `${file}: ${text}`),
    );
    expect(found.filter(each => !inClone.some(file => each.startsWith(`${file}: npx belfry`)))).toEqual([]);
  });
});

test('the bill of materials names every package, and marks those that only build and test', {
  tags: ['sweep'],
  timeout: timeoutMs,
}, async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'belfry-sbom-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'bill.json');
  const { code, output } = await run('sbom.ts', [file]);
  expect([code, output]).toEqual([0, `Wrote ${file}.\n`]);
  const bill = JSON.parse(readFileSync(file, 'utf8'));
  const { version, dependencies, devDependencies } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  expect(bill).toMatchObject({
    bomFormat: 'CycloneDX',
    metadata: { component: { name: 'belfry', version, type: 'application' } },
  });
  const marked = new Map<string, boolean>();
  for (const { 'bom-ref': ref, properties = [] } of bill.components) {
    const names = properties.map((one: { name: string }) => one.name);
    marked.set(ref, names.includes('cdx:npm:package:development'));
  }
  const isMarked = ([name, at]: [string, string]) => marked.get(`${name}@${at}`);
  for (const one of Object.entries<string>(dependencies)) expect(isMarked(one), one[0]).toBe(false);
  expect(isMarked(['vitest', devDependencies.vitest])).toBe(true);
});
