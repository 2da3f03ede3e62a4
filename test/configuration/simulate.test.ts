/** Simulations over the API and with `belfry simulate`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Runtime } from '../../src/app.ts';
import { simulate } from '../../src/cli/simulate.ts';
import { loadConfig } from '../../src/config.ts';
import { applyConfiguration } from '../../src/services/configuration/declarative/declarative.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { ask } from '../support/api.ts';
import { testDatabase, testService } from '../support/database.ts';

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testDatabase();
});
afterAll(() => runtime.close());

const users = [
  { email: 'ann@x.test', first_name: 'Ann' },
  { email: 'ben@x.test', first_name: 'Ben', locked: true },
  { email: 'cid@x.test', first_name: 'Cid', addresses: [{ name: 'phone', value: '+15555550100' }] },
];
const mail = { slug: 'mail', name: 'Mail', type: 'email', providers: [{ use: 'sandbox' }] };
const message = { subject: 'Order {{ order }}', body: 'Hello {{ user.first_name }}\n\nYou owe {{ amount }}.' };

async function declare(
  slug: string,
  notifications: object[],
  people: object[] = users,
  { deps } = runtime,
): Promise<void> {
  const filled = notifications.map((one, i) => ({
    name: `n${i + 1}`,
    recipients: { list: 'All' },
    channels: ['mail'],
    message,
    ...one,
  }));
  const lists = [{ name: 'All', members: people.map(one => (one as { email: string }).email) }];
  const applications = [{ slug: 'web', name: 'Web', events: [{ slug: 'go', name: 'Go', notifications: filled }] }];
  const projects = [{ slug: 'shop', name: 'Shop', distribution_lists: lists, applications }];
  const document = { organizations: [{ slug, name: slug, channels: [mail], users: people, projects }] };
  await applyConfiguration(deps, document, { prune: false });
}

async function run(...args: string[]): Promise<string> {
  const lines: string[] = [];
  await simulate.run(args, {
    env: {},
    config: loadConfig({ DATABASE_URL: runtime.url, BELFRY_SECRET_KEY: 'a secret of at least 32 characters' }),
    print: text => void lines.push(text),
    warn: () => {},
    nameTarget: () => {},
    showProgress: () => {},
    interactive: false,
    withDeps: work => work(runtime.deps),
    withDatabase: async () => {
      throw new Error('not in this test');
    },
    loadFeedbackReaders: async () => ({}),
    serve: async () => {},
  });
  return lines.join('\n');
}

const context = (value: object) => ['--context', JSON.stringify(value)];

test('the API returns recipients and messages only with user:read, and counts to all callers', async () => {
  const service = await testService({ BELFRY_ROLE: 'api' });
  try {
    const { deps } = service.runtime;
    await declare('told', [{}], users, service.runtime);
    const at = new Date(Date.now() + 60_000).toISOString();
    const asked = { method: 'POST', path: '/api/o/told/p/shop/a/web/e/go/simulate/', body: { context: {}, at } };
    const simulateAs = async (permissions: string[]) => {
      const { key } = await createKey(deps, 'told', { name: permissions.join(), permissions });
      return ask(service.address, { ...asked, key });
    };
    const whole = await simulateAs(['event:trigger', 'user:read']);
    expect(whole.body, whole.text).toMatchObject({ recipients_shown: true, complete: true });
    expect(whole.body.notifications).toMatchObject([{ deliveries: 2, suppressed: { 'user.locked': 1 } }]);
    expect(whole.body.deliveries).toHaveLength(3);
    const counted = await simulateAs(['event:trigger']);
    expect(counted.body, counted.text).toEqual({ ...whole.body, recipients_shown: false, deliveries: [] });
  } finally {
    await service.stop();
  }
});

describe('simulate', () => {
  test('prints for each notification how many messages would be sent and why not, then the messages', async () => {
    await declare('full', [{ name: 'receipt' }, { name: 'alarm', filter: 'amount > `100`' }]);
    expect(await run('full/shop/web/go', ...context({ order: 'A-1', amount: 12 }))).toBe(`receipt: 2 would be sent
  1 would not: the user is locked (user.locked)
alarm: nothing would be sent: the notification's filter does not match the context (filter.no_match)

To ann@x.test by mail, receipt:
  Subject: Order A-1
  Hello Ann

  You owe 12.

To cid@x.test by mail, receipt:
  Subject: Order A-1
  Hello Cid

  You owe 12.`);
  });

  test('names missing variables', async () => {
    await declare('lacking', [{}]);
    expect(await run('lacking/shop/web/go', ...context({ order: 'A-1' }))).toMatch(
      /\n\nMissing in the context: amount$/,
    );
  });

  test('shows the first messages and counts the others', async () => {
    const many = Array.from({ length: 8 }, (_, i) => ({ email: `p${i}@x.test` }));
    await declare('many', [{}], many);
    const text = await run('many/shop/web/go', ...context({ order: 1, amount: 1 }));
    expect(text.match(/^To /gm)).toHaveLength(5);
    expect(text).toMatch(/^n1: 8 would be sent$/m);
    expect(text).toMatch(/\n\n… and 3 more\.$/);
  });

  test('accepts the options of a trigger', async () => {
    await declare('options', [{}]);
    const limited = await run('options/shop/web/go', '--options', '{"limit_to": ["cid@x.test"]}');
    expect(limited).toContain('n1: 1 would be sent');
    expect(limited).toContain('2 would not: the trigger was limited to other recipients (options.limit_to)');
    await expect(run('options/shop/web/go', '--options', '{"channels": ["pigeon"]}')).rejects.toThrow(/pigeon/);
  });

  test('prints why a message cannot be rendered', async () => {
    await declare('strict', [{ message: { ...message, strict: true } }]);
    const text = await run('strict/shop/web/go', ...context({ order: 1 }));
    expect(text).toMatch(/^ {2}cannot be rendered: .*amount/m);
  });

  test('escapes control characters in messages', async () => {
    await declare('hostile', [{}]);
    const text = await run('hostile/shop/web/go', ...context({ order: 1, amount: '\u001b[31mred\u0007' }));
    expect(text).not.toMatch(/[^\P{Cc}\n]/u);
  });

  test('reports an event without notifications', async () => {
    await declare('empty', []);
    expect(await run('empty/shop/web/go')).toBe('The event has no notifications: nothing would be sent.');
  });

  test('prints everything with --json, and stores nothing', async () => {
    await declare('machine', [{}]);
    const answer = JSON.parse(await run('machine/shop/web/go', '--json', ...context({ order: 1, amount: 1 })));
    expect(answer).toMatchObject({
      complete: true,
      notifications: [{ name: 'n1', deliveries: 2, suppressed: { 'user.locked': 1 }, reason: null }],
    });
    expect(answer.deliveries).toHaveLength(3);
    const { count } = await runtime.deps.db
      .selectFrom('occurrences')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    expect(count).toBe(0);
  });
});
