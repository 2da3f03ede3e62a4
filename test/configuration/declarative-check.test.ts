import { describe, expect, test } from 'vitest';
import { checkDocument } from '../../src/core/configuration/check.ts';
import { AppError, type FieldErrors } from '../../src/core/errors.ts';
import { providers } from '../../src/providers/index.ts';
import { checkEntry, readEntry } from '../../src/providers/provider.ts';
import { exampleOrganization } from '../support/declarative.ts';

/** Runs the check to its end. */
function check(...given: Parameters<typeof checkDocument>) {
  const work = checkDocument(...given);
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

function mistakes(document: unknown): FieldErrors {
  try {
    check(document, (entry, medium) => checkEntry(providers, entry, medium));
    return {};
  } catch (error) {
    if (error instanceof AppError && error.code === 'file.invalid') return error.details.fields ?? {};
    throw error;
  }
}

/** Maps paths in the document to the values to set. */
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

describe('a document is refused, with the invalid field, for', () => {
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
    [
      'a name of an address with a line break',
      'organizations/0/users/0/addresses/0/name',
      'phone\r\nx',
      'organizations/0/users/0/addresses/0/name',
      /a single line/,
    ],
    ['an invalid port', `${channel}/providers/0/port`, '25a', `${channel}/providers/0/port`, /whole number/],
    ['an invalid sender', `${channel}/providers/0/from`, 'Acme', `${channel}/providers/0/from`, /email address/],
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
      /replaced by the command line/,
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
      /at least one of list, users, schedule, offset, trigger/,
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
    ['a duplicated channel', `${notification}/channels/1`, 'mail', `${notification}/channels/1`, /twice/],
    [
      'an override of an unknown channel',
      `${notification}/overrides/fax`,
      { body: 'x' },
      `${notification}/overrides/fax`,
      /no channel/,
    ],
    [
      'an override in capitals, which matches no channel',
      `${notification}/overrides`,
      { Hooks: { body: 'x' } },
      `${notification}/overrides/Hooks`,
      /no channel with the slug or type "Hooks"/,
    ],
    [
      'a member who is not a user',
      `${project}/distribution_lists/0/members/0`,
      'joe@acme.test',
      `${project}/distribution_lists/0/members/0`,
      /not one of the users/,
    ],
    [
      'a template that does not parse',
      `${notification}/message/body`,
      'Hello\nto {{ user.name',
      `${notification}/message/body`,
      /^line 2, column 4: output "\{\{ user\.name" not closed/,
    ],
    [
      'an unknown template filter',
      `${notification}/message/subject`,
      '{{ a | shout }}',
      `${notification}/message/subject`,
      /^line 1, column 1: there is no filter "shout"/,
    ],
    [
      'an invalid template of an override',
      `${notification}/overrides/hooks/body`,
      'a\n\n{% if %}',
      `${notification}/overrides/hooks/body`,
      /^line 3, column 6: /,
    ],
    [
      'an invalid template of a language',
      `${notification}/message/locales`,
      { pt: { subject: '{% include "x" %}' } },
      `${notification}/message/locales/pt/subject`,
      /^line 1, column 1: there is no tag "include"/,
    ],
    [
      'an invalid template of a language of an override',
      `${notification}/overrides/hooks/locales`,
      { pt: { body: '{{' } },
      `${notification}/overrides/hooks/locales/pt/body`,
      /^line 1, column 1: /,
    ],
    [
      'an invalid language',
      `${notification}/message/locales`,
      { pt_BR: { body: 'x' } },
      `${notification}/message/locales/pt_BR`,
      /not a language such as en or pt-BR/,
    ],
    [
      'a duplicated language',
      `${notification}/message/locales`,
      { 'pt-BR': { body: 'x' }, 'pt-br': { body: 'y' } },
      `${notification}/message/locales/pt-br`,
      /the same language as pt-BR/,
    ],
    [
      'an unknown field of a language',
      `${notification}/message/locales`,
      { pt: { text: 'x' } },
      `${notification}/message/locales/pt/text`,
      /not a known field \(known: subject, body\)/,
    ],
    [
      'a user with an invalid language',
      'organizations/0/users/0/locale',
      'Portuguese (Brazil)',
      'organizations/0/users/0/locale',
      /not a language/,
    ],
    [
      'a layout that does not parse',
      'organizations/0/layouts',
      [{ name: 'default', body: '<p>\n{{ content }}{% endif %}' }],
      'organizations/0/layouts/0/body',
      /^line 2, column 14: /,
    ],
    [
      'a layout without {{ content }}',
      `${project}/layouts`,
      [{ name: 'default', body: '<p></p>' }],
      `${project}/layouts/0/body`,
      /must contain \{\{ content \}\}/,
    ],
    [
      'a limit of more than all messages',
      `${channel}/max_bounce_percent`,
      101,
      `${channel}/max_bounce_percent`,
      /<= 100/,
    ],
    [
      'a warm-up without a limit per day',
      `${channel}/providers/0/warm_up_start`,
      50,
      `${channel}/providers/0/per_day`,
      /is required together with warm_up_start/,
    ],
    [
      'a warm-up that starts above the limit per day',
      `${channel}/providers/0`,
      { use: 'smtp', host: 'mail.test', from: 'a@x.test', per_day: 10, warm_up_start: 50 },
      `${channel}/providers/0/warm_up_start`,
      /must not be more than per_day/,
    ],
    ['a limit per day of 0', `${channel}/providers/0/per_day`, 0, `${channel}/providers/0/per_day`, />= 1/],
    ['a rate of 0', `${channel}/rate_per_second`, 0, `${channel}/rate_per_second`, />= 1/],
    ['a concurrency that is not a number', `${channel}/concurrency`, 'x', `${channel}/concurrency`, /whole number/],
    ['retries without an end', `${channel}/retry`, { for: 'ever' }, `${channel}/retry/for`, /duration such as 30m/],
    ['retries for too long', `${channel}/retry`, { for: '8d' }, `${channel}/retry/for`, /must be at most 7d/],
    ['retries as text', `${channel}/retry`, '4h', `${channel}/retry`, /object/],
    ['an invalid on_unknown', `${channel}/on_unknown`, 'drop', `${channel}/on_unknown`, /resend, hold/],
    [
      'a retention of more than ten years',
      'organizations/0/retention_days',
      3_651,
      'organizations/0/retention_days',
      /<= 3650/,
    ],
  ])('%s', async (_, path, value, field, message) => {
    const errors = await mistakesWith(path, value);
    expect(Object.keys(errors)).toContain(field);
    expect(errors[field]!.join()).toMatch(message);
  });

  test('duplicates', async () => {
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

  test('a layout that is in neither the project nor the organization, if the file manages both', async () => {
    const organization = await exampleOrganization();
    const shop = organization.projects![0]!;
    const { message } = shop.applications![0]!.events![0]!.notifications![0]!;
    message.layout = 'Festive';
    organization.layouts = [{ name: 'plain', body: '{{ content }}' }];
    shop.layouts = [{ name: 'shop', body: '{{ content }}' }];
    expect(mistakes({ organizations: [organization] })).toEqual({
      [`${notification}/message/layout`]: ['there is no layout "Festive" (use one of shop, plain)'],
    });
    for (const name of ['PLAIN', 'shop']) {
      message.layout = name;
      expect(mistakes({ organizations: [organization] })).toEqual({});
    }
    shop.layouts.push({ name: 'Shop', body: '{{ content }}' });
    expect(Object.keys(mistakes({ organizations: [organization] }))).toEqual([`${project}/layouts/1/name`]);
  });

  test('every invalid template, even if there are schema errors elsewhere', async () => {
    const organization = await exampleOrganization();
    const entry = organization.projects![0]!.applications![0]!.events![0]!.notifications![0]!;
    Object.assign(entry, { message: { subject: '{{', colour: 'red' }, overrides: { hooks: { body: '{%' }, mail: 3 } });
    expect(Object.keys(mistakes({ organizations: [organization] })).sort()).toEqual(
      ['message/body', 'message/colour', 'message/subject', 'overrides/hooks/body', 'overrides/mail']
        .map(field => `${notification}/${field}`)
        .sort(),
    );
  });

  test('all mistakes at once, of the schema and beyond', async () => {
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

describe('a document is accepted', () => {
  test('as the documentation shows it', async () => {
    expect(mistakes({ organizations: [await exampleOrganization()] })).toEqual({});
  });

  test('with numbers and booleans as text, because variables are text', () => {
    const entry = { use: 'smtp', host: 'h', from: 'a@b.test', port: '25', secure: 'true', user: 'u', password: '123' };
    expect(checkEntry(providers, entry, 'email')).toEqual([]);
    expect(readEntry(providers, entry)).toEqual({
      use: 'smtp',
      settings: { host: 'h', from: 'a@b.test', port: 25, secure: true, user: 'u' },
      secrets: { password: '123' },
    });
  });

  test('if an undefined name may be in a section that it does not manage', async () => {
    const { channels: _, ...organization } = await exampleOrganization();
    delete organization.projects![0]!.distribution_lists;
    const { references } = check({ organizations: [organization] }, () => []);
    expect(references.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      'list Customers',
      'channel mail',
      'channel hooks',
      'channel hooks',
    ]);
  });
});
