/** What the guides say to run, run. */
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Service } from '../src/app.ts';
import { settings } from '../src/config.ts';
import { permissions } from '../src/core/permissions.ts';
import { roles } from '../src/core/roles.ts';
import { createDemo } from '../src/services/demo.ts';
import { createTestDatabase, testService } from './support/database.ts';
import { openCollector } from './support/otlp.ts';
import { findPostgres, startPostgres } from './support/postgres.ts';
import { belfry, cleanEnv, root, waitFor } from './support/process.ts';
import { runSql, withDatabase } from './support/sql.ts';

const run = promisify(execFile);
const secret = 'a secret of at least 32 characters';

let service: Service;
let folder: string;
const guide = (name: string) => readFile(path.join(root, 'docs/guides', name), 'utf8');
const blocks = (text: string, language: string) =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, block]) => block!);

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'belfry-guides-'));
  service = await testService({});
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise(resolve => server.close(resolve));
  return port;
}

const commandEnv = (one: Service) => ({ DATABASE_URL: one.runtime.url, BELFRY_SECRET_KEY: secret });

async function apply(one: Service, text: string): Promise<void> {
  const file = path.join(folder, 'applied.yaml');
  await writeFile(file, text);
  const { code, stderr } = await belfry(['apply', file], commandEnv(one));
  expect([code, stderr]).toEqual([0, '']);
}

async function createKey(one: Service, ...permissions: string[]): Promise<string> {
  const granted = permissions.flatMap(name => ['--permission', name]);
  const args = ['key', 'create', '--org', 'acme', '--name', `k${Math.random()}`, ...granted];
  return (await belfry(args, commandEnv(one))).stdout.trim();
}

test('the first message, by curl, TypeScript and Python', { timeout: 180_000 }, async () => {
  const text = await guide('first-message.md');
  await apply(service, blocks(text, 'yaml')[0]!);
  const key = await createKey(service, 'event:trigger', 'occurrence:read');
  const [, schema] = blocks(text, 'yaml');
  const place = '                name: Order paid\n';
  await apply(
    service,
    blocks(text, 'yaml')[0]!.replace(place, `${place}${schema!.replaceAll(/^/gm, ' '.repeat(16)).trimEnd()}\n`),
  );
  const written = await belfry(['types', 'acme'], commandEnv(service));
  expect(written.stdout).toContain('"shop/web/order-paid": {\n      "order": string;');
  const env = cleanEnv({ BELFRY_URL: service.address, BELFRY_KEY: key });
  const inShell = blocks(text, 'sh').filter(block => block.startsWith('curl'));
  const byCurl = (await run('bash', ['-c', inShell[0]!], { env })).stdout;
  expect(JSON.parse(byCurl)).toEqual({ occurrence: expect.any(String) });

  const client = path.join(root, 'sdk/client/src/index.ts');
  const program = path.join(folder, 'first.ts');
  await writeFile(program, blocks(text, 'ts')[0]!.replace("'@belfry/client'", JSON.stringify(client)));
  const byClient = (await run(process.execPath, [program], { env })).stdout.trim();
  const hasPython = await run('python3', ['--version']).then(
    () => true,
    () => false,
  );
  const byPython = hasPython && (await run('python3', ['-c', blocks(text, 'python')[0]!], { env })).stdout.trim();

  for (const occurrence of [JSON.parse(byCurl).occurrence, byClient, byPython].filter(Boolean)) {
    await waitFor(`the outcome of ${occurrence}`, async () => {
      const answer = await fetch(`${service.address}/api/o/acme/occurrence/${occurrence}/`, {
        headers: { authorization: `Key ${key}` },
      });
      return ((await answer.json()) as { counts: { sent: number } }).counts.sent === 1;
    });
  }
  const last = JSON.parse((await run('bash', ['-c', inShell[1]!], { env })).stdout);
  expect(last).toHaveLength(1);
});

