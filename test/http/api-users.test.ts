import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { type Ask, asker, expectProblem } from '../support/api.ts';
import { longEmail, nested } from '../support/api-refused.ts';
import { newEmail } from '../support/api-table.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;
let ask: Ask;

beforeAll(async () => {
  ({ service, tenants } = await testTenants());
  ask = asker(service.address, tenants.acme.keys.all);
});
afterAll(() => service.stop());

const create = (body: unknown) => ask({ method: 'POST', path: '/api/o/acme/u/', body });
const get = (path: string) => ask({ path: `/api/o/acme/u/${path}` });
const update = (username: string, body: unknown, method = 'PATCH') =>
  ask({ method, path: `/api/o/acme/u/${encodeURIComponent(username)}/`, body });
const addAddress = (username: string, name: string, value: string) =>
  ask({ method: 'POST', path: `/api/o/acme/u/${encodeURIComponent(username)}/address/`, body: { name, value } });
const addressesOf = async (username: string) => (await get(`${encodeURIComponent(username)}/address/`)).body;

/** Returns incompressible text of this many different characters of a script. */
function anySigns(count: number, from: number): string {
  return Array.from({ length: count }, (_, i) =>
    String.fromCodePoint(from + ((i * 7919) % (from < 128 ? 26 : 20_000))),
  ).join('');
}

async function localeOf(username: string): Promise<string | null> {
  const { locale } = await service.runtime.deps.db
    .selectFrom('users')
    .select('locale')
    .where('username', '=', username)
    .executeTakeFirstOrThrow();
  return locale;
}

async function newUser(custom_fields?: unknown): Promise<string> {
  const answer = await create({ email: newEmail(), custom_fields });
  expect(answer.status, answer.text).toBe(201);
  return answer.body.username;
}

describe('creating a user', () => {
  test('the username is the email in lower case; the email is stored unchanged', async () => {
    const { body } = await create({ email: 'Ada.Lovelace@Acme.Test' });
    expect(body).toMatchObject({ email: 'Ada.Lovelace@Acme.Test', username: 'ada.lovelace@acme.test' });
  });

  test('names default to empty text, and custom fields to an empty object', async () => {
    const { body } = await create({ email: newEmail() });
    expect(body).toMatchObject({ first_name: '', last_name: '', custom_fields: {} });
  });

  test('custom fields of null count as absent', async () => {
    const answer = await create({ email: newEmail(), custom_fields: null });
    expect([answer.status, answer.body.custom_fields]).toEqual([201, {}]);
  });

  test('custom fields are returned unchanged, whatever their names', async () => {
    const custom_fields = {
      text: 'x',
      number: 1.5,
      nothing: null,
      yes: true,
      list: [1, [2, {}]],
      'a\nb': 'two lines',
      '': 'no name',
      constructor: 'builder',
      toString: 1,
    };
    const { body } = await create({ email: newEmail(), custom_fields });
    expect(body.custom_fields).toEqual(custom_fields);
    expect((await update(body.username, {})).body.custom_fields).toEqual(custom_fields);
  });

  test('the user gets an address named email', async () => {
    const { body } = await create({ email: 'Grace@Acme.Test' });
    expect(await addressesOf(body.username)).toEqual([{ name: 'email', value: 'Grace@Acme.Test' }]);
  });

  test('the same email in another organization is another user', async () => {
    const email = newEmail();
    const mine = await create({ email });
    const theirs = await ask({
      method: 'POST',
      path: '/api/o/rival/u/',
      key: tenants.rival.keys.all,
      body: { email, first_name: 'Other' },
    });
    expect([mine.status, theirs.status]).toEqual([201, 201]);
    expect((await get(`${email}/`)).body).toMatchObject({ id: mine.body.id, first_name: '' });
  });

  test('text is stored in NFC', async () => {
    const { body } = await create({
      email: newEmail(),
      first_name: 'Zoe\u0308',
      custom_fields: { 'e\u0301': 'e\u0301' },
    });
    expect(body).toMatchObject({ first_name: 'Zo\u00eb', custom_fields: { '\u00e9': '\u00e9' } });
  });

  test('names and emails of the maximum length are accepted', async () => {
    const answer = await create({ email: longEmail(254), first_name: '😀'.repeat(255), last_name: 'x'.repeat(255) });
    expect(answer.status, answer.text).toBe(201);
    expect((await get(`${longEmail(254)}/`)).body.first_name).toBe('😀'.repeat(255));
  });

  test('custom fields may be 32 levels deep', async () => {
    const answer = await create({ email: newEmail(), custom_fields: nested(32) });
    expect([answer.status, answer.body.custom_fields]).toEqual([201, nested(32)]);
  });

  test.each([
    ['pt-BR', 'pt-BR'],
    ['PT-br', 'pt-BR'],
    ['', null],
    [null, null],
    [undefined, null],
  ])('a locale of %j is stored as %j, and the response does not contain it', async (locale, kept) => {
    const answer = await create({ email: newEmail(), locale });
    expect(answer.status, answer.text).toBe(201);
    expect(answer.body).not.toHaveProperty('locale');
    expect(await localeOf(answer.body.username)).toBe(kept);
  });

  test.each(['pt_BR!', 'x', 'e'.repeat(86), 7, ['en']])('a locale of %j is refused', async locale => {
    expectProblem(await create({ email: newEmail(), locale }), 400, 'request.invalid', ['locale']);
  });

  test('an email with non-ASCII letters is valid', async () => {
    const { body } = await create({ email: 'Jürgen@Bücher.Example' });
    expect(body.username).toBe('jürgen@bücher.example');
    expect((await get(`${encodeURIComponent('jürgen@bücher.example')}/`)).status).toBe(200);
  });
});

