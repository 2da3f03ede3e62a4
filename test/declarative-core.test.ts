import { describe, expect, test } from 'vitest';
import type { OrganizationDocument } from '../src/core/declarative.ts';
import { checkDocument } from '../src/core/declarative-check.ts';
import { diff, toChange } from '../src/core/declarative-diff.ts';
import { keepSecrets } from '../src/core/declarative-secrets.ts';
import { type OrganizationState, toState } from '../src/core/declarative-state.ts';
import { AppError, type FieldErrors } from '../src/core/errors.ts';
import { providers } from '../src/providers/index.ts';
import { checkEntry, readEntry } from '../src/providers/provider.ts';
import { exampleOrganization, hooksOf, webhookSecret } from './support/declarative.ts';

function mistakes(document: unknown): FieldErrors {
  try {
    checkDocument(document, (entry, medium) => checkEntry(providers, entry, medium));
    return {};
  } catch (error) {
    if (error instanceof AppError && error.code === 'file.invalid') return error.details.fields ?? {};
    throw error;
  }
}

function stateOf(document: OrganizationDocument): OrganizationState {
  return toState(document, entry => readEntry(providers, entry));
}

/** A path through the document to what is put there. */
async function mistakesWith(path: string, value: unknown): Promise<FieldErrors> {
  const document = { organizations: [await exampleOrganization()] };
  const keys = path.split('/');
  let node = document as unknown as Record<string, Record<string, unknown>>;
  for (const key of keys.slice(0, -1)) node = node[key] as typeof node;
  (node as Record<string, unknown>)[keys.at(-1)!] = value;
  return mistakes(document);
}

const channel = 'organizations/0/channels/0';
const project = 'organizations/0/projects/0';
const notification = `${project}/applications/0/events/0/notifications/0`;