test('a trace: triggered within one, and found by its occurrence', { timeout: 180_000 }, async () => {
  const collector = await openCollector();
  const traced = await testService({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  try {
    const text = await guide('traces.md');
    await apply(traced, blocks(await guide('first-message.md'), 'yaml')[0]!);
    const key = await createKey(traced, 'event:trigger', 'occurrence:read');
    const env = cleanEnv({ BELFRY_URL: traced.address, BELFRY_KEY: key });
    const [trigger, look] = blocks(text, 'sh').filter(block => block.startsWith('curl')) as [string, string];
    const { occurrence } = JSON.parse((await run('bash', ['-c', trigger], { env })).stdout);
    const [, traceId] = /\/trace\/([\da-f]{32})`/.exec(text)!;
    const [tree] = /^accept .*?(?=^```)/ms.exec(text)!;
    // Without what this one has not.
    const names = [...tree.matchAll(/^[│├└─ ]*(\w+)/gm)].map(([, name]) => name!);
    const spans = await collector.trace(traceId!, ...names.filter(name => name !== 'step'));
    const told = new Set(spans.flatMap(span => Object.keys(span.attributes)));
    for (const name of told) expect(text).toContain(`\`${name}\``);
    const list = JSON.parse((await run('bash', ['-c', look], { env })).stdout);
    expect(list).toMatchObject([{ identifier: occurrence, trace_id: traceId }]);
    // Every variable that it names is one that there is.
    const variables = [...text.matchAll(/^\| `(OTEL_\w+)` \|/gm)].map(([, name]) => name);
    expect(variables).toEqual(Object.keys(settings).filter(name => name.startsWith('OTEL_')));
  } finally {
    await traced.stop();
    await collector.close();
  }
});

test('permissions: the keys and the account are created as told, and no permission is missing', {
  timeout: 180_000,
}, async () => {
  const text = await guide('permissions.md');
  await apply(service, blocks(await guide('first-message.md'), 'yaml')[0]!);
  const commands = blocks(text, 'sh').flatMap(block => block.trim().split('\n'));
  expect(commands).toHaveLength(6);
  const printed: string[] = [];
  for (const command of commands) {
    const { code, stdout, stderr } = await belfry(command.replace('npx belfry ', '').split(' '), commandEnv(service));
    expect([command, code, stderr]).toEqual([command, 0, expect.any(String)]);
    printed.push(stdout.trim());
  }
  const [shop, dashboard] = printed as [string, string];
  const statusOf = async (key: string, path: string, method = 'GET') => {
    const headers = { authorization: `Key ${key}` };
    return (await fetch(`${service.address}${path}`, { method, headers })).status;
  };
  expect(await statusOf(shop, '/api/o/acme/p/shop/a/web/e/order-paid/trigger/', 'POST')).not.toBe(403);
  expect(await statusOf(shop, '/api/o/acme/u/')).toBe(403);
  await waitFor('the key to be revoked', async () => (await statusOf(dashboard, '/api/o/acme/event/')) === 401);
  const named = new Set(
    [...text.slice(text.indexOf('## Every')).matchAll(/`([a-z]+:[a-z]+)`/g)].map(([, name]) => name),
  );
  expect([...named].sort()).toEqual([...permissions].sort());
  for (const role of roles) expect(text).toContain(`| \`${role}\``);
});

test('an escalation: applied, simulated, triggered, acknowledged and resolved', { timeout: 180_000 }, async () => {
  const text = await guide('escalation.md');
  await apply(service, blocks(text, 'yaml')[0]!);
  const key = await createKey(service, 'event:trigger', 'occurrence:read', 'occurrence:write');
  const env = cleanEnv({ BELFRY_URL: service.address, BELFRY_KEY: key });
  const [simulate, trigger, acknowledge, resolve] = blocks(text, 'sh') as [string, string, string, string];
  const [, args] = /^belfry (.*)\n$/.exec(simulate)!;
  const words = [...args!.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
  expect((await belfry(words, commandEnv(service))).stdout).toContain('page: 5 would be sent if nobody answers');
  const inShell = async (block: string) => JSON.parse((await run('bash', ['-c', block], { env })).stdout);
  const { occurrence } = await inShell(trigger);
  expect(await inShell(trigger)).toEqual({ occurrence });
  const read = async () => {
    const headers = { authorization: `Key ${key}` };
    const answer = await fetch(`${service.address}/api/o/acme/occurrence/${occurrence}/`, { headers });
    return (await answer.json()) as { outcome: string; triggers: number; counts: { sent: number } };
  };
  await waitFor('the first step', async () => (await read()).counts.sent === 1);
  expect(await read()).toMatchObject({ outcome: 'escalating', triggers: 2 });
  expect(await inShell(acknowledge)).toMatchObject({ changed: true });
  expect(await inShell(resolve)).toEqual({ occurrence });
  await waitFor('those who were told to hear of it', async () => (await read()).counts.sent === 2);
  expect(await read()).toMatchObject({ outcome: 'resolved' });
});

/** How the receivers of the guide are run; a text says why that cannot be here. */
const receivers: Record<string, (program: string) => Promise<{ file: string; args: string[] } | string>> = {
  ts: async program => {
    const file = path.join(folder, 'receiver.ts');
    await writeFile(
      file,
      program.replace(
        "'standardwebhooks'",
        JSON.stringify(path.join(root, 'node_modules/standardwebhooks/dist/index.js')),
      ),
    );
    return { file: process.execPath, args: [file] };
  },
  python: async program => {
    const python = path.join(folder, 'venv/bin/python');
    try {
      await run('python3', ['-m', 'venv', path.join(folder, 'venv')]);
      await run(python, ['-m', 'pip', 'install', '--quiet', 'standardwebhooks==1.1.0'], { timeout: 120_000 });
    } catch (error) {
      return `no Python with standardwebhooks here: ${String(error).slice(0, 200)}`;
    }
    return { file: python, args: ['-c', program] };
  },
};

test.for(Object.keys(receivers))(
  'webhooks: subscribed, tested and verified by a receiver in %s',
  { timeout: 300_000 },
  async (language, { skip }) => {
    const text = await guide('webhooks.md');
    const port = await freePort();
    const prepared = await receivers[language]!(blocks(text, language)[0]!.replaceAll('9000', String(port)));
    if (typeof prepared === 'string') return skip(prepared);
    await apply(service, 'organizations: [{ slug: acme, name: Acme }]');
    const key = await createKey(service, 'webhook:read', 'webhook:write');
    const env = cleanEnv({ BELFRY_URL: service.address, BELFRY_KEY: key });
    const [create, tryIt, list] = blocks(text, 'sh').map(block =>
      block.replaceAll('9000', String(port)).replaceAll('incidents', `incidents-${language}`),
    ) as [string, string, string];
    const inShell = async (block: string) => JSON.parse((await run('bash', ['-c', block], { env })).stdout);
    const { secret: signing } = await inShell(create);
    const receiver = spawn(prepared.file, prepared.args, { env: { ...env, WEBHOOK_SECRET: signing } });
    let said = '';
    receiver.stdout.setEncoding('utf8').on('data', (words: string) => (said += words));
    try {
      await waitFor('the receiver', () =>
        fetch(`http://127.0.0.1:${port}`).then(
          () => true,
          () => false,
        ),
      );
      const unsigned = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: '{}' });
      expect(unsigned.status).toBe(401);
      const { webhook_id } = await inShell(tryIt);
      await waitFor('the test to arrive', () => said.includes(`${webhook_id} webhook.test`));
      await waitFor('its outcome', async () => (await inShell(list))[0].status === 'sent');
    } finally {
      receiver.kill();
    }
  },
);

