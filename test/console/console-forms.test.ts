/** Logic of the console's forms: columns of an imported file, and settings of a provider. */
import { describe, expect, test } from 'vitest';
import { slugFrom } from '../../console/src/components/slug.ts';
import {
  changedDestinations,
  isAdvanced,
  kindOf,
  type Schema,
  toSend,
  withoutEmpty,
} from '../../console/src/pages/channels/settings-schema.ts';
import { choicesFor, guessAll, looksLikeData } from '../../console/src/pages/lists/import-fields.ts';
import { permissionName } from '../../console/src/permissions.ts';
import { permissions } from '../../src/core/identity/permissions.ts';
import { providers } from '../../src/providers/index.ts';

test('a slug is derived from any name within its limit', () => {
  expect(slugFrom(' Café & Text messages! ')).toBe('cafe-text-messages');
  expect(slugFrom(`${'a'.repeat(99)} b`)).toBe('a'.repeat(99));
});

test('every permission is shown by name', () => {
  expect(permissionName('distributionlist:write')).toBe('Lists (write)');
  for (const permission of permissions) expect(permissionName(permission)).toMatch(/^[A-Z].* \([a-z]+\)$/);
});

describe('columns of an imported file', () => {
  test('are guessed from their names in several spellings', () => {
    const headers = ['E-Mail', 'Vorname', 'Last name', 'Lang', 'Mobile', 'custom.tier', 'address.slack', 'Shoe size'];
    expect(guessAll(headers, [])).toEqual([
      'email',
      'first_name',
      'last_name',
      'locale',
      'phone',
      'custom.tier',
      'address.slack',
      '',
    ]);
  });

  test('an unnamed column of email addresses is mapped to the email', () => {
    expect(guessAll(['Column 1', 'Column 2'], [['Ada', 'ada@acme.test']])).toEqual(['', 'email']);
  });

  test('no field is guessed for two columns', () => {
    expect(guessAll(['email', 'mail'], [])).toEqual(['email', '']);
  });

  test('any column can become a custom field with a normalized name', () => {
    const values = choicesFor('Postal Code (home)').flatMap(({ items }) => items.map(({ value }) => value));
    expect(values).toContain('custom.postal_code_home');
    expect(new Set(values).size).toBe(values.length);
  });

  test('a first row with an email address counts as data, not as a header', () => {
    expect(looksLikeData(['Ada', ' ada@acme.test'])).toBe(true);
    expect(looksLikeData(['First name', 'E-Mail'])).toBe(false);
  });
});

test('the form of a mail server starts with what is needed to send', () => {
  const settings = providers.smtp!.settings as Schema;
  const shown = Object.keys(settings.properties!).filter(name => !isAdvanced(name, settings));
  expect(shown).toEqual(['host', 'port', 'user', 'password', 'from']);
});

describe.each(Object.values(providers).map(({ name, settings }) => ({ name, settings: settings as Schema })))(
  'settings of $name',
  ({ settings }) => {
    const fields = Object.entries(settings.properties ?? {});

    test('each have a dedicated input', () => {
      expect(fields.filter(([, schema]) => kindOf(schema) === 'json')).toEqual([]);
    });

    test('show required fields without expanding the form', () => {
      expect((settings.required ?? []).filter(field => isAdvanced(field, settings))).toEqual([]);
    });

    test('mask every secret except multi-line ones', () => {
      const secrets = fields.filter(([, { secret }]) => secret);
      expect(secrets.filter(([, schema]) => !['secret', 'long'].includes(kindOf(schema)))).toEqual([]);
    });
  },
);

test('an empty field is not sent, so a stored secret is kept', () => {
  expect(
    withoutEmpty({ password: undefined, host: 'a', port: 0, headers: {}, tags: [], secure: false, user: '' }),
  ).toEqual({
    host: 'a',
    port: 0,
    secure: false,
  });
});

test('null is sent only to remove a stored secret', () => {
  expect(toSend({ password: null, host: 'a', port: null, note: undefined }, ['password', 'token'])).toEqual({
    password: null,
    host: 'a',
  });
  expect(toSend({ password: 'new', user: 'u' }, ['password'])).toEqual({ password: 'new', user: 'u' });
  expect(toSend({ password: null }, [])).toEqual({});
});

test('a form detects changed settings that decide where stored secrets are sent', () => {
  const settings = providers.smtp!.settings as Schema;
  const before = { host: 'a.test', from: 'a@acme.test' };
  expect(changedDestinations(settings, before, { ...before, from: 'b@acme.test', port: undefined })).toEqual([]);
  expect(changedDestinations(settings, before, { ...before, host: 'b.test', port: 25 })).toEqual(['Host', 'Port']);
});
