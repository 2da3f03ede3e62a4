/** The command line as a user meets it: the real program, what it prints, where, and its exit code. */
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Service, startService } from '../src/app.ts';
import { loadCommands } from '../src/cli/commands.ts';
import { applyConfiguration } from '../src/services/declarative.ts';
import { version } from '../src/version.ts';
import { createTestDatabase, silent, type TestDatabase, testConfig } from './support/database.ts';
import { closedUrl } from './support/http-peer.ts';
import { belfry, type Finished } from './support/process.ts';

// Each command starts a program of its own, which takes about a second of a processor that is busy with other tests.
vi.setConfig({ testTimeout: 120_000 });

const secretKey = 'a secret of at least 32 characters';
const event = 'acme/shop/web/order-paid';
const context = '{"order": "A-1", "amount": 12}';
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\n$/;

let database: TestDatabase;
let service: Service;
let env: Record<string, string>;

beforeAll(async () => {
  database = await createTestDatabase();
  env = { DATABASE_URL: database.url, BELFRY_SECRET_KEY: secretKey };
  service = await startService(testConfig(database.url), silent);
  const notification = {
    name: 'receipt',
    recipients: { list: 'Customers' },
    channels: ['mail'],
    message: { subject: 'Order {{ order }}', body: 'Hello {{ user.first_name }}, we got {{ amount }}.' },
  };
  const events = [
    { slug: 'order-paid', name: 'Order paid', notifications: [notification] },
    { slug: 'order-lost', name: 'Order lost', active: false, notifications: [] },
  ];
  const project = {
    slug: 'shop',
    name: 'Shop',
    distribution_lists: [{ name: 'Customers', members: ['jane@acme.test'] }],
    applications: [{ slug: 'web', name: 'Web', events }],
  };
  const organization = {
    slug: 'acme',
    name: 'Acme',
    channels: [{ slug: 'mail', name: 'Mail', type: 'email', providers: [{ use: 'sandbox' }] }],
    users: [{ email: 'jane@acme.test', first_name: 'Jane' }],
    projects: [project],
  };
  await applyConfiguration(service.runtime.deps, { organizations: [organization] }, { prune: false });
});
afterAll(async () => {
  await service.stop();
  await database.drop();
});

const local = (...args: string[]) => belfry(args, env);
/** A server and nothing else: neither the database nor its secrets. */
const remote = (key: string, ...args: string[]) => belfry(args, { BELFRY_URL: service.address, BELFRY_KEY: key });

async function createdKey(name: string, ...more: string[]): Promise<string> {
  const { stdout } = await local('key', 'create', '--org', 'acme', '--name', name, '--permission', '*', ...more);
  return stdout.trim();
}

/** One line on standard error, nothing on standard output. */
function expectFailure({ code, stdout, stderr }: Finished, wanted: number, about: RegExp): void {
  expect([code, stdout], stderr).toEqual([wanted, '']);
  expect(stderr).toMatch(/^belfry: [^\n]+\n$/);
  expect(stderr).toMatch(about);
  expect(stderr).not.toMatch(/\n\s+at |node:internal/);
}

describe('help', () => {
  test('lists every command with a summary and an example, and each has its own page', async () => {
    const [bare, asked, page, flag] = await Promise.all([
      belfry([], {}),
      belfry(['help'], {}),
      belfry(['help', 'simulate'], {}),
      belfry(['trigger', '--help'], {}),
    ]);
    expect(asked).toMatchObject({ code: 0, stderr: '' });
    expect(bare).toEqual(asked);
    for (const { name, summary, examples } of await loadCommands()) {
      expect(asked.stdout).toContain(summary);
      expect(asked.stdout).toMatch(new RegExp(`^  ${name} `, 'm'));
      expect(asked.stdout).toContain(examples[0]);
    }
    expect(page.code).toBe(0);
    expect(page.stdout).toContain('Usage: belfry simulate ORG/PRJ/APP/EVT');
    expect(flag.stdout).toContain('Usage: belfry trigger ORG/PRJ/APP/EVT');
  });

  test('tells the version alone', async () => {
    expect(await belfry(['--version'], {})).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });
});

describe('wrong usage', () => {
  test('is told in one line, with exit code 2, before anything is opened', async () => {
    const cases: [string[], RegExp][] = [
      [['frobnicate'], /no command frobnicate: see `belfry help`/],
      [['simulate', 'acme/shop/web'], /ORG\/PRJ\/APP\/EVT/],
      [['trigger', event, '--contxt', '{}'], /--contxt.*belfry help trigger/],
      [['trigger', event, '--context', '{order: 1}'], /--context must be a JSON object/],
      [['simulate', event, '--options', '[]'], /--options must be a JSON object/],
      [['key', 'create', '--org', 'acme', '--name', 'x'], /--permission is missing/],
      [['key', 'revoke', '--org', 'acme'], /name one key/],
      [['serve', '--role', 'boss'], /--role must be one of/],
    ];
    // Nothing that could be opened is there.
    const answers = await Promise.all(
      cases.map(([args]) =>
        belfry(args, { DATABASE_URL: 'postgres://127.0.0.1:1/none', BELFRY_SECRET_KEY: secretKey }),
      ),
    );
    for (const [i, [, about]] of cases.entries()) expectFailure(answers[i]!, 2, about);
  });
});

