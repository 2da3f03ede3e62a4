/** The console's forms, as far as they think: columns of a file, and settings of a provider. */
import { describe, expect, test } from 'vitest';
import {
  changedDestinations,
  isRare,
  kindOf,
  type Schema,
  toSend,
  withoutEmpty,
} from '../console/src/pages/channels/settings-schema.ts';
import { choicesFor, guessAll, looksLikeData } from '../console/src/pages/lists/import-fields.ts';
import { providers } from '../src/providers/index.ts';

describe('columns of an imported file', () => {
  test('are guessed by their names, in several spellings', () => {
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

  test('an unnamed column of email addresses is the email', () => {
    expect(guessAll(['Column 1', 'Column 2'], [['Ada', 'ada@acme.test']])).toEqual(['', 'email']);
  });

  test('no field is guessed twice: it could only be imported once', () => {
    expect(guessAll(['email', 'mail'], [])).toEqual(['email', '']);
  });

  test('any column can become a custom field with a plain name', () => {
    const values = choicesFor('Postal Code (home)').flatMap(({ items }) => items.map(({ value }) => value));
    expect(values).toContain('custom.postal_code_home');
    expect(new Set(values).size).toBe(values.length);
  });

  test('a first row with an address in it is people, not names of columns', () => {
    expect(looksLikeData(['Ada', ' ada@acme.test'])).toBe(true);
    expect(looksLikeData(['First name', 'E-Mail'])).toBe(false);
  });
});

describe.each(Object.values(providers).map(({ name, settings }) => ({ name, settings: settings as Schema })))(
  'settings of $name',
  ({ settings }) => {
    const fields = Object.entries(settings.properties ?? {});

    test('have a form of their own, every one of them', () => {
      expect(fields.filter(([, schema]) => kindOf(schema) === 'json')).toEqual([]);
    });

    test('show at once what is required', () => {
      expect((settings.required ?? []).filter(field => isRare(field, settings))).toEqual([]);
    });

    test('never show a secret in the clear, unless it is of several lines', () => {
      const secrets = fields.filter(([, { secret }]) => secret);
      expect(secrets.filter(([, schema]) => !['secret', 'long'].includes(kindOf(schema)))).toEqual([]);
    });
  },
);

test('a field that was left empty is not sent, so that a stored secret stays', () => {
  expect(
    withoutEmpty({ password: undefined, host: 'a', port: 0, headers: {}, tags: [], secure: false, user: '' }),
  ).toEqual({
    host: 'a',
    port: 0,
    secure: false,
  });
});

test('null is sent for a stored secret that is to be removed, and for nothing else', () => {
  expect(toSend({ password: null, host: 'a', port: null, note: undefined }, ['password', 'token'])).toEqual({
    password: null,
    host: 'a',
  });
  expect(toSend({ password: 'new', user: 'u' }, ['password'])).toEqual({ password: 'new', user: 'u' });
  expect(toSend({ password: null }, [])).toEqual({});
});

test('a form knows which settings send the stored secrets elsewhere', () => {
  const settings = providers.smtp!.settings as Schema;
  const before = { host: 'a.test', from: 'a@acme.test' };
  expect(changedDestinations(settings, before, { ...before, from: 'b@acme.test', port: undefined })).toEqual([]);
  expect(changedDestinations(settings, before, { ...before, host: 'b.test', port: 25 })).toEqual(['Host', 'Port']);
});
