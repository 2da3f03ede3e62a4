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