describe('a username in a path', () => {
  test.each(['jane@acme.test', 'jane%40acme.test', 'JANE%40ACME.TEST', 'Jane@Acme.Test', '%6A%61ne@acme%2Etest'])(
    '%s is found',
    async username => {
      expect((await get(`${username}/`)).body.username).toBe('jane@acme.test');
      expect((await get(`${username}`)).body.username).toBe('jane@acme.test');
    },
  );

  test('can contain reserved characters, percent-encoded', async () => {
    const email = "o'hara+a/b?c#d%25&e@acme.test";
    const { body, text } = await create({ email });
    expect(body?.username, text).toBe(email);
    expect((await get(`${encodeURIComponent(email)}/`)).body.email).toBe(email);
    expect(await addressesOf(email)).toEqual([{ name: 'email', value: email }]);
  });
});

describe('updating a user', () => {
  test.each(['PUT', 'PATCH'])('%s changes only the fields in the body', async method => {
    const { body: made } = await create({
      email: newEmail(),
      first_name: 'A',
      last_name: 'B',
      custom_fields: { a: 1 },
    });
    const { body } = await update(made.username, { last_name: 'C', locked: true }, method);
    expect(body).toEqual({ ...made, last_name: 'C', locked: true });
    const { custom_fields: _, ...retrieved } = body;
    expect((await get(`${made.username}/`)).body).toEqual(retrieved);
  });

  test.each(['PUT', 'PATCH'])('%s with an empty or missing body changes nothing', async method => {
    const before = (await get('joe@acme.test/')).body;
    expect((await update('joe@acme.test', {}, method)).body).toMatchObject(before);
    expect((await update('joe@acme.test', undefined, method)).body).toMatchObject(before);
    expect((await get('joe@acme.test/')).body).toEqual(before);
  });

  test('a user can be locked and unlocked', async () => {
    const username = await newUser();
    expect((await update(username, { locked: true })).body.locked).toBe(true);
    expect((await update(username, { first_name: 'x' })).body.locked).toBe(true);
    expect((await update(username, { locked: false })).body.locked).toBe(false);
  });

  test('a retrieved user can be sent back; read-only fields are ignored', async () => {
    const username = await newUser();
    const { body: retrieved } = await get(`${username}/`);
    expect((await update(username, retrieved, 'PUT')).body).toEqual({ ...retrieved, custom_fields: {} });
    const changed = { ...retrieved, id: 1, email: 'other@acme.test', username: 7 };
    expect((await update(username, changed, 'PUT')).body).toEqual({ ...retrieved, custom_fields: {} });
  });

  test('without a mode custom fields are not applied', async () => {
    const username = await newUser({ a: 1 });
    expect((await update(username, { custom_fields: { b: 2 } })).body.custom_fields).toEqual({ a: 1 });
  });

  test.each(['IGNORE', 'ignore', 'Ignore'])('%s applies all fields except custom fields', async _mode => {
    const username = await newUser({ a: 1 });
    const { body } = await update(username, { custom_fields: { b: 2 }, first_name: 'New', _mode });
    expect(body).toMatchObject({ custom_fields: { a: 1 }, first_name: 'New' });
  });

  test.each(['REPLACE', 'replace', 'rePlace'])('%s replaces the custom fields', async _mode => {
    const username = await newUser({ a: 1, deep: { b: 2 } });
    const { body } = await update(username, { custom_fields: { deep: { c: null } }, _mode });
    expect(body.custom_fields).toEqual({ deep: { c: null } });
  });

  test.each(['MERGE', 'merge', 'mErGe'])('%s merges recursively, and null removes a field', async _mode => {
    const username = await newUser({ keep: 1, drop: 2, list: [1, 2], deep: { keep: 3, drop: 4 }, plain: 5 });
    const { body } = await update(username, {
      custom_fields: {
        drop: null,
        list: [3],
        deep: { drop: null, add: 6 },
        plain: { now: null, object: 7 },
        none: null,
      },
      _mode,
    });
    expect(body.custom_fields).toEqual({ keep: 1, list: [3], deep: { keep: 3, add: 6 }, plain: { object: 7 } });
  });

  test.each(['REPLACE', 'MERGE'])('%s without custom fields, or with null, leaves them unchanged', async _mode => {
    const username = await newUser({ a: 1 });
    expect((await update(username, { _mode })).body.custom_fields).toEqual({ a: 1 });
    expect((await update(username, { _mode, custom_fields: null })).body.custom_fields).toEqual({ a: 1 });
  });

  test('an unknown mode is rejected with the list of modes', async () => {
    const { body } = await update(await newUser(), { _mode: 'APPEND' });
    expect(body.errors).toEqual({ _mode: ['must be REPLACE, MERGE or IGNORE, in any letter case'] });
  });

  test('the locale is set, kept if absent, and removed; the response does not contain it', async () => {
    const username = await newUser();
    const seen: unknown[] = [];
    for (const body of [
      { locale: 'de-at' },
      { first_name: 'Ada' },
      { locale: '' },
      { locale: 'en' },
      { locale: null },
    ]) {
      const answer = await update(username, body);
      expect(answer.status, answer.text).toBe(200);
      expect(answer.body).not.toHaveProperty('locale');
      seen.push(await localeOf(username));
    }
    expect(seen).toEqual(['de-AT', 'de-AT', null, 'en', null]);
    expectProblem(await update(username, { locale: 'no language' }), 400, 'request.invalid', ['locale']);
  });

  test('a rejected update changes nothing', async () => {
    const username = await newUser({ a: 1 });
    const bad = { first_name: 'New', custom_fields: { a: 2 }, _mode: 'REPLACE', locked: 'yes' };
    expectProblem(await update(username, bad), 400, 'request.invalid', ['locked']);
    expect((await update(username, {})).body).toMatchObject({ first_name: '', custom_fields: { a: 1 } });
  });
});

