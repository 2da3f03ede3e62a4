/** The command line end to end: output and exit codes. Where a test says `belfry`, it starts the real program. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from '../../src/app.ts';
import { loadCommands } from '../../src/cli/commands.ts';
import { feedbackEvent } from '../../src/core/feedback/event.ts';
import { addressesOf } from '../../src/core/operations/database-url.ts';
import { applyConfiguration } from '../../src/services/configuration/declarative/declarative.ts';
import { getOrganization } from '../../src/services/configuration/organizations.ts';
import { storeFeedback } from '../../src/services/history/feedback/feedback.ts';
import { version } from '../../src/version.ts';
import { command } from '../support/command.ts';
import { createTestDatabase, silent, type TestDatabase, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { closedUrl } from '../support/http-peer.ts';
import { belfry, cleanEnv, type Finished, root } from '../support/process.ts';

const run = promisify(execFile);
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

const local = (...args: string[]) => command(args, env);
/** Runs against the server only, without the database and its secrets. */
const remote = (key: string, ...args: string[]) => command(args, { BELFRY_URL: service.address, BELFRY_KEY: key });

async function createKey(name: string, ...more: string[]): Promise<string> {
  const { stdout } = await local('key', 'create', '--org', 'acme', '--name', name, '--permission', '*', ...more);
  return stdout.trim();
}

/** Expects one line on standard error and nothing on standard output. */
function expectFailure({ code, stdout, stderr }: Finished, exitCode: number, message: RegExp): void {
  expect([code, stdout], stderr).toEqual([exitCode, '']);
  expect(stderr).toMatch(/^belfry: [^\n]+\n$/);
  expect(stderr).toMatch(message);
  expect(stderr).not.toMatch(/\n\s+at |node:internal/);
}

