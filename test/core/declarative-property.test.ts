import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { toYaml } from '../../src/cli/export.ts';
import type {
  ApplicationEntry,
  ChannelEntry,
  Document,
  ListEntry,
  NotificationEntry,
  OrganizationDocument,
  ProjectEntry,
  UserEntry,
} from '../../src/core/configuration/document.ts';
import { AppError } from '../../src/core/errors.ts';
import { fold } from '../../src/core/text/text.ts';
import {
  applyConfiguration,
  exportConfiguration,
  planConfiguration,
} from '../../src/services/configuration/declarative/declarative.ts';
import { testDatabase } from '../support/database.ts';

let runtime: Awaited<ReturnType<typeof testDatabase>>;
beforeAll(async () => {
  runtime = await testDatabase();
});
afterAll(() => runtime.close());

const slug = fc.constantFrom('a', 'b', 'c-1', 'd_2');
/** Arbitrary text that can be stored. */
const text = fc
  .string({ unit: 'binary', maxLength: 12 })
  .map(value => value.replaceAll('\0', '').toWellFormed().normalize('NFC'));
const plainText = fc.oneof(
  text,
  fc.constantFrom(
    'x',
    'yes',
    '012',
    '1e3',
    '- a',
    '# b',
    'a: b',
    ' a ',
    'a\nb\n',
    '\ta',
    '~',
    "'",
    '{{ x }}',
    '\u2028',
  ),
);
const name = plainText.map(value => (/\S/.test(value) ? value : `${value}n`));
const data = fc.dictionary(
  fc.oneof(name, fc.constantFrom('__proto__', 'constructor', '')),
  fc
    .jsonValue({ maxDepth: 2, stringUnit: 'grapheme' })
    .map(value => JSON.parse(JSON.stringify(value).normalize('NFC'))),
  { maxKeys: 3 },
);

type Provider = NonNullable<ChannelEntry['providers']>[number];

const smtp = fc.record(
  {
    host: fc.constantFrom('one.test', 'two.test'),
    from: fc.constant('Acme <a@acme.test>'),
    port: fc.integer({ min: 1, max: 9 }),
  },
  { requiredKeys: ['host', 'from'] },
);
const secret = fc.constantFrom(`whsec_${'A'.repeat(32)}`, `whsec_${'B'.repeat(32)}`);
const providers: Record<'email' | 'webhook' | 'sms', fc.Arbitrary<Provider>> = {
  email: smtp.map(fields => ({ use: 'smtp', ...fields })),
  webhook: secret.map(value => ({ use: 'standard-webhooks', secret: value })),
  sms: fc.constant({ use: 'sandbox' }),
};

const channel: fc.Arbitrary<ChannelEntry> = fc.constantFrom('email', 'webhook', 'sms').chain(type =>
  fc.record(
    {
      slug,
      name,
      type: fc.constant(type),
      enabled: fc.boolean(),
      on_unknown: fc.constantFrom('resend', 'hold'),
      rate_per_second: fc.integer({ min: 1, max: 100_000 }),
      reputation_guard: fc.boolean(),
      max_bounce_percent: fc.integer({ min: 1, max: 100 }),
      max_complaint_percent: fc.integer({ min: 1, max: 10_000 }).map(n => n / 100),
      concurrency: fc.integer({ min: 1, max: 1_000 }),
      retry: fc.constantFrom('0s', '90m', '7d').map(duration => ({ for: duration })),
      providers: fc.array(providers[type], { maxLength: 3 }),
    },
    { requiredKeys: ['slug', 'name', 'type'] },
  ),
);
const channels = fc.uniqueArray(channel, { selector: entry => entry.slug, maxLength: 3 });

const email = fc.constantFrom('a@b.test', 'A.b@c.test', 'ünï@d.test', 'o/p@e.test');
const address = fc.oneof(
  fc.record({ name: fc.constantFrom('chat', 'Slack', 'x/y'), value: name }),
  fc.record({ name: fc.constantFrom('phone', 'sms2'), value: fc.constantFrom('+1 555-555-0100', '+15555550101') }),
  fc.record({ name: fc.constant('email'), value: email }),
);
const normal = (value: string) => value.replace(/[ -]/g, '');
const user = fc.record<UserEntry>(
  {
    email,
    first_name: plainText,
    last_name: plainText,
    locked: fc.boolean(),
    locale: fc.constantFrom('', 'en', 'pt-br', 'zh-hans-CN'),
    custom_fields: data,
    addresses: fc.uniqueArray(address, { selector: entry => entry.name + normal(entry.value), maxLength: 3 }),
  },
  { requiredKeys: ['email'] },
);

const listNames = ['All', 'Some / of them', 'ÄLL'];

const layout = fc.record({
  name: fc.constantFrom('default', 'Default', 'Plain / bare'),
  body: plainText.map(value => `${value}{{ content }}`),
});
const layouts = fc.uniqueArray(layout, { selector: entry => fold(entry.name), maxLength: 2 });
const texts = { subject: plainText, body: plainText };
const locales = fc.dictionary(fc.constantFrom('de', 'PT-br', 'pt'), fc.record(texts, { requiredKeys: [] }));

interface Names {
  channels: string[];
  lists: string[];
  layouts: string[];
}

