/** Notifications and their message versions over the API. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { type Ask, asker } from '../support/api.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;
let ask: Ask;

beforeAll(async () => {
  ({ service, tenants } = await testTenants());
  ask = asker(service.address, tenants.acme.keys.all);
});
afterAll(() => service.stop());

const event = '/api/o/acme/p/shop/a/web/e/order-paid/';
const entry = (name: string, more: object = {}) => ({
  name,
  recipients: { list: 'Customers' },
  channels: ['mail'],
  message: { subject: 'Paid', body: 'Thank you, {{ user.first_name }}.' },
  ...more,
});
const compared = (b: object) => ({ first: 10, variants: { winner_by: 'clicks', b } });
const make = async (name: string, more: object = {}) => {
  const answer = await ask({ method: 'POST', path: `${event}n/`, body: entry(name, more) });
  return { ...answer, path: `${event}n/${answer.body.id}/` };
};

describe('a notification', () => {
  test('is returned with all fields', async () => {
    const more = {
      filter: 'amount > `0`',
      environs: ['production'],
      extra_context: { colour: 'red' },
      overrides: { mail: { subject: 'By mail' } },
      priority: 'urgent',
      throttle: { max: 3, per: '1h', key: 'order' },
    };
    const made = await make('whole', more);
    expect(made.status, made.text).toBe(201);
    expect(made.body).toEqual({
      id: expect.any(Number),
      ...entry('whole'),
      ...more,
      active: true,
      digest: null,
      acknowledgement_expires: null,
      ack: null,
      canary: null,
      steps: null,
      give_up_after: null,
      notify_resolved: false,
      version: 1,
      missing_variables: [],
      updated_at: expect.any(String),
    });
    expect(made.headers.location).toBe(service.address + made.path);
    const found = await ask({ path: made.path });
    expect([found.body, found.headers.etag]).toEqual([made.body, made.headers.etag]);
    expect((await ask({ path: `${event}n/` })).body).toContainEqual(made.body);
    expect((await ask({ path: event })).body.notifications).toContainEqual({
      id: made.body.id,
      name: 'whole',
      active: true,
      channels: ['mail'],
    });
  });

  test('has null for absent fields', async () => {
    const { body } = await make('plain');
    expect(body).toMatchObject({ filter: null, environs: null, extra_context: {}, overrides: {}, priority: null });
  });

  test('is returned with missing variables, which are not part of the ETag', async () => {
    const { path, body, headers } = await make('lacking');
    const at = new Date();
    const row = { organization_id: tenants.acme.id, notification_id: body.id, version: 1, first_at: at, last_at: at };
    const { db } = service.runtime.deps;
    await db
      .insertInto('missing_variables')
      .values({ ...row, name: 'order.total', count: 3 })
      .execute();
    const found = await ask({ path });
    expect(found.body.missing_variables).toEqual([
      { name: 'order.total', count: 3, version: 1, first_at: at.toISOString(), last_at: at.toISOString() },
    ]);
    expect(found.headers.etag).toBe(headers.etag);
  });

  test('is listed with pagination', async () => {
    const whole = (await ask({ path: `${event}n/` })).body;
    const first = await ask({ path: `${event}n/?limit=1` });
    expect(first.body).toEqual(whole.slice(0, 1));
    const [, next] = /<([^>]+)>/.exec(first.headers.link!)!;
    expect((await ask({ path: next!.slice(service.address.length) })).body).toEqual(whole.slice(1, 2));
  });

  test('is refused with 409 if it already exists', async () => {
    await make('twice');
    const again = await make('twice', { channels: ['email'] });
    expect(again.body).toMatchObject({ status: 409, code: 'resource.exists', errors: { name: [expect.anything()] } });
  });

  test.each([
    ['an unknown channel', { channels: ['pigeon'] }, 'channels/0', 'request.invalid'],
    ['an unknown list', { recipients: { list: 'Nobody' } }, 'recipients/list', 'request.invalid'],
    ['no recipients', { recipients: {} }, 'recipients', 'request.invalid'],
    ['a filter that does not parse', { filter: 'amount >' }, 'filter', 'request.invalid'],
    ['an unknown layout', { message: { body: 'x', layout: 'none' } }, 'message/layout', 'request.invalid'],
    [
      'an override of an unknown channel',
      { overrides: { pigeon: { body: 'x' } } },
      'overrides/pigeon',
      'request.invalid',
    ],
    [
      'an override of an unknown channel in a second variant',
      { canary: compared({ message: { body: 'x' }, overrides: { pigeon: { body: 'x' } } }) },
      'canary/variants/b/overrides/pigeon',
      'request.invalid',
    ],
    [
      'a second variant whose template does not parse',
      { canary: compared({ message: { subject: '{{ b' } }) },
      'canary/variants/b/message/subject',
      'template.invalid',
    ],
    [
      'a second variant without texts',
      { canary: compared({ message: {} }) },
      'canary/variants/b/message',
      'request.invalid',
    ],
    ['a template that does not parse', { message: { body: 'a\n{{ b' } }, 'message/body', 'template.invalid'],
    ['an unknown filter of templates', { message: { body: '{{ a | b }}' } }, 'message/body', 'template.invalid'],
  ])('is refused with %s', async (_what, more, field, code) => {
    const answer = await make('refused', more);
    expect([answer.status, answer.body.code, Object.keys(answer.body.errors)], answer.text).toEqual([
      400,
      code,
      [field],
    ]);
  });

  test('is refused with the line and column of a template mistake', async () => {
    const { body } = await make('wrong', { message: { body: 'First line\n  {{ b' } });
    expect(body.errors['message/body']).toEqual([expect.stringMatching(/^line 2, column 3: /)]);
  });
});

describe('the second variant of a message', () => {
  const texts = { message: { subject: 'Thanks', locales: { DE: { subject: 'Danke' } } } };

  test('is stored with each version of the message, also if only it changes', async () => {
    const { path, body } = await make('compared', { canary: compared(texts) });
    expect(body).toMatchObject({ canary: compared(texts), version: 1 });
    const version = async (n: number) => (await ask({ path: `${path}versions/${n}/` })).body;
    expect((await version(1)).variant).toEqual({
      message: { subject: 'Thanks', locales: { de: { subject: 'Danke' } } },
      overrides: {},
    });
    const changed = await ask({
      method: 'PATCH',
      path,
      body: { canary: compared({ message: { body: 'Thank you' } }) },
    });
    expect(changed.body.version).toBe(2);
    expect((await version(2)).variant.message).toEqual({ body: 'Thank you' });
    const rewritten = await ask({ method: 'PUT', path: `${path}message/`, body: { message: { body: 'New' } } });
    expect(rewritten.body).toMatchObject({ version: 3, canary: compared({ message: { body: 'Thank you' } }) });
    expect(await version(3)).toMatchObject({ message: { body: 'New' }, variant: { message: { body: 'Thank you' } } });
    const without = await ask({ method: 'PATCH', path, body: { canary: { first: 10 } } });
    expect(without.body).toMatchObject({ version: 4, canary: { first: 10 } });
    expect((await version(4)).variant).toBeUndefined();
  });

  test('cannot be changed without the permission to write messages', async () => {
    const { path } = await make('guarded', { canary: compared(texts) });
    const limited = asker(service.address, tenants.acme.keys.without['template:write']);
    const change = (canary: object) => limited({ method: 'PATCH', path, body: { canary } });
    expect((await change({ ...compared(texts), first: 20 })).status).toBe(200);
    expect((await change(compared({ message: { body: 'x' } }))).body).toMatchObject({
      status: 403,
      code: 'key.permission',
    });
  });

  test('keeps a channel that its overrides name from being deleted', async () => {
    const channel = { slug: 'letters', name: 'Letters', type: 'email', providers: [{ use: 'sandbox' }] };
    expect((await ask({ method: 'POST', path: '/api/o/acme/c/', body: channel })).status).toBe(201);
    const overrides = { letters: { body: 'x' } };
    const { path } = await make('lettered', { canary: compared({ message: { body: 'y' }, overrides }) });
    const remove = () => ask({ method: 'DELETE', path: '/api/o/acme/c/letters/' });
    expect((await remove()).body.code).toBe('resource.in_use');
    expect((await ask({ method: 'DELETE', path })).status).toBe(200);
    expect((await remove()).status).toBe(200);
  });
});

describe('an update', () => {
  test('keeps absent fields, and removes those that are null', async () => {
    const { path, body } = await make('changing', { filter: 'amount > `0`' });
    const changed = await ask({ method: 'PATCH', path, body: { filter: null, active: false } });
    expect(changed.body).toEqual({ ...body, filter: null, active: false, updated_at: expect.any(String) });
    expect(changed.headers.etag).toBe((await ask({ path })).headers.etag);
  });

  test('of the name keeps the notification and its versions', async () => {
    const { path, body } = await make('old name');
    await make('taken');
    const renamed = await ask({ method: 'PATCH', path, body: { name: 'new name', active: false } });
    expect(renamed.body).toMatchObject({ id: body.id, name: 'new name', active: false, version: 1 });
    const { body: entries } = await ask({ path: '/api/o/acme/audit/?limit=2' });
    expect(entries).toEqual([
      expect.objectContaining({ path: 'shop/web/order-paid/new name', after: { active: false } }),
      expect.objectContaining({
        path: 'shop/web/order-paid/old name',
        before: { name: 'old name' },
        after: { name: 'new name' },
      }),
    ]);
    const twin = await ask({ method: 'PATCH', path, body: { name: 'taken' } });
    expect(twin.body).toMatchObject({ status: 409, code: 'resource.exists', errors: { name: [expect.anything()] } });
  });

  test('does not accept a message, which is written as a version', async () => {
    const { path } = await make('wordless');
    const answer = await ask({ method: 'PATCH', path, body: { message: { body: 'x' } } });
    expect([answer.status, Object.keys(answer.body.errors)]).toEqual([400, ['message']]);
  });

  test('is refused if another one with the same ETag came first', async () => {
    const { path, headers } = await make('raced');
    const answers = await Promise.all(
      [true, false].map(active =>
        ask({ method: 'PATCH', path, body: { active, environs: ['x'] }, headers: { 'if-match': headers.etag! } }),
      ),
    );
    expect(answers.map(answer => answer.status).sort()).toEqual([200, 412]);
  });
});

describe('a message', () => {
  test('becomes a version, and an older version is restored by sending it again', async () => {
    const { path, body: made } = await make('versions');
    const write = (message: object, overrides?: object) =>
      ask({ method: 'PUT', path: `${path}message/`, body: { message, ...(overrides && { overrides }) } });
    const second = await write({ body: 'Second' }, { mail: { subject: 'S' } });
    expect(second.body, second.text).toMatchObject({
      version: 2,
      message: { body: 'Second' },
      overrides: { mail: { subject: 'S' } },
    });
    expect((await write({ body: 'Second' }, { mail: { subject: 'S' } })).body.version).toBe(2);

    const { body: versions } = await ask({ path: `${path}versions/` });
    expect(versions).toEqual([
      { version: 2, created_at: expect.any(String), by: 'acme all', current: true },
      { version: 1, created_at: expect.any(String), by: 'acme all', current: false },
    ]);
    const { body: first } = await ask({ path: `${path}versions/1/` });
    expect(first).toEqual({
      version: 1,
      created_at: expect.any(String),
      by: 'acme all',
      message: made.message,
      overrides: {},
    });
    const restored = await write(first.message, first.overrides);
    expect(restored.body).toMatchObject({ version: 3, message: made.message, overrides: {} });
    const older = await ask({ path: `${path}versions/?limit=1` });
    expect(older.body).toEqual([expect.objectContaining({ version: 3, current: true })]);
    const [, next] = /<([^>]+)>/.exec(older.headers.link!)!;
    expect((await ask({ path: next!.slice(service.address.length) })).body).toEqual([
      expect.objectContaining({ version: 2, current: false }),
    ]);
  });

  test('that is invalid is refused with field, line and column, and creates no version', async () => {
    const { path } = await make('mistaken');
    const body = { message: { body: 'x\n{% nope %}' }, overrides: { mail: { subject: '{{' } } };
    const answer = await ask({ method: 'PUT', path: `${path}message/`, body });
    expect(answer.body).toMatchObject({
      status: 400,
      code: 'template.invalid',
      errors: {
        'message/body': [expect.stringMatching(/^line 2, column 1: there is no tag "nope"/)],
        'overrides/mail/subject': [expect.stringMatching(/^line 1, column 1: /)],
      },
    });
    expect((await ask({ path })).body.version).toBe(1);
  });

  test('requires its own permission', async () => {
    const { path } = await make('guarded');
    const key = tenants.acme.keys.only['notification:write'];
    const answer = await ask({ method: 'PUT', path: `${path}message/`, body: { message: { body: 'x' } }, key });
    expect(answer.status).toBe(403);
  });
});