describe('key', () => {
  test('create prints the key alone, which then opens the API; list shows it; revoke closes', async () => {
    const made = await local(
      'key',
      'create',
      '--org',
      'acme',
      '--name',
      'shop',
      '--permission',
      'system:ping,key:read',
    );
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toMatch(/^bf_\w+_\w+\n$/);
    const key = made.stdout.trim();
    const ping = () =>
      fetch(`${service.address}/api/system/ping/`, { headers: { authorization: `Key ${key}` } }).then(
        answer => answer.status,
      );
    expect(await ping()).toBe(200);

    const [listed, machine, far] = await Promise.all([
      local('key', 'list', '--org', 'acme'),
      local('key', 'list', '--org', 'acme', '--json'),
      remote(key, 'key', 'list', '--org', 'acme', '--json'),
    ]);
    expect(listed.stdout).toMatch(/^ID +NAME +REACHES +STATE +LAST USED +PERMISSIONS\n/);
    expect(listed.stdout).toMatch(/ shop +acme +active .*system:ping key:read/);
    expect(listed.stdout).not.toContain(key.split('_')[2]);
    expect(JSON.parse(machine.stdout)).toContainEqual(expect.objectContaining({ name: 'shop', revoked_at: null }));
    expect(JSON.parse(far.stdout)).toContainEqual(expect.objectContaining({ name: 'shop' }));

    const revoked = await local('key', 'revoke', '--org', 'acme', 'shop');
    expect(revoked).toEqual({ code: 0, stdout: 'Revoked shop.\n', stderr: '' });
    expect(await ping()).toBe(401);
    expect((await local('key', 'list', '--org', 'acme')).stdout).toMatch(/ shop .* revoked /);
  });

  test('create takes a place, an expiry and a rate; what is wrong with them is told', async () => {
    const create = (...args: string[]) => local('key', 'create', '--org', 'acme', '--permission', '*', ...args);
    const [narrow, unknown, past, taken] = await Promise.all([
      create(
        '--name',
        'narrow',
        '--project',
        'shop',
        '--application',
        'web',
        '--expires',
        '90d',
        '--rate',
        '5',
        '--json',
      ),
      local('key', 'create', '--org', 'acme', '--name', 'odd', '--permission', 'event:sing'),
      create('--name', 'late', '--expires', '2020-01-01T00:00:00Z'),
      createdKey('twice').then(() => create('--name', 'twice')),
    ]);
    expect(JSON.parse(narrow.stdout)).toMatchObject({ name: 'narrow', key: expect.stringMatching(/^bf_/) });
    expectFailure(unknown, 1, /event:sing/);
    expectFailure(past, 2, /--expires lies in the past/);
    expectFailure(taken, 1, /twice/);
  });
});

describe('trigger and simulate', () => {
  test('do the same here and on a server', async () => {
    const key = await createdKey('sender');
    const { stdout } = await local(
      ...['key', 'create', '--org', 'acme', '--name', 'machine', '--permission', 'event:trigger'],
    );
    const blind = await remote(stdout.trim(), 'simulate', event, '--context', context);
    expect(blind.stdout, blind.stderr).toBe(
      'receipt: 1 would be sent\n\nRecipients and messages are shown to a key with the permission user:read.\n',
    );
    const [here, there, json, simulated, far, machine] = await Promise.all([
      local('trigger', event, '--context', context),
      remote(key, 'trigger', event, '--context', context),
      remote(key, 'trigger', event, '--json', '--options', '{"priority": "urgent"}'),
      local('simulate', event, '--context', context),
      remote(key, 'simulate', event, '--context', context),
      remote(key, 'simulate', event, '--json'),
    ]);
    for (const answer of [here, there])
      expect(answer).toMatchObject({ code: 0, stdout: expect.stringMatching(uuid), stderr: '' });
    expect(JSON.parse(json.stdout)).toEqual({ occurrence: expect.any(String) });
    expect(simulated).toEqual({
      code: 0,
      stdout: `receipt: 1 would be sent

To jane@acme.test by mail, receipt:
  Subject: Order A-1
  Hello Jane, we got 12.
`,
      stderr: '',
    });
    expect(far).toEqual(simulated);
    expect(JSON.parse(machine.stdout)).toMatchObject({
      complete: true,
      notifications: [{ name: 'receipt', deliveries: 1 }],
    });
    const answer = await fetch(`${service.address}/api/o/acme/occurrence/`, {
      headers: { authorization: `Key ${key}` },
    });
    const known = ((await answer.json()) as { identifier: string }[]).map(one => one.identifier).sort();
    const triggered = [here.stdout.trim(), there.stdout.trim(), JSON.parse(json.stdout).occurrence].sort();
    expect(known, 'simulating stores nothing').toEqual(triggered);
  });
});

