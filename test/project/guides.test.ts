/**
 * Follows each guide as a reader would, on a fresh service, and all of them on one service. See test/support/guides.ts.
 *
 * @module-tag sweep
 */
import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { settings } from '../../src/config.ts';
import { permissions } from '../../src/core/identity/permissions.ts';
import { roles } from '../../src/core/identity/roles.ts';
import { createDemo } from '../../src/services/operations/demo/demo.ts';
import { installAlertmanager } from '../support/alertmanager.ts';
import { createTestDatabase, testService } from '../support/database.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { followGuide, readBlocks } from '../support/guides.ts';
import { openCollector } from '../support/otlp.ts';
import { freePort } from '../support/postgres.ts';
import { belfry, cleanEnv, root } from '../support/process.ts';
import { installPython } from '../support/python.ts';
import { runSql } from '../support/sql.ts';
import { openZoneServer } from '../support/zone.ts';

const run = promisify(execFile);
const secret = 'a secret of at least 32 characters';

let service: Service;
let folder: string;
const guide = (name: string) => readFile(path.join(root, 'docs/guides', name), 'utf8');
const blocks = (text: string, language: string) =>
  readBlocks(text)
    .filter(block => block.language === language)
    .map(block => block.text);
/** The requests of a guide, without the commands before them. */
const curls = (text: string) => blocks(text, 'sh').flatMap(block => /^curl .*/ms.exec(block)?.[0] ?? []);

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'belfry-guides-'));
  service = await testService({});
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

const index = await guide('README.md');
const names = [...index.matchAll(/\]\((\w[\w-]*\.md)\)/g)].map(([, name]) => `docs/guides/${name}`);
const guides = ['README.md', ...names];
const hasCommands = (file: string) =>
  readBlocks(readFileSync(path.join(root, file), 'utf8')).some(
    ({ language, comment }) => language === 'sh' && !comment.startsWith('not run: '),
  );

/** What readers of a guide have installed besides Belfry. */
const programsFor: Record<string, () => Promise<{ bin: string } | { missing: string }>> = {
  'docs/guides/from-bitcaster.md': () => installPython('bitcaster-sdk==0.4'),
  'docs/guides/replace-opsgenie-api.md': () => installPython('opsgenie-sdk==2.1.5'),
  'docs/guides/alertmanager.md': installAlertmanager,
};

/** Says why a guide cannot be followed on this machine. */
async function findObstacle(file: string): Promise<string | undefined> {
  const found = await programsFor[file]?.();
  return found && 'missing' in found ? found.missing : undefined;
}