describe('addresses', () => {
  test('an address is returned as stored, and listed', async () => {
    const username = await newUser();
    const { status, body } = await addAddress(username, 'pager', '  #42 ');
    expect([status, body]).toEqual([200, { name: 'pager', value: '  #42 ' }]);
    expect(await addressesOf(username)).toEqual([{ name: 'email', value: username }, body]);
  });

  test.each([
    ['phone', '+1 (555) 555-0100'],
    ['Phone-work', '+1-555-555-0100'],
    ['sms', '+15555550100'],
    ['SMS2', 'tel:+15555550100'],
  ])('%s %s becomes an E.164 number', async (name, value) => {
    const { body, text } = await addAddress(await newUser(), name, value);
    expect(body, text).toEqual({ name, value: '+15555550100' });
  });

  test('adding the same name and value again has no effect, even in another notation', async () => {
    const username = await newUser();
    for (const value of ['+15555550100', '+15555550100', '+1 555 555 0100']) {
      expect((await addAddress(username, 'phone', value)).status).toBe(200);
    }
    expect(await addressesOf(username)).toHaveLength(2);
  });

  test('a user may have several addresses of a name', async () => {
    const username = await newUser();
    await addAddress(username, 'email', 'second@acme.test');
    await addAddress(username, 'email-home', 'third@acme.test');
    expect(await addressesOf(username)).toEqual([
      { name: 'email', value: username },
      { name: 'email', value: 'second@acme.test' },
      { name: 'email-home', value: 'third@acme.test' },
    ]);
  });

  test('names and values of the maximum length are accepted in any script, even if incompressible', async () => {
    const value = anySigns(512, 0x4e00);
    for (const name of [anySigns(255, 0x61), anySigns(255, 0x4e00), anySigns(255, 0x20000)]) {
      const answer = await addAddress('joe@acme.test', name, value);
      expect([answer.status, answer.body], answer.text).toEqual([200, { name, value }]);
    }
  });

  test('characters beyond the basic plane count twice in a value', async () => {
    expect((await addAddress('joe@acme.test', 'chat', anySigns(256, 0x20000))).status).toBe(200);
    const answer = await addAddress('joe@acme.test', anySigns(255, 0x20000), anySigns(257, 0x20000));
    expectProblem(answer, 400, 'request.invalid', ['value']);
  });

  test('a push subscription, recognized by its name, may be longer than other addresses', async () => {
    const subscription = (length: number) => {
      const text = JSON.stringify({ endpoint: 'https://wns2-par02p.notify.windows.com/w/?token=', keys: {} });
      return text.replace('token=', `token=${anySigns(length - text.length, 0x61)}`);
    };
    const username = await newUser();
    for (const [name, length] of [
      ['webpush', 2_048],
      ['push', 2_048],
      ['WebPush-phone', 2_048],
      [`webpush-${anySigns(247, 0x61)}`, 2_048],
    ] as const) {
      const answer = await addAddress(username, name, subscription(length));
      expect(answer.status, answer.text).toBe(200);
    }
    for (const [name, value] of [
      ['webpush', subscription(2_049)],
      ['push', subscription(2_049)],
      ['telegram', subscription(513)],
      ['chat', subscription(2_048)],
      [`webpush${anySigns(248, 0x20000)}`, subscription(2_048)],
      ['webpush', anySigns(2_048, 0x4e00)],
    ] as const) {
      expectProblem(await addAddress(username, name, value), 400, 'request.invalid', ['value']);
    }
  });

  test('a custom kind accepts any text', async () => {
    const { body } = await addAddress('joe@acme.test', 'slack', '@joe & friends');
    expect(body).toEqual({ name: 'slack', value: '@joe & friends' });
  });
});
