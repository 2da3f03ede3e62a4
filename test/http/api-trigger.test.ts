import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { type Answer, type Ask, asker, expectProblem } from '../support/api.ts';
import { nested } from '../support/api-refused.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;
let ask: Ask;

beforeAll(async () => {
  ({ service, tenants } = await testTenants());
  ask = asker(service.address, tenants.acme.keys.all);
});
afterAll(() => service.stop());

const path = (event = 'order-paid') => `/api/o/acme/p/shop/a/web/e/${event}/trigger/`;
const trigger = (body?: unknown, headers: Record<string, string> = {}, event?: string): Promise<Answer> =>
  ask({ method: 'POST', path: path(event), body, headers });

async function stored(answer: Answer) {
  expect(answer.status, answer.text).toBe(201);
  const { db } = service.runtime.deps;
  return db.selectFrom('occurrences').selectAll().where('id', '=', answer.body.occurrence).executeTakeFirstOrThrow();
}

describe('an occurrence', () => {
  test('is identified by a UUIDv7 with the current time', async () => {
    const before = Date.now();
    const { body } = await trigger({});
    expect(body.occurrence).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const at = Number.parseInt(body.occurrence.replaceAll('-', '').slice(0, 12), 16);
    expect(at).toBeGreaterThanOrEqual(before);
    expect(at).toBeLessThanOrEqual(Date.now());
  });

  test('is stored with its event, context, options and key before the response is sent', async () => {
    const body = { context: { order: 7, lines: [{ sku: 'a' }] }, options: { channels: ['email'], priority: 'urgent' } };
    const { acme } = tenants;
    const row = await stored(await trigger(body));
    expect(row).toMatchObject({
      organization_id: acme.id,
      project_id: acme.projectId,
      application_id: acme.applicationId,
      event_id: acme.eventId,
      priority: 0,
      correlation_id: null,
      key_id: acme.keys.all.split('_')[1],
      ...body,
    });
  });

  test('is due immediately and never expires by default', async () => {
    const { created_at, due_at, expires_at, priority } = await stored(await trigger({}));
    expect([due_at, expires_at, priority]).toEqual([created_at, null, 1]);
  });

  test.each([
    ['90s', 90_000],
    ['10m', 600_000],
    ['2h', 7_200_000],
    ['3d', 259_200_000],
  ])('with a delay of %s is due that much later', async (delay, ms) => {
    const { created_at, due_at } = await stored(await trigger({ options: { delay } }));
    expect(due_at.getTime() - created_at.getTime()).toBe(ms);
  });

  test('is due at send_at, in any time zone offset', async () => {
    const moment = new Date(Date.now() + 86_400_000);
    const elsewhere = new Date(moment.getTime() + 5.5 * 3_600_000).toISOString().replace('Z', '+05:30');
    expect((await stored(await trigger({ options: { send_at: elsewhere } }))).due_at).toEqual(moment);
  });

  test('is accepted with a send_at in the past', async () => {
    expect((await trigger({ options: { send_at: '2020-01-01T00:00:00Z' } })).status).toBe(201);
  });

  test('expires at expires_at', async () => {
    const moment = new Date(Date.now() + 3_600_000);
    const row = await stored(await trigger({ options: { delay: '10m', expires_at: moment.toISOString() } }));
    expect(row.expires_at).toEqual(moment);
  });
});

describe('a trigger is accepted with', () => {
  test.each([
    ['no body', undefined, {}],
    ['an empty object', {}, {}],
    ['no body under a JSON media type', '', { 'content-type': 'application/json' }],
    ['a media type with a charset', '{}', { 'content-type': 'application/json; charset=utf-8' }],
    ['a byte order mark', '\ufeff{}', {}],
    ['white space around it', ' \r\n{ }\t', {}],
  ])('%s', async (_what, body, headers) => {
    const row = await stored(await trigger(body, headers as Record<string, string>));
    expect([row.context, row.options]).toEqual([{}, {}]);
  });

  test('a context of 32 levels', async () => {
    expect((await stored(await trigger({ context: nested(32) }))).context).toEqual(nested(32));
  });

  test('channels of the project and the organization, by slug or type, in any letter case', async () => {
    const channels = ['shop-mail', 'mail', 'sms', 'Email', 'OLD-MAIL'];
    expect((await trigger({ options: { channels } })).status).toBe(201);
  });

  test('every option at once', async () => {
    const options = {
      channels: ['mail'],
      limit_to: ['jane@acme.test'],
      recipients: ['somebody@else.test'],
      environs: ['production'],
      delay: '1h',
      expires_at: new Date(Date.now() + 86_400_000).toISOString(),
      priority: 'bulk',
      idempotency_key: randomUUID(),
      dry_run: true,
    };
    const row = await stored(await trigger({ context: {}, options }));
    expect([row.options, row.priority]).toEqual([options, 2]);
  });
});