/** A service like that of `npm start`, and everything that readers have around it. */
async function openWorld() {
  const collector = await openCollector();
  const belfryService = await testService({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  const dns = await openZoneServer();
  // What a reader has before the guide on sending domains.
  dns.serve({
    'acme.example MX': '10 mail.acme.example',
    'mail.acme.example A': '81.2.69.142',
    '142.69.2.81.in-addr.arpa PTR': 'mail.acme.example',
  });
  await createDemo(belfryService.runtime.deps);
  const application = await createTestDatabase('template1');
  const port = String(await freePort());
  const replace: Record<string, string> = {
    '127.0.0.1:8000': new URL(belfryService.address).host,
    'http://127.0.0.1:4318': collector.url,
    'postgres://owner@127.0.0.1/shop': application.url,
    'APP_ROLE=shop': 'APP_ROLE=pg_monitor',
    '9000': port,
    '127.0.0.1:9093': `127.0.0.1:${await freePort()}`,
  };
  return {
    service: belfryService,
    follow: async (file: string) => {
      // The doctor cannot derive the address of a service that does not have the default port.
      const own = { ...commandEnv(belfryService), BASE_URL: belfryService.address, BELFRY_DNS_SERVERS: dns.address };
      // This one is about the embedded database in ./data, as `npm start` creates it.
      const service = file.endsWith('backup.md') ? 'npx belfry serve' : undefined;
      const env = service ? {} : own;
      const url = file.endsWith('outbox.md') ? application.url : belfryService.runtime.url;
      const programs = await programsFor[file]?.();
      const path = programs && 'bin' in programs ? [programs.bin] : [];
      const check = async () => outcomes[file]?.(belfryService);
      await followGuide(file, { env, replace, path, service, runSql: text => runSql(url, text), check });
    },
    close: async () => {
      await belfryService.stop();
      await application.drop();
      await collector.close();
      await dns.close();
    },
  };
}

/** What must have happened after a guide was followed. */
const outcomes: Record<string, (one: Service) => Promise<void>> = {
  'README.md': one =>
    eventually(async () => {
      const found = `select outcome from occurrences o join organizations g on g.id = o.organization_id
        where g.slug = 'acme' and o.context ->> 'order' = 'A-1'`;
      expect(await runSql(one.runtime.url, found)).toEqual([{ outcome: 'sent' }]);
    }, 60_000),
  'docs/guides/first-message.md': one =>
    eventually(async () => {
      const sent = "select distinct context ->> 'order' as name from occurrences where outcome = 'sent' order by 1";
      expect(await runSql(one.runtime.url, sent)).toEqual(['A-1', 'A-2', 'A-3', 'A-4'].map(name => ({ name })));
    }, 60_000),
  'docs/guides/escalation.md': one =>
    eventually(async () => {
      const found = 'select outcome from occurrences where dedup_key is not null';
      expect(await runSql(one.runtime.url, found)).toEqual([{ outcome: 'resolved' }]);
    }, 60_000),
  'docs/guides/alertmanager.md': one =>
    eventually(async () => {
      const found = `select o.outcome, o.acknowledged_at is not null as acknowledged, o.triggers from occurrences o
        join events e on e.organization_id = o.organization_id and e.id = o.event_id where e.slug = 'critical-alert'`;
      expect(await runSql(one.runtime.url, found)).toEqual([{ outcome: 'resolved', acknowledged: true, triggers: 1 }]);
    }, 60_000),
  'docs/guides/replace-opsgenie-api.md': one =>
    eventually(async () => {
      const found = `select e.slug, o.outcome from occurrences o
        join events e on e.organization_id = o.organization_id and e.id = o.event_id
        where e.slug in ('urgent-alert', 'minor-alert') order by 1`;
      const resolved = ['minor-alert', 'urgent-alert'].map(slug => ({ slug, outcome: 'resolved' }));
      expect(await runSql(one.runtime.url, found)).toEqual(resolved);
    }, 60_000),
  'docs/guides/outbox.md': one =>
    eventually(async () => {
      const found = "select from occurrences where context ->> 'order' = 'A-1' and status = 'completed'";
      expect((await runSql(one.runtime.url, found)).length).toBeGreaterThan(0);
    }, 60_000),
};

test.for(guides.filter(hasCommands))('%s works on a fresh service', { timeout: 600_000 }, async (file, { skip }) => {
  const obstacle = await findObstacle(file);
  if (obstacle) skip(obstacle);
  const world = await openWorld();
  try {
    await world.follow(file);
  } finally {
    await world.close();
  }
});

test('all guides work on one service, one after the other', { timeout: 1_200_000 }, async () => {
  const world = await openWorld();
  try {
    for (const file of guides) if (!(await findObstacle(file))) await world.follow(file);
  } finally {
    await world.close();
  }
});

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

test('a trigger inside a trace is found by its occurrence', async () => {
  const collector = await openCollector();
  const traced = await testService({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  try {
    const text = await guide('traces.md');
    const { key } = (await createDemo(traced.runtime.deps))!;
    const env = cleanEnv({ BELFRY_URL: traced.address, BELFRY_KEY: key });
    const [trigger, look] = curls(text) as [string, string];
    const { occurrence } = JSON.parse((await run('bash', ['-c', trigger], { env })).stdout);
    const [, traceId] = /\/trace\/([\da-f]{32})`/.exec(text)!;
    const [tree] = /^accept .*?(?=^```)/ms.exec(text)!;
    // Without what this one has not.
    const names = [...tree.matchAll(/^[│├└─ ]*(\w+)/gm)].map(([, name]) => name!);
    const spans = await collector.trace(traceId!, ...names.filter(name => name !== 'step'));
    const attributes = new Set(spans.flatMap(span => Object.keys(span.attributes)));
    for (const name of attributes) expect(text).toContain(`\`${name}\``);
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

test('the permissions guide names every permission and role', async () => {
  const text = await guide('permissions.md');
  const named = [...text.slice(text.indexOf('## Every')).matchAll(/`([a-z]+:[a-z]+)`/g)].map(([, name]) => name);
  expect([...new Set(named)].sort()).toEqual([...permissions].sort());
  for (const role of roles) expect(text).toContain(`| \`${role}\``);
});

/** How the receivers of the guide are run. */
const receivers: Record<string, (program: string) => Promise<{ file: string; args: string[] } | { missing: string }>> =
  {
    ts: async program => {
      const file = path.join(folder, 'receiver.ts');
      const library = JSON.stringify(path.join(root, 'node_modules/standardwebhooks/dist/index.js'));
      await writeFile(file, program.replace("'standardwebhooks'", library));
      return { file: process.execPath, args: [file] };
    },
    python: async program => {
      const installed = await installPython('standardwebhooks==1.1.0');
      return 'bin' in installed ? { file: path.join(installed.bin, 'python'), args: ['-c', program] } : installed;
    },
  };

test.for(Object.keys(receivers))(
  'the receiver in %s accepts signed requests only',
  { timeout: 300_000 },
  async (language, { skip }) => {
    const port = await freePort();
    const program = blocks(await guide('webhooks.md'), language)[0]!.replaceAll('9000', String(port));
    const prepared = await receivers[language]!(program);
    if ('missing' in prepared) return skip(prepared.missing);
    await apply(service, 'organizations: [{ slug: acme, name: Acme }]');
    const authorization = `Key ${await createKey(service, 'webhook:read', 'webhook:write')}`;
    const post = async (at: string, body: object) => {
      const headers = { authorization, 'content-type': 'application/json' };
      const url = `${service.address}/api/o/acme/webhooks/${at}`;
      const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
      return (await answer.json()) as Record<string, string>;
    };
    const types = ['delivery.failed'];
    const created = await post('', { slug: language, name: language, url: `http://127.0.0.1:${port}/`, types });
    const env = cleanEnv({ WEBHOOK_SECRET: created.secret! });
    const receiver = spawn(prepared.file, prepared.args, { env });
    let output = '';
    receiver.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    try {
      const unsigned = await eventually(
        () => fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: '{}' }),
        60_000,
      );
      expect(unsigned.status).toBe(401);
      const { webhook_id } = await post(`${language}/test/`, {});
      await waitFor('the test to arrive', () => output.includes(`${webhook_id} webhook.test`), 60_000);
    } finally {
      receiver.kill();
    }
  },
);

test('users are imported from another service, idempotently', async () => {
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
