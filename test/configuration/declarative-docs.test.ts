/** The examples of docs/configuration.md are valid and cover every field. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { Document } from '../../src/core/configuration/document.ts';
import { testDatabase } from '../support/database.ts';
import { run, webhookSecret, writeTemporary } from '../support/declarative.ts';

const text = await readFile(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
const blocks = text.split(/^## /m).flatMap(part => {
  const title = part.split('\n')[0]!.replace('# ', '');
  return [...part.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, yaml], i) => ({
    title: `${title} ${i + 1}`,
    yaml: yaml!,
  }));
});

const env = {
  SMTP_PASSWORD: 'swordfish swordfish',
  HOOK_SECRET: webhookSecret,
  BUILDS_TOKEN: 't'.repeat(32),
  BUILDS_SECRET: 'ci:sesame',
  ZABBIX_TOKEN: 'z'.repeat(64),
  TICKETS_TOKEN: 'sesame',
  MONITOR_URL: 'https://monitor.test/ping/1',
  TWILIO_ACCOUNT_SID: `AC${'0'.repeat(32)}`,
  TWILIO_AUTH_TOKEN: '1'.repeat(32),
};

type Part = Record<string, unknown>;

/** Wraps a part of a file in the document that it needs. */
function complete(part: Part): Part {
  if (part.organizations) return part;
  const { channels, users, layouts, distribution_lists, schedules, applications, notifications, ...words } = part;
  const sandbox = (slug: string, type: string) => ({ slug, name: slug, type, providers: [{ use: 'sandbox' }] });
  const notification = {
    name: 'n',
    recipients: { trigger: true },
    channels: ['email'],
    message: { body: 'b' },
    ...words,
  };
  const event = { slug: 'e', name: 'E', notifications: notifications ?? [notification] };
  const project = {
    slug: 'shop',
    name: 'Shop',
    distribution_lists: distribution_lists ?? [{ name: 'Customers' }],
    ...(schedules ? { schedules } : {}),
    applications: applications ?? [{ slug: 'web', name: 'Web', events: [event] }],
  };
  const slack = {
    slug: 'team-slack',
    name: 'Team',
    type: 'slack',
    providers: [{ use: 'slack', token: 'xoxb-12345678' }],
  };
  const usual = [sandbox('mail', 'email'), sandbox('hooks', 'webhook'), sandbox('texts', 'sms'), slack];
  const own = { channels: channels ?? usual, layouts: layouts ?? [{ name: 'plain', body: '{{ content }}' }] };
  // Without the notification, which would name a channel that the example does not have.
  const projects = channels ? {} : { projects: [project] };
  return { organizations: [{ slug: 'acme', name: 'Acme', ...own, ...(users ? { users } : {}), ...projects }] };
}

let runtime: Awaited<ReturnType<typeof testDatabase>>;
beforeAll(async () => {
  runtime = await testDatabase();
});
afterAll(() => runtime.close());

describe('the example', () => {
  test('of every section exists', () => {
    expect(blocks.length).toBeGreaterThan(12);
  });

  test.each(blocks)(
    '$title is taken, and exported so that applying it again changes nothing',
    async ({ title, yaml }) => {
      const slug = title.toLowerCase().replace(/\W+/g, '-');
      const whole = stringify(complete(parse(yaml) as Part)).replace('slug: acme', `slug: ${slug}`);
      const file = await writeTemporary('docs.yaml', whole);
      const applied = await run(runtime.deps, ['apply', file], env);
      expect(applied.err).toBe('');
      expect(applied.out).toContain(`+ organization ${slug}\n`);
      const again = await writeTemporary('again.yaml', (await run(runtime.deps, ['export', slug])).out);
      expect(await run(runtime.deps, ['apply', again, '--prune'])).toEqual({ code: 0, err: '', out: 'No changes.\n' });
    },
  );
});

test('every field of the file is shown in an example', () => {
  const shown = new Set<string>();
  const gather = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if (!Array.isArray(value)) for (const key of Object.keys(value)) shown.add(key);
    for (const item of Object.values(value)) gather(item);
  };
  for (const { yaml } of blocks) gather(parse(yaml));

  const known = new Set<string>();
  const walk = (schema: object): void => {
    const { properties = {}, items, patternProperties = {} } = schema as Record<string, Record<string, object>>;
    for (const [name, inner] of Object.entries(properties)) {
      known.add(name);
      walk(inner);
    }
    for (const inner of Object.values(patternProperties)) walk(inner);
    if (items) walk(items);
  };
  walk(Document);
  expect(known.size).toBeGreaterThan(35);
  expect([...known].filter(name => !shown.has(name))).toEqual([]);
});