test('a transaction of an application notifies by its commit', { timeout: 180_000 }, async () => {
  const text = await guide('outbox.md');
  const application = await createTestDatabase('template1');
  const demo = await testService({ BELFRY_OUTBOX_URLS: `demo=${application.url}` });
  try {
    await createDemo(demo.runtime.deps);
    const [install] = blocks(text, 'sh') as [string];
    const words = install.trim().replace('npx belfry ', '').replaceAll('"', '').split(' ');
    const given: Record<string, string> = { $APP_DATABASE_URL: application.url, $APP_ROLE: 'pg_monitor' };
    const installed = await belfry(
      words.map(word => given[word] ?? word),
      {},
    );
    expect([installed.code, installed.stderr]).toEqual([0, '']);
    await runSql(application.url, 'create table orders (number text, amount integer)');
    const [notify, mend] = blocks(text, 'sql') as [string, string];
    await runSql(application.url, notify);
    await waitFor('the occurrence', async () => {
      const found = "select from occurrences where context ->> 'order' = 'A-1' and status = 'completed'";
      return (await runSql(demo.runtime.url, found)).length === 1;
    });
    await runSql(application.url, mend);
  } finally {
    await demo.stop();
    await application.drop();
  }
});

test('a backup is made, restored and resumed', { timeout: 180_000 }, async ({ skip }) => {
  const bin = findPostgres() ?? skip('there is no PostgreSQL in /usr/lib/postgresql: apt install postgresql');
  const server = await startPostgres(bin);
  try {
    for (const name of ['live', 'restored']) await runSql(server.url, `create database ${name}`);
    const [live, restored] = ['live', 'restored'].map(name => withDatabase(server.url, name)) as [string, string];
    expect(await belfry(['migrate'], { DATABASE_URL: live, BELFRY_SECRET_KEY: secret })).toMatchObject({ code: 0 });
    // `npx belfry` as it is here, without asking a registry.
    const program = `exec ${process.execPath} ${path.join(root, 'bin/belfry.js')} "$@"`;
    await writeFile(path.join(folder, 'npx'), `#!/bin/sh\nshift\n${program}\n`, { mode: 0o755 });
    const PATH = `${folder}:${process.env.PATH}`;
    const env = cleanEnv({ DATABASE_URL: live, RESTORED_URL: restored, BELFRY_SECRET_KEY: secret, PATH });
    const said: string[] = [];
    for (const block of blocks(await guide('backup.md'), 'sh').filter(text => text.includes('npx belfry'))) {
      said.push((await run('bash', ['-c', block], { env, cwd: folder })).stdout);
    }
    expect(said).toEqual([
      expect.stringContaining('Wrote belfry.dump'),
      expect.stringContaining('Sending is paused.'),
      'Sending is resumed, as the original.\n',
    ]);
  } finally {
    await server.stop();
  }
});