describe('a document is refused, by the field that is wrong', () => {
  test.each<[what: string, path: string, value: unknown, field: string, message: RegExp]>([
    ['a mistyped field', 'organizations/0/chanels', [], 'organizations/0/chanels', /not a known field \(known: slug/],
    ['a mistyped field far down', `${notification}/body`, 'x', `${notification}/body`, /not a known field/],
    ['a missing name', `${project}/name`, undefined, `${project}/name`, /is required/],
    ['a blank name', `${project}/name`, '  ', `${project}/name`, /blank/],
    ['a name too long', `${project}/name`, 'x'.repeat(256), `${project}/name`, /longer than 255/],
    ['a slug with capitals', `${project}/slug`, 'Shop', `${project}/slug`, /lower-case/],
    ['a section without a value', `${project}/channels`, null, `${project}/channels`, /must be an array/],
    ['an unknown medium', `${channel}/type`, 'pigeon', `${channel}/type`, /must be one of email, sms/],
    [
      'an unknown provider',
      `${channel}/providers/0/use`,
      'smpt',
      `${channel}/providers/0/use`,
      /no provider "smpt".*smtp/,
    ],
    [
      'a provider of another medium',
      `${channel}/type`,
      'sms',
      `${channel}/providers/0/use`,
      /serves channels of type email/,
    ],
    [
      'an unknown field of a provider',
      `${channel}/providers/0/hots`,
      'x',
      `${channel}/providers/0/hots`,
      /not a known field/,
    ],
    [
      'a missing field of a provider',
      `${channel}/providers/0/host`,
      undefined,
      `${channel}/providers/0/host`,
      /required/,
    ],
    ['a port that is none', `${channel}/providers/0/port`, '25a', `${channel}/providers/0/port`, /whole number/],
    ['a sender that is none', `${channel}/providers/0/from`, 'Acme', `${channel}/providers/0/from`, /email address/],
    [
      'a sender with a line break',
      `${channel}/providers/0/from`,
      'A\r\nBcc: x <a@b.test>',
      `${channel}/providers/0/from`,
      /email/,
    ],
    [
      'a variable left over',
      `${channel}/providers/0/host`,
      '$'.concat('{env:X}'),
      `${channel}/providers/0/host`,
      /command line replaces/,
    ],
    ['a bad email', 'organizations/0/users/0/email', 'jane', 'organizations/0/users/0/email', /valid email/],
    [
      'a bad phone',
      'organizations/0/users/0/addresses/0/value',
      '12',
      'organizations/0/users/0/addresses/0/value',
      /phone number/,
    ],
    ['a NUL', 'organizations/0/users/0/first_name', 'a\0', 'organizations/0/users/0/first_name', /NUL/],
    ['half a surrogate pair', `${notification}/message/body`, '\ud800', `${notification}/message/body`, /surrogate/],
    ['a filter that does not parse', `${notification}/filter`, 'amount >', `${notification}/filter`, /JMESPath/],
    [
      'an expression that does not parse',
      `${notification}/recipients`,
      { users: 'a[' },
      `${notification}/recipients/users`,
      /JMESPath/,
    ],
    [
      'no recipients',
      `${notification}/recipients`,
      {},
      `${notification}/recipients`,
      /at least one of list, users, trigger/,
    ],
    [
      'an unknown list',
      `${notification}/recipients/list`,
      'Nobody',
      `${notification}/recipients/list`,
      /no distribution list "Nobody".*Customers/,
    ],
    [
      'an unknown channel',
      `${notification}/channels/1`,
      'hoks',
      `${notification}/channels/1`,
      /no channel.*"hoks".*mail, email, hooks/,
    ],
    ['a channel twice', `${notification}/channels/1`, 'mail', `${notification}/channels/1`, /twice/],
    [
      'an override of no channel',
      `${notification}/overrides/fax`,
      { body: 'x' },
      `${notification}/overrides/fax`,
      /no channel/,
    ],
    [
      'a member who is no user',
      `${project}/distribution_lists/0/members/0`,
      'joe@acme.test',
      `${project}/distribution_lists/0/members/0`,
      /not among the users/,
    ],
  ])('%s', async (_, path, value, field, message) => {
    const errors = await mistakesWith(path, value);
    expect(Object.keys(errors)).toContain(field);
    expect(errors[field]!.join()).toMatch(message);
  });

  test('whatever stands twice where it may stand once', async () => {
    const organization = await exampleOrganization();
    const shop = organization.projects![0]!;
    organization.channels!.push({ ...organization.channels![0]! });
    organization.users!.push({ email: 'JANE@acme.test' });
    shop.distribution_lists!.push({ name: 'customers' });
    shop.applications![0]!.events!.push({ slug: 'order-paid', name: 'Again' });
    const errors = mistakes({ organizations: [organization, { slug: 'acme', name: 'Again' }] });
    expect(Object.keys(errors).sort()).toEqual(
      [
        'organizations/0/channels/2/slug',
        `${project}/applications/0/events/1/slug`,
        `${project}/distribution_lists/1/name`,
        'organizations/0/users/1/email',
        'organizations/1/slug',
      ].sort(),
    );
  });

  test('all mistakes at once, of form and of meaning', async () => {
    const organization = await exampleOrganization();
    Object.assign(organization, { colour: 'red' });
    organization.users![0]!.email = 'nobody';
    organization.projects![0]!.applications![0]!.events![0]!.notifications![0]!.filter = '(';
    expect(Object.keys(mistakes({ organizations: [organization] }))).toEqual(
      expect.arrayContaining(['organizations/0/colour', 'organizations/0/users/0/email', `${notification}/filter`]),
    );
  });

  test.each([null, 3, 'x', [], {}, { organizations: null }, { organizations: [null, 3, []] }])(
    'when it is %j',
    value => {
      expect(Object.keys(mistakes(value))).not.toHaveLength(0);
    },
  );
});

describe('a document is taken', () => {
  test('as the documentation shows it', async () => {
    expect(mistakes({ organizations: [await exampleOrganization()] })).toEqual({});
  });

  test('with numbers and switches as text, which is all that a variable can hold', () => {
    const entry = { use: 'smtp', host: 'h', from: 'a@b.test', port: '25', secure: 'true', user: 'u', password: '123' };
    expect(checkEntry(providers, entry, 'email')).toEqual([]);
    expect(readEntry(providers, entry)).toEqual({
      use: 'smtp',
      settings: { host: 'h', from: 'a@b.test', port: 25, secure: true, user: 'u' },
      secrets: { password: '123' },
    });
  });

  test('when a name that it does not explain may be in a section that it leaves alone', async () => {
    const { channels: _, ...organization } = await exampleOrganization();
    delete organization.projects![0]!.distribution_lists;
    const { references } = checkDocument({ organizations: [organization] }, () => []);
    expect(references.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      'list Customers',
      'channel mail',
      'channel hooks',
      'channel hooks',
    ]);
  });
});