function notification({ channels: names, lists, layouts }: Names): fc.Arbitrary<NotificationEntry> {
  const override = fc.record({ ...texts, locales }, { requiredKeys: [] });
  const message = fc.record(
    { ...texts, ...(layouts.length > 0 && { layout: fc.constantFrom(...layouts) }), strict: fc.boolean(), locales },
    { requiredKeys: ['body'] },
  );
  const recipients = fc.oneof(
    fc.constant({ trigger: true as const }),
    fc.constant({ users: "custom_fields.tier == 'gold'", trigger: true as const }),
    ...lists.map(list => fc.constant({ list })),
  );
  return fc.record(
    {
      name,
      active: fc.boolean(),
      recipients,
      channels: fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 3 }),
      filter: fc.constantFrom('amount > `0`', "length(a.b[?c == 'd']) > `0`"),
      environs: fc.uniqueArray(name, { minLength: 1, maxLength: 2 }),
      extra_context: data,
      priority: fc.constantFrom('urgent', 'normal', 'bulk'),
      message,
      overrides: fc.dictionary(fc.constantFrom(...names), override),
    },
    { requiredKeys: ['name', 'recipients', 'channels', 'message'] },
  );
}

function application(names: Names): fc.Arbitrary<ApplicationEntry> {
  const none = fc.constant<NotificationEntry[]>([]);
  const notifications = names.channels.length === 0 ? none : unique(notification(names), entry => entry.name);
  const event = fc.record({ slug, name, active: fc.boolean(), notifications }, { requiredKeys: ['slug', 'name'] });
  return fc.record({ slug, name, events: unique(event, entry => entry.slug) }, { requiredKeys: ['slug', 'name'] });
}

const organization: fc.Arbitrary<OrganizationDocument> = fc
  .record({
    own: channels,
    theirs: channels,
    ownLayouts: layouts,
    theirLayouts: layouts,
    users: unique(user, entry => fold(entry.email)),
    withUsers: fc.boolean(),
  })
  .chain(({ own, theirs, ownLayouts, theirLayouts, users, withUsers }) => {
    const emails = users.map(entry => entry.email);
    const names = [...new Set([...own, ...theirs].flatMap(entry => [entry.slug, entry.type]))];
    const list: fc.Arbitrary<ListEntry> = fc.record(
      { name: fc.constantFrom(...listNames), members: fc.subarray(emails) },
      { requiredKeys: ['name'] },
    );
    const project: fc.Arbitrary<ProjectEntry> = unique(list, entry => fold(entry.name)).chain(lists => {
      const applications = unique(
        application({
          channels: names,
          lists: lists.map(entry => entry.name),
          layouts: [...ownLayouts, ...theirLayouts].map(entry => entry.name),
        }),
        entry => entry.slug,
      );
      return fc.record({
        slug,
        name,
        channels: fc.constant(theirs),
        layouts: fc.constant(theirLayouts),
        distribution_lists: fc.constant(lists),
        applications,
      });
    });
    return fc
      .record(
        { name, retention_days: fc.integer({ min: 1, max: 3_650 }), projects: unique(project, entry => entry.slug) },
        { requiredKeys: ['name', 'projects'] },
      )
      .map(rest => ({ slug: 'replaced', ...rest, channels: own, layouts: ownLayouts, ...(withUsers && { users }) }));
  });

function unique<T>(items: fc.Arbitrary<T>, selector: (item: T) => string): fc.Arbitrary<T[]> {
  return fc.uniqueArray(items, { selector, maxLength: 2 });
}

let round = 0;

/** A document may be valid alone and still conflict with what the previous one created. */
function rethrowUnlessConflict(error: unknown): undefined {
  if (!(error instanceof AppError) || !/removes \w+ .*still uses|serves channels of type/s.test(error.message))
    throw error;
}

test('applying any document twice changes nothing the second time, and its export is equivalent', {
  tags: ['sweep'],
}, async () => {
  const { deps } = runtime;
  await fc.assert(
    fc.asyncProperty(organization, organization, fc.boolean(), async (first, second, prune) => {
      const slug = `random-${round++}`;
      let before = '';
      for (const document of [first, second]) {
        const documents = { organizations: [{ ...document, slug }] };
        const planned = await planConfiguration(deps, documents, { prune }).catch(rethrowUnlessConflict);
        if (!planned) {
          await expect(applyConfiguration(deps, documents, { prune })).rejects.toThrow();
          expect(toYaml(await exportConfiguration(deps, [slug]))).toBe(before);
          return;
        }
        expect(await applyConfiguration(deps, documents, { prune })).toEqual(planned);
        expect(await applyConfiguration(deps, documents, { prune })).toEqual([]);
        before = toYaml(await exportConfiguration(deps, [slug]));
        expect(before).not.toContain('whsec');
        expect(await planConfiguration(deps, parse(before) as Document, { prune: true })).toEqual([]);
      }
    }),
    // Making a counterexample smaller would take longer than the timeout.
    { numRuns: 30, endOnFailure: true },
  );
});

test('any text survives an export to YAML', { tags: ['sweep'] }, () => {
  const blanks = fc.array(
    fc.constantFrom('\n', '\r', '\t', ' ', 'a', '\u2028', '\u0085', '\ufeff', '\u00a0', '#', ':'),
  );
  fc.assert(
    fc.property(
      fc.oneof(
        plainText,
        blanks.map(parts => parts.join('')),
      ),
      content => {
        const document = {
          organizations: [
            { slug: 'a', name: content },
            { slug: content, name: 'b' },
          ],
        };
        expect(parse(toYaml(document))).toEqual(document);
      },
    ),
    { numRuns: 2_000 },
  );
});

test('a template of several lines is exported as a block', () => {
  const body = 'Hello {{ name }},\n\n  - indented\nbye.\n';
  expect(toYaml({ organizations: [{ slug: 'a', name: body }] })).toContain(
    'name: |\n      Hello {{ name }},\n\n        - indented\n      bye.',
  );
});