describe('help', () => {
  test('lists every command with a summary and an example, and shows a page for each', async () => {
    const [bare, asked, page, flag] = await Promise.all([
      belfry([], {}),
      command(['help'], {}),
      command(['help', 'simulate'], {}),
      command(['trigger', '--help'], {}),
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

  test('help shows each form of a command on one line, with all of its choices', async () => {
    const { stdout } = await command(['help', 'snooze'], {});
    expect(stdout).toContain(
      'Usage: belfry snooze ORG OCCURRENCE (--for DURATION | --until TIME [--timezone ZONE]) [--json]\n',
    );
    const silence = await command(['help', 'silence'], {});
    expect(silence.stdout).toMatch(
      /^Usage: belfry silence .* \[--json\]\n {7}belfry silence ORG --end ID \[--json\]$/m,
    );
  });

  test('--version prints only the version', async () => {
    expect(await command(['--version'], {})).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });
});

describe('a usage error', () => {
  test('is reported in one line with exit code 2 before anything is opened', async () => {
    const cases: [string[], RegExp][] = [
      [['frobnicate'], /unknown command frobnicate: see `belfry help`/],
      [['occurences'], /unknown command occurences \(did you mean occurrences\?\): see `belfry help`/],
      [['simulate', 'acme/shop/web'], /ORG\/PRJ\/APP\/EVT/],
      [['trigger', event, '--contxt', '{}'], /--contxt' \(did you mean --context\?\): see `belfry help trigger`/],
      [['trigger', event, '--context', '{order: 1}'], /--context must be a JSON object/],
      [['simulate', event, '--options', '[]'], /--options must be a JSON object/],
      [['key', 'create', '--org', 'acme', '--name', 'x'], /--permission is missing/],
      [['key', 'revoke', '--org', 'acme'], /name one key/],
      [['serve', '--role', 'boss'], /--role must be one of/],
    ];
    // There is no database to open.
    const nowhere = { DATABASE_URL: 'postgres://127.0.0.1:1/none', BELFRY_SECRET_KEY: secretKey };
    for (const [args, about] of cases) expectFailure(await command(args, nowhere), 2, about);
    const [args, about] = cases[3]!;
    expectFailure(await belfry(args, nowhere), 2, about);
  });
});

test('feedback list prints the events of an organization, with the database and with a server', {
  tags: ['sweep'],
}, async () => {
  const key = await createKey('feedback');
  const { deps } = service.runtime;
  const { id } = await getOrganization(deps, 'acme');
  const bounce = feedbackEvent({ type: 'bounced', permanent: true, recipient: 'ada@x.test', messageId: 'm-1' });
  await storeFeedback(deps, id, null, 'postmark', [bounce], Date.now());
  for (const run of [local, (...args: string[]) => remote(key, ...args)]) {
    const unmatched = await run('feedback', 'list', '--org', 'acme', '--unmatched');
    expect(unmatched.stdout).toMatch(/bounced permanently \(other\) +postmark +ada@x\.test +m-1/);
    const listed = await run('feedback', 'list', '--org', 'acme', '--type', 'bounced');
    expect([listed.code, listed.stdout]).toEqual([0, 'No events.\n']);
    expectFailure(await run('feedback', 'list', '--org', 'acme', '--type', 'lost'), 2, /--type must be one of/);
  }
});

test('suppressions adds, lists, removes, imports and exports entries, with the database and with a server', {
  tags: ['sweep'],
}, async () => {
  const key = await createKey('suppressions');
  const ways: [string, (...args: string[]) => Promise<Finished>, (file: string) => Promise<Finished>][] = [
    ['near', local, file => belfry(['suppressions', 'import', '--org', 'acme', '-'], env, file)],
    [
      'far',
      (...args) => remote(key, ...args),
      file =>
        belfry(
          ['suppressions', 'import', '--org', 'acme', '-'],
          { BELFRY_URL: service.address, BELFRY_KEY: key },
          file,
        ),
    ],
  ];
  for (const [name, run, upload] of ways) {
    const ask = (action: string, ...args: string[]) => run('suppressions', action, '--org', 'acme', ...args);
    const target = `ada@${name}.test`;
    const added = await ask('add', `Ada@${name}.test`, '--detail', 'by phone', '--expires', '90d');
    expect(added).toEqual({ code: 0, stdout: `Added ${target}.\n`, stderr: '' });
    expectFailure(await ask('add', target), 1, /already/);
    const listed = await ask('list', '--search', target);
    expect(listed.stdout).toMatch(new RegExp(`^ID +TYPE .*\\n\\d+ +email +${target} +manual +manual .* by phone\\n$`));
    expect((await upload(`target,reason\n'@${name}.test,bounced\n${target},\n`)).stdout).toBe(
      'Added 1, extended 1, left 0 unchanged.\n',
    );
    expect((await ask('export')).stdout).toContain(`\n'@${name}.test,email,bounced,,,import,`);
    expect(await ask('remove', target)).toEqual({ code: 0, stdout: `Removed ${target}.\n`, stderr: '' });
    expectFailure(await ask('remove', target), 2, /not on the suppression list/);
    const left = JSON.parse((await ask('list', '--reason', 'bounced', '--json')).stdout);
    expect(left[0]).toMatchObject({ target: `@${name}.test`, source: 'import' });
  }
  expectFailure(
    await local('suppressions', 'add', '--org', 'acme', 'x', '--type', 'pigeon'),
    2,
    /--type must be one of/,
  );
});

describe('key', () => {
  test('create prints only the key, which then works; list shows it; revoke ends it', async () => {
    const granted = ['--name', 'shop', '--permission', 'system:ping,key:read'];
    const created = await belfry(['key', 'create', '--org', 'acme', ...granted], env);
    expect(created).toMatchObject({ code: 0, stderr: '' });
    expect(created.stdout).toMatch(/^bf_\w+_\w+\n$/);
    const key = created.stdout.trim();
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
    expect(listed.stdout).toMatch(/^ID +NAME +SCOPE +STATE +LAST USED +PERMISSIONS\n/);
    expect(listed.stdout).toMatch(/ shop +acme +active .*system:ping key:read/);
    expect(listed.stdout).not.toContain(key.split('_')[2]);
    expect(JSON.parse(machine.stdout)).toContainEqual(expect.objectContaining({ name: 'shop', revoked_at: null }));
    expect(JSON.parse(far.stdout)).toContainEqual(expect.objectContaining({ name: 'shop' }));

    const revoked = await local('key', 'revoke', '--org', 'acme', 'shop');
    expect(revoked).toEqual({ code: 0, stdout: 'Revoked shop.\n', stderr: '' });
    await eventually(async () => expect(await ping()).toBe(401));
    expect((await local('key', 'list', '--org', 'acme')).stdout).toMatch(/ shop .* revoked /);
  });

  test('create accepts a scope, an expiry and a rate, and reports invalid ones', { tags: ['sweep'] }, async () => {
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
      createKey('twice').then(() => create('--name', 'twice')),
    ]);
    expect(JSON.parse(narrow.stdout)).toMatchObject({ name: 'narrow', key: expect.stringMatching(/^bf_/) });
    expectFailure(unknown, 1, /event:sing/);
    expectFailure(past, 2, /--expires must be in the future/);
    expectFailure(taken, 1, /twice/);
  });
});

describe('trigger and simulate', () => {
  test('do the same on the database and on a server', { tags: ['sweep'] }, async () => {
    const key = await createKey('sender');
    const { stdout } = await local(
      ...['key', 'create', '--org', 'acme', '--name', 'machine', '--permission', 'event:trigger'],
    );
    const blind = await remote(stdout.trim(), 'simulate', event, '--context', context);
    expect(blind.stdout, blind.stderr).toBe(
      'receipt: 1 would be sent\n\nTo see recipients and messages, use a key with the permission user:read.\n',
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
    const stored = ((await answer.json()) as { identifier: string }[]).map(one => one.identifier).sort();
    const triggered = [here.stdout.trim(), there.stdout.trim(), JSON.parse(json.stdout).occurrence].sort();
    expect(stored, 'simulating stores nothing').toEqual(triggered);
  });

  test('attach files on the database and on a server', { tags: ['sweep'] }, async () => {
    const key = await createKey('attacher');
    const file = path.join(await mkdtemp(path.join(tmpdir(), 'belfry-attach-')), 'note.json');
    await writeFile(file, '{"a": "b"}');
    const answers = [
      await local('trigger', event, '--context', context, '--attach', file),
      await remote(key, 'trigger', event, '--context', context, '--attach', file),
    ];
    for (const { stdout, stderr } of answers) {
      const answer = await fetch(`${service.address}/api/o/acme/occurrence/${stdout.trim()}/attachments/`, {
        headers: { authorization: `Key ${key}` },
      });
      expect(await answer.json(), stderr).toMatchObject([
        { name: 'note.json', content_type: 'application/json', bytes: 10 },
      ]);
    }
    await rm(path.dirname(file), { recursive: true });
    expectFailure(await local('trigger', event, '--attach', file), 2, /--attach: cannot read .*note.json \(ENOENT\)/);
  });
});

describe('an error', () => {
  test('is one line on standard error, with exit code 1', { tags: ['sweep'] }, async () => {
    const key = await createKey('weak', '--project', 'shop');
    const nowhere = await closedUrl();
    const cases: [Promise<Finished>, RegExp][] = [
      [local('trigger', 'umbrella/shop/web/order-paid'), /no organization umbrella$/m],
      [local('trigger', 'acem/shop/web/order-paid'), /no organization acem \(did you mean acme\?\)$/m],
      [local('trigger', 'acme/shop/web/order-payed'), /no event order-payed .* \(did you mean order-paid\?\)$/m],
      [local('simulate', 'acme/shop/web/nothing'), /no event nothing in acme\/shop\/web/],
      [local('trigger', 'acme/shop/web/order-lost'), /order-lost is not active/],
      [local('trigger', event, '--options', '{"chanels": []}'), /options\/chanels/],
      [local('key', 'revoke', '--org', 'acme', 'nobody'), /nobody/],
      [remote(key, 'trigger', 'acme/depot/web/order-paid'), /project "depot" not found/],
      [command(['trigger', event], { BELFRY_URL: nowhere, BELFRY_KEY: key }), /cannot reach http/],
      [
        command(['migrate'], { DATABASE_URL: 'postgres://127.0.0.1:1/none', BELFRY_SECRET_KEY: secretKey }),
        /database cannot be reached/,
      ],
    ];
    for (const [answer, about] of cases) expectFailure(await answer, 1, about);
    expectFailure(await command(['trigger', event], { BELFRY_URL: nowhere }), 2, /BELFRY_KEY/);
  });

  test('in the settings names each invalid setting', async () => {
    const { code, stdout, stderr } = await command(['doctor'], {
      DATABASE_URL: database.url,
      PORT: 'x',
      LOG_LEVEL: 'loud',
    });
    expect([code, stdout]).toEqual([1, '']);
    for (const name of ['PORT', 'LOG_LEVEL', 'BELFRY_SECRET_KEY']) expect(stderr).toContain(name);
  });
});

describe('migrate and doctor', () => {
  test('migrate an empty database and find no problems', async () => {
    const empty = await createTestDatabase('template1');
    const onEmpty = { DATABASE_URL: empty.url, BELFRY_SECRET_KEY: secretKey };
    const first = await belfry(['migrate'], onEmpty);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toMatch(/^The schema is up to date at \d{4}_\w+\.\n$/);
    const [again, json, here, machine] = await Promise.all([
      command(['migrate'], onEmpty),
      command(['migrate', '--json'], onEmpty),
      command(['doctor'], onEmpty),
      command(['doctor', '--json'], onEmpty),
    ]);
    expect(again).toEqual(first);
    expect(JSON.parse(json.stdout).applied).toContain('0001_initial');
    expect(here).toMatchObject({ code: 0, stderr: '' });
    expect(here.stdout).toMatch(/^ok +database +PostgreSQL \d/m);
    expect(here.stdout).toMatch(/\nAll checks passed\.\n$/);
    expect(JSON.parse(machine.stdout)).toMatchObject({ healthy: true });
    await empty.drop();
  });

  test('doctor also checks a server, and reports failures with exit code 1', { tags: ['sweep'] }, async () => {
    const key = await createKey('doctor');
    const nowhere = await closedUrl();
    const [far, wrongKey, gone, away] = await Promise.all([
      remote(key, 'doctor'),
      remote('bf_wrong', 'doctor'),
      command(['doctor'], { BELFRY_URL: nowhere, BELFRY_KEY: key }),
      command(['doctor'], { DATABASE_URL: 'postgres://127.0.0.1:1/none', BELFRY_SECRET_KEY: secretKey }),
    ]);
    expect(far.code, far.stdout).toBe(0);
    expect(far.stdout).toMatch(/^ok +key +valid, named doctor/m);
    expect([wrongKey.code, gone.code, away.code]).toEqual([1, 1, 1]);
    expect(wrongKey.stdout).toMatch(/^FAIL +key/m);
    expect(gone.stdout).toMatch(/^FAIL +server +cannot reach/m);
    expect(away.stdout).toMatch(/^FAIL +database/m);
  });

  test('doctor says nothing about the clock of a server that sends no Date', async () => {
    const server = createServer((request, response) => {
      response.sendDate = request.url!.includes('dated');
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ checks: [], token: 'doctor' }));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      const [without, dated] = await Promise.all(
        ['', '/dated'].map(at => command(['doctor'], { BELFRY_URL: address + at, BELFRY_KEY: 'bf_x' })),
      );
      expect(without!.code, without!.stdout).toBe(0);
      expect(without!.stdout).not.toContain('clock');
      expect(dated!.stdout).toMatch(/^ok +clock +\d s off/m);
    } finally {
      server.close();
    }
  });
});

describe('outcomes', () => {
  test('are listed and explained the same on the database and over the API', { tags: ['sweep'] }, async () => {
    const key = await createKey('outcomes');
    const [headers, body] = [
      { authorization: `Key ${key}`, 'content-type': 'application/json' },
      `{"context":${context}}`,
    ];
    const path = '/api/o/acme/p/shop/a/web/e/order-paid/trigger/';
    expect((await fetch(service.address + path, { method: 'POST', headers, body })).status).toBe(201);
    const occurrence = (await local('trigger', event, '--context', context)).stdout.trim();
    const list = ['occurrences', 'acme', '--event', 'order-paid', '--outcome', 'sent', '--json'];
    await eventually(async () => {
      const listed = JSON.parse((await local(...list)).stdout) as { identifier: string }[];
      expect(listed.map(({ identifier }) => identifier)).toContain(occurrence);
    }, 60_000);
    const table = ['occurrences', '--org', 'acme', '--limit', '1', '--since', '2026-01-01'];
    const why = ['why', 'acme', occurrence, 'jane@acme.test'];
    const [near, far, explained, remotely] = await Promise.all([
      local(...table),
      remote(key, ...table),
      local(...why),
      remote(key, 'why', '--org', 'acme', occurrence, 'jane@acme.test'),
    ]);
    expect(near).toEqual({
      code: 0,
      stderr: '',
      stdout: expect.stringContaining(`${occurrence}  shop/web/order-paid  Sent   The message was sent.\n`),
    });
    expect(far).toEqual(near);
    expect(near.stdout).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d (UTC|[+-]\d\d:\d\d) /m);
    expect(near.stdout).toMatch(/^1 shown, there are more: add --all, or --limit N\.$/m);
    expect(explained).toEqual({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/^receipt by mail: .+\nOccurrence: The message was sent\.\n$/),
    });
    expect(remotely).toEqual(explained);
  });

  test('are refused for wrong arguments', async () => {
    const cases: [string[], RegExp][] = [
      [['occurrences'], /name one organization/],
      [['occurrences', 'acme', '--limit', '0'], /--limit must be a number from 1 to 500/],
      [['occurrences', 'acme', '--outcome', 'lost'], /--outcome must be one of scheduled/],
      [['occurrences', 'acme', '--since', 'soon'], /--since must be a time/],
      [['occurrences', 'acme', '--since', '2026-02-30'], /--since must be a time/],
      [
        ['key', 'create', '--org', 'acme', '--name', 'k', '--permission', '*', '--expires', '2030-02-30T08:00:00Z'],
        /--expires/,
      ],
      [['why', 'acme', 'x', 'jane@acme.test'], /OCCURRENCE must be an identifier/],
      [['why', 'acme'], /name organization, occurrence and user/],
      [['completion', 'tcsh'], /choose bash, zsh or fish/],
    ];
    await Promise.all(cases.map(async ([args, message]) => expectFailure(await local(...args), 2, message)));
  });
});