describe('the difference', () => {
  test('between a document and itself is nothing', async () => {
    const state = stateOf(await exampleOrganization());
    expect(diff(state, stateOf(await exampleOrganization()), { prune: true })).toEqual([]);
  });

  test('tells fields by name and what they were', async () => {
    const after = await exampleOrganization();
    after.channels![0]!.providers![0]!.port = 25;
    after.users![0]!.custom_fields = { tier: 'silver', since: 2020 };
    after.projects![0]!.applications![0]!.events![0]!.notifications![0]!.message.subject = 'Paid';
    const changes = diff(stateOf(await exampleOrganization()), stateOf(after), { prune: false }).map(toChange);
    expect(changes).toEqual([
      {
        action: 'update',
        noun: 'channel',
        path: 'acme/mail',
        fields: [{ field: 'providers.0.port', from: 2525, to: 25 }],
      },
      {
        action: 'update',
        noun: 'user',
        path: 'acme/jane@acme.test',
        fields: [
          { field: 'custom_fields.tier', from: 'gold', to: 'silver' },
          { field: 'custom_fields.since', from: null, to: 2020 },
        ],
      },
      {
        action: 'update',
        noun: 'notification',
        path: 'acme/shop/web/order-paid/receipt',
        fields: [{ field: 'message.subject', from: 'Order {{ order }} is paid', to: 'Paid' }],
      },
    ]);
  });

  test('of a secret shows that it differs, never what it is', async () => {
    const after = await exampleOrganization();
    hooksOf(after).providers![0]!.secret = `whsec_${'A'.repeat(32)}`;
    const steps = diff(stateOf(await exampleOrganization()), stateOf(after), { prune: false });
    expect(steps.map(toChange)).toEqual([
      {
        action: 'update',
        noun: 'channel',
        path: 'acme/hooks',
        fields: [{ field: 'providers.0.secret', from: '(secret)', to: '(secret)' }],
      },
    ]);
  });

  test('deletes only when told to, from the bottom up, and never in a section that is absent', async () => {
    const before = stateOf(await exampleOrganization());
    const { users: _, ...after } = await exampleOrganization();
    after.channels = [];
    after.projects![0]!.distribution_lists = [];
    after.projects![0]!.applications![0]!.events = [];
    const paths = (prune: boolean) =>
      diff(before, stateOf(after), { prune }).map(step => `${step.action} ${step.path}`);
    expect(paths(false)).toEqual([]);
    expect(paths(true)).toEqual([
      'delete acme/shop/web/order-paid',
      'delete acme/shop/Customers',
      'delete acme/hooks',
      'delete acme/mail',
    ]);
  });

  test('sees a null that has gone from free-form data', async () => {
    const before = await exampleOrganization();
    const after = await exampleOrganization();
    before.users![0]!.custom_fields = { gone: null };
    after.users![0]!.custom_fields = {};
    expect(diff(stateOf(before), stateOf(after), { prune: false })).toHaveLength(1);
  });
});

describe('a secret that a file leaves out', () => {
  const server = (host: string, secrets = {}) => ({ use: 'smtp', settings: { host }, secrets });

  test('stays with its server when the order changes', () => {
    const stored = [server('a', { password: 'of a' }), server('b', { password: 'of b' })];
    expect(keepSecrets([server('b'), server('a')], stored)).toEqual([stored[1], stored[0]]);
  });

  test('stays when other settings change, and goes when it is given anew', () => {
    const stored = [server('a', { password: 'old' })];
    expect(keepSecrets([server('b')], stored)[0]!.secrets).toEqual({ password: 'old' });
    expect(keepSecrets([server('b', { password: 'new' })], stored)[0]!.secrets).toEqual({ password: 'new' });
  });

  test('is never that of another provider', () => {
    const stored = [{ use: 'standard-webhooks', settings: {}, secrets: { secret: webhookSecret } }];
    expect(keepSecrets([server('a')], stored)[0]!.secrets).toEqual({});
  });
});