test('the inbox: a token, a message and the stream', { timeout: 180_000 }, async () => {
  const text = await guide('inbox.md');
  await apply(service, blocks(text, 'yaml')[0]!);
  const key = await createKey(service, 'event:trigger', 'token:write');
  const env = cleanEnv({ BELFRY_URL: service.address, BELFRY_KEY: key });
  const [, forToken, trigger, stream] = blocks(text, 'sh') as [string, string, string, string];
  expect(JSON.parse((await run('bash', ['-c', forToken], { env })).stdout)).toMatchObject({
    token: expect.stringMatching(/^bfr\./),
  });
  await run('bash', ['-c', trigger], { env });
  await waitFor(
    'the message on the stream',
    async () => {
      // curl ends with 28 when its time is over.
      const { stdout } = await run('bash', ['-c', `${stream.trim()} || true`], { env });
      return /event: message\nid: 1\ndata: \{.*"title":"Joe asks for 90 EUR"/.test(stdout);
    },
    60_000,
  );
});

test('people are copied from another service, and copied again without harm', { timeout: 180_000 }, async () => {
  const source = await testService({ BELFRY_ROLE: 'api' });
  try {
    const place = `
    projects:
      - slug: shop
        name: Shop`;
    const people = `
organizations:
  - slug: acme
    name: Acme
    users:
      - { email: jane@acme.test, first_name: Jane, addresses: [{ name: phone, value: "+15555550100" }] }
      - { email: joe@acme.test, last_name: Doe }${place}
        distribution_lists:
          - { name: Customers, members: [jane@acme.test, joe@acme.test] }
          - { name: Nobody, members: [] }`;
    await apply(source, people);
    await apply(service, `organizations:\n  - slug: acme\n    name: Acme${place}`);
    const readOnly = await createKey(source, 'user:read', 'organization:read', 'distributionlist:read');
    const target = await createKey(service, '*');
    await fetch(`${source.address}/api/o/acme/u/joe@acme.test/`, {
      method: 'PATCH',
      headers: { authorization: `Key ${await createKey(source, '*')}`, 'content-type': 'application/json' },
      body: JSON.stringify({ locked: true }),
    });
    const env = cleanEnv({
      SOURCE_URL: source.address,
      SOURCE_KEY: readOnly,
      TARGET_URL: service.address,
      TARGET_KEY: target,
    });
    const copy = () => run(process.execPath, [path.join(root, 'docs/examples/copy-people.mjs'), 'acme'], { env });
    for (const { stdout } of [await copy(), await copy()]) expect(stdout).toContain('shop: Customers, 2 members');

    const read = async (at: string) => {
      const answer = await fetch(`${service.address}/api/o/acme/${at}`, {
        headers: { authorization: `Key ${target}` },
      });
      return answer.json();
    };
    expect(await read('u/joe@acme.test/')).toMatchObject({ last_name: 'Doe', locked: true });
    expect(await read('u/jane@acme.test/address/')).toEqual([
      { name: 'email', value: 'jane@acme.test' },
      { name: 'phone', value: '+15555550100' },
    ]);
    const lists = (await read('p/shop/d/')) as { name: string; id: number }[];
    expect(lists.map(({ name }) => name)).toEqual(['Customers', 'Nobody']);
    expect(await read(`p/shop/d/${lists[0]!.id}/m/`)).toHaveLength(2);
  } finally {
    await source.stop();
  }
});