test('the completion of bash offers commands, verbs and options', async () => {
  const { stdout } = await command(['completion', 'bash'], {});
  const complete = async (...words: string[]) => {
    const line = `COMP_WORDS=(belfry ${words.map(word => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _belfry`;
    return (await run('bash', ['-c', `${stdout}\n${line}; echo "\${COMPREPLY[*]}"`])).stdout.trim();
  };
  expect(await complete('sim')).toBe('simulate');
  expect(await complete('key', 'cr')).toBe('create');
  expect(await complete('key', '--ex')).toBe('--expires');
  expect(await complete('trigger', '--lo')).toBe('--local');
});

test('the completions of zsh and fish are valid in their shells', { tags: ['sweep'] }, async () => {
  const [bash, zsh, fish] = await Promise.all(
    ['bash', 'zsh', 'fish'].map(async shell => (await command(['completion', shell], {})).stdout),
  );
  expect(zsh).toBe(`autoload -U +X compinit bashcompinit && compinit && bashcompinit\n${bash}`);
  const quoted = /'(?:[^'\\]|\\.)*'/.source;
  const line = new RegExp(`^complete -c belfry -n (\\w+|${quoted})( -f)?( -a [a-z-]+| -l [a-z-]+)( -d ${quoted})?$`);
  for (const each of fish!.trim().split('\n')) expect(each).toMatch(line);
  for (const [shell, script] of [['zsh', zsh!] as const, ['fish', fish!] as const]) {
    const isInstalled = await run(shell, ['--version']).then(
      () => true,
      () => false,
    );
    // Checks the syntax without running it.
    if (isInstalled) await run(shell, ['-n', '-c', script]);
  }
  expect(fish).toContain("complete -c belfry -n '__fish_seen_subcommand_from key' -l expires\n");
  expect(fish).toContain("complete -c belfry -n '__fish_seen_subcommand_from key' -a create\n");
});