describe('a trigger is rejected with', () => {
  test('an inactive event', async () => {
    expectProblem(await trigger({}, {}, 'order-lost'), 400, 'event.inactive');
  });

  test("another project's channel, and another organization's", async () => {
    const answer = await ask({
      method: 'POST',
      path: '/api/o/acme/p/depot/a/forklift/e/lift/trigger/',
      body: { options: { channels: ['mail', 'shop-mail'] } },
    });
    expectProblem(answer, 400, 'request.invalid', ['options/channels']);
    expect(answer.body.errors['options/channels'][0]).toMatch(
      /shop-mail.*\(available: hooks, webhook, mail, email, texts, sms, relay\)/,
    );
  });

  test('a body that is not UTF-8', async () => {
    const body = Buffer.from('{"context":{"name":"J\xfcrgen"}}', 'latin1');
    expectProblem(await trigger(body), 400, 'request.malformed');
  });

  test('unknown channels, each of which is reported', async () => {
    const { body } = await trigger({ options: { channels: ['pigeon', 'mail', 'smoke'] } });
    expect(body.detail).toContain('pigeon, smoke');
  });
});

describe('an idempotency key', () => {
  const once = (key: string = randomUUID()) => ({ 'idempotency-key': key });

  test('with the same body returns the same occurrence, whatever the order of fields', async () => {
    const headers = once();
    const first = await trigger({ context: { a: 1, b: [{ c: 2, d: 3 }] }, options: {} }, headers);
    const second = await trigger('{"context":{"b":[{"d":3,"c":2}],"a":1}}', headers);
    expect([second.status, second.body]).toEqual([201, first.body]);
  });

  test('with another body is a conflict', async () => {
    const headers = once();
    await trigger({ context: { a: 1 } }, headers);
    expectProblem(await trigger({ context: { a: 2 } }, headers), 400, 'idempotency.conflict');
    expectProblem(
      await trigger({ context: { a: 1 }, options: { dry_run: true } }, headers),
      400,
      'idempotency.conflict',
    );
  });

  test('works as an option like as a header', async () => {
    const idempotency_key = randomUUID();
    const first = await trigger({ context: { a: 1 }, options: { idempotency_key } });
    const second = await trigger({ context: { a: 1 } }, once(idempotency_key));
    expect(second.body).toEqual(first.body);
  });

  test('is rejected if header and option differ', async () => {
    const answer = await trigger({ options: { idempotency_key: 'one' } }, once('two'));
    expectProblem(answer, 400, 'request.invalid', ['options/idempotency_key']);
  });

  test('is scoped to one event', async () => {
    const headers = once();
    const paid = await trigger({ context: { a: 1 } }, headers);
    const shipped = await trigger({ context: { a: 2 } }, headers, 'order-shipped');
    expect(shipped.status).toBe(201);
    expect(shipped.body).not.toEqual(paid.body);
  });

  test('is scoped to one organization', async () => {
    const headers = once();
    const mine = await trigger({}, headers);
    const theirs = { method: 'POST', path: path().replace('acme', 'rival'), key: tenants.rival.keys.all };
    const answer = await ask({ ...theirs, body: {}, headers });
    expect(answer.status).toBe(201);
    expect(answer.body).not.toEqual(mine.body);
  });

  test('is rejected above 255 characters', async () => {
    expect((await trigger({}, once('x'.repeat(255)))).status).toBe(201);
    expectProblem(await trigger({}, once('x'.repeat(256))), 400, 'request.invalid', ['idempotency-key']);
  });

  test('is remembered for at least a day', async () => {
    const headers = once();
    const first = await trigger({}, headers);
    const { db } = service.runtime.deps;
    const { runMaintenance } = await import('../../src/services/operations/maintenance.ts');
    const age = async (hours: number) => {
      await db
        .updateTable('idempotency_keys')
        .set({ created_at: new Date(Date.now() - hours * 3_600_000) })
        .execute();
      await runMaintenance(service.runtime.deps, Date.now());
      return (await trigger({}, headers)).body;
    };
    expect(await age(24.1)).toEqual(first.body);
    expect(await age(24 * 30)).not.toEqual(first.body);
  });
});

describe('?cid=', () => {
  const correlated = (cid: string) => ask({ method: 'POST', path: `${path()}?cid=${cid}`, body: {} });

  test('is stored with the occurrence, and need not be unique', async () => {
    const first = await correlated('order%2042');
    const second = await correlated('order+42');
    expect([(await stored(first)).correlation_id, (await stored(second)).correlation_id]).toEqual([
      'order 42',
      'order 42',
    ]);
    expect(first.body).not.toEqual(second.body);
  });

  test('is stored in NFC', async () => {
    expect((await stored(await correlated('e%CC%81'))).correlation_id).toBe('\u00e9');
  });

  test.each([
    ['more than 255 characters', 'x'.repeat(256)],
    ['NUL', 'a%00b'],
    ['two of them', 'a&cid=b'],
  ])('rejects %s', async (_what, cid) => {
    expectProblem(await correlated(cid), 400, 'request.invalid', ['cid']);
  });
});