describe('an error', () => {
  test('is one clear line on standard error, with exit code 1', async () => {
    const key = await createdKey('weak', '--project', 'shop');
    const nowhere = await closedUrl();
    const cases: [Promise<Finished>, RegExp][] = [
      [local('trigger', 'umbrella/shop/web/order-paid'), /no organization umbrella/],
      [local('simulate', 'acme/shop/web/nothing'), /no event nothing in acme\/shop\/web/],
      [local('trigger', 'acme/shop/web/order-lost'), /order-lost is not active/],
      [local('trigger', event, '--options', '{"chanels": []}'), /options\/chanels/],
      [local('key', 'revoke', '--org', 'acme', 'nobody'), /nobody/],
      [remote(key, 'trigger', 'acme/depot/web/order-paid'), /no project "depot"/],
      [belfry(['trigger', event], { BELFRY_URL: nowhere, BELFRY_KEY: key }), /cannot reach http/],
      [
        belfry(['migrate'], { DATABASE_URL: 'postgres://127.0.0.1:1/none', BELFRY_SECRET_KEY: secretKey }),
        /database cannot be reached/,
      ],
    ];
    for (const [answer, about] of cases) expectFailure(await answer, 1, about);
    expectFailure(await belfry(['trigger', event], { BELFRY_URL: nowhere }), 2, /BELFRY_KEY/);
  });

  test('in the settings names each of them', async () => {
    const { code, stdout, stderr } = await belfry(['doctor'], {
      DATABASE_URL: database.url,
      PORT: 'x',
      LOG_LEVEL: 'loud',
    });
    expect([code, stdout]).toEqual([1, '']);
    for (const name of ['PORT', 'LOG_LEVEL', 'BELFRY_SECRET_KEY']) expect(stderr).toContain(name);
  });
});

describe('migrate and doctor', () => {
  test('bring an empty database up to date and find it in order', async () => {
    const empty = await createTestDatabase('template1');
    const onEmpty = { DATABASE_URL: empty.url, BELFRY_SECRET_KEY: secretKey };
    const first = await belfry(['migrate'], onEmpty);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toMatch(/^The schema is up to date at \d{4}_\w+\.\n$/);
    const [again, json, here, machine] = await Promise.all([
      belfry(['migrate'], onEmpty),
      belfry(['migrate', '--json'], onEmpty),
      belfry(['doctor'], onEmpty),
      belfry(['doctor', '--json'], onEmpty),
    ]);
    expect(again).toEqual(first);
    expect(JSON.parse(json.stdout).applied).toContain('0001_foundation');
    expect(here).toMatchObject({ code: 0, stderr: '' });
    expect(here.stdout).toMatch(/^ok +database +PostgreSQL \d/m);
    expect(here.stdout).toMatch(/\nAll is well\.\n$/);
    expect(JSON.parse(machine.stdout)).toMatchObject({ healthy: true });
    await empty.drop();
  });

  test('doctor asks a server as well, and says what is wrong with exit code 1', async () => {
    const key = await createdKey('doctor');
    const nowhere = await closedUrl();
    const [far, wrongKey, gone, away] = await Promise.all([
      remote(key, 'doctor'),
      remote('bf_wrong', 'doctor'),
      belfry(['doctor'], { BELFRY_URL: nowhere, BELFRY_KEY: key }),
      belfry(['doctor'], { DATABASE_URL: 'postgres://127.0.0.1:1/none', BELFRY_SECRET_KEY: secretKey }),
    ]);
    expect(far.code, far.stdout).toBe(0);
    expect(far.stdout).toMatch(/^ok +key +valid, named doctor/m);
    expect([wrongKey.code, gone.code, away.code]).toEqual([1, 1, 1]);
    expect(wrongKey.stdout).toMatch(/^FAIL +key/m);
    expect(gone.stdout).toMatch(/^FAIL +server +cannot reach/m);
    expect(away.stdout).toMatch(/^FAIL +database/m);
  });
});

test.each([['account', 'list'], ['key', 'list', '--org', 'acme'], ['doctor'], ['export']])(
  '%s looks for a database in the data folder, says where there is none, and makes none',
  async (...args) => {
    const folder = path.join(tmpdir(), `belfry-absent-${process.pid}-${args[0]}`);
    const { code, stdout, stderr } = await belfry(args, { BELFRY_DATA_DIR: folder });
    expect(code).toBe(1);
    expect(stdout + stderr).toContain(`there is no database in ${folder}`);
    expect(existsSync(folder)).toBe(false);
  },
);