describe('the target of a command', () => {
  test('is the server of BELFRY_URL, and with --local the database', async () => {
    const nowhere = { ...env, BELFRY_URL: await closedUrl(), BELFRY_KEY: 'bf_any' };
    const [far, near] = await Promise.all([
      command(['trigger', event], nowhere),
      command(['trigger', '--local', event], nowhere),
    ]);
    expectFailure(far, 1, /cannot reach http/);
    expect(near).toEqual({ code: 0, stdout: expect.stringMatching(/^[\da-f-]{36}\n$/), stderr: '' });
  });

  test.skipIf(process.platform !== 'linux')(
    'is named on standard error if that is a terminal',
    { tags: ['sweep'] },
    async () => {
      const program = path.join(root, 'bin/belfry.js');
      const inTerminal = async (options: string, more: Record<string, string>) => {
        const command = `${process.execPath} ${program} key list --org acme ${options}`;
        const { stdout } = await run('script', ['-qec', command, '/dev/null'], { env: cleanEnv({ ...env, ...more }) });
        return stdout.split('\r\n').filter(line => line.startsWith('belfry: '));
      };
      const remoteEnv = { BELFRY_URL: service.address, BELFRY_KEY: await createKey('terminal') };
      const [address] = addressesOf(database.url);
      expect(await inTerminal('', remoteEnv)).toEqual([`belfry: ${service.address} (BELFRY_URL)`]);
      expect(await inTerminal('--local', remoteEnv)).toEqual([`belfry: database ${address} (DATABASE_URL)`]);
    },
  );
});

test.each([['account', 'list'], ['key', 'list', '--org', 'acme'], ['doctor'], ['export']])(
  '%s looks for a database in the data folder, reports that there is none, and creates none',
  async (...args) => {
    const folder = path.join(tmpdir(), `belfry-absent-${process.pid}-${args[0]}`);
    const { code, stdout, stderr } = await command(args, { BELFRY_DATA_DIR: folder });
    expect(code).toBe(1);
    expect(stdout + stderr).toContain(`there is no database in ${folder}`);
    expect(existsSync(folder)).toBe(false);
  },
);
