/** Channels over the API, and the providers they can use. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { providers } from '../../src/providers/index.ts';
import { type Ask, asker } from '../support/api.ts';
import { certificate } from '../support/certificate.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;
let ask: Ask;

beforeAll(async () => {
  ({ service, tenants } = await testTenants());
  ask = asker(service.address, tenants.acme.keys.all);
});
afterAll(() => service.stop());

const smtp = {
  use: 'smtp',
  host: 'mail.acme.test',
  from: 'a@acme.test',
  user: 'bell',
  password: 'hush-hush',
};
const channel = (slug: string, more: object = {}) => ({ slug, name: slug, type: 'email', providers: [smtp], ...more });
const make = (slug: string, more: object = {}) =>
  ask({ method: 'POST', path: '/api/o/acme/c/', body: channel(slug, more) });

describe('a channel', () => {
  test('is returned without its secrets, but with the names of those that are set', async () => {
    const made = await make('whole', { on_unknown: 'hold', rate_per_second: 5, retry: { for: '4h' } });
    expect(made.status, made.text).toBe(201);
    const { password: _, ...open } = smtp;
    expect(made.body).toEqual({
      slug: 'whole',
      name: 'whole',
      type: 'email',
      enabled: true,
      on_unknown: 'hold',
      rate_per_second: 5,
      concurrency: null,
      retry: { for: '4h' },
      reputation_guard: true,
      max_bounce_percent: 5,
      max_complaint_percent: 0.3,
      providers: [{ ...open, secrets_set: ['password'] }],
      paused: false,
      paused_reason: null,
      project: null,
      problem: null,
      interactions: [],
      limited_until: null,
      states: ['enabled'],
      feedback: {
        addresses: [
          {
            service: 'mail',
            url: expect.stringMatching(`^${service.address}/feedback/[0-9a-f]{64}/mail/$`),
            ready: true,
          },
        ],
        mailboxes: [],
        last_received_at: null,
        last_refused_at: null,
        last_refusal: null,
      },
      health: { hours: 24, sent: 0, failed: 0, unknown: 0 },
      reputation: {
        hours: 24,
        messages: 0,
        bounced: 0,
        complained: 0,
        bounce_percent: 0,
        complaint_percent: 0,
        since: null,
        bulk_paused_at: null,
        bulk_paused_reason: null,
      },
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    const found = await ask({ path: '/api/o/acme/c/whole/' });
    expect([found.body, found.headers.etag]).toEqual([made.body, made.headers.etag]);
    expect(made.headers.location).toBe(`${service.address}/api/o/acme/c/whole/`);
  });

  test('of a project is returned with the slug of the project', async () => {
    const made = await ask({ method: 'POST', path: '/api/o/acme/p/shop/c/', body: channel('own') });
    expect([made.status, made.body.project]).toEqual([201, 'shop']);
    expect((await ask({ path: '/api/o/acme/c/own/' })).status).toBe(404);
  });

  test('is refused with 409 if it already exists', async () => {
    const answer = await make('mail');
    expect(answer.body).toMatchObject({ status: 409, code: 'resource.exists', errors: { slug: [expect.anything()] } });
  });

  test.each([
    ['an invalid setting', { providers: [{ ...smtp, port: 'many' }] }, 'providers/0/port'],
    ['a missing secret', { providers: [{ ...smtp, password: undefined }] }, 'providers/0/password'],
    ['a provider of another medium', { providers: [smtp, { use: 'vonage' }] }, 'providers/1/use'],
    ['an unknown provider', { providers: [{ use: 'pigeon' }] }, 'providers/0/use'],
    ['an unknown type', { type: 'pigeon' }, 'type'],
    ['a rate of 0', { rate_per_second: 0 }, 'rate_per_second'],
    ['retries for too long', { retry: { for: '169h' } }, 'retry/for'],
    ['retries of what is stored', { type: 'inbox', providers: [{ use: 'inbox' }], retry: { for: '1h' } }, 'retry'],
  ])('is refused with %s', async (_what, more, field) => {
    const answer = await make('refused', more);
    expect(answer.body, answer.text).toMatchObject({ status: 400, code: 'request.invalid' });
    expect(Object.keys(answer.body.errors)).toContain(field);
    expect((await ask({ path: '/api/o/acme/c/refused/' })).status).toBe(404);
  });
});

describe('an update', () => {
  const path = '/api/o/acme/c/changed/';
  beforeAll(async () => void (await make('changed', { rate_per_second: 5 })));

  test('keeps an omitted secret, and accepts a new one', async () => {
    const { body } = await ask({ path });
    const [first] = body.providers;
    // The response is sent back with one setting changed.
    const sent = await ask({ method: 'PATCH', path, body: { providers: [{ ...first, from: 'b@acme.test' }] } });
    expect(sent.body.providers, sent.text).toEqual([{ ...first, from: 'b@acme.test' }]);
    expect(await storedPassword('changed')).toBe('hush-hush');
    await ask({ method: 'PATCH', path, body: { providers: [{ ...smtp, password: 'new-words' }] } });
    expect(await storedPassword('changed')).toBe('new-words');
    const { text } = await ask({ path: '/api/o/acme/audit/' });
    expect(text).not.toMatch(/hush-hush|new-words/);
  });

  test('removes a secret by null, together with the settings that need it', async () => {
    await make('removed');
    const at = '/api/o/acme/c/removed/';
    const { user: _, ...open } = { ...smtp, password: null };
    const half = await ask({ method: 'PATCH', path: at, body: { providers: [{ ...open, user: 'bell' }] } });
    expect(half.body.errors, half.text).toEqual({
      'providers/0/password': [expect.stringMatching(/together with user/)],
    });
    expect(await storedPassword('removed')).toBe('hush-hush');
    const whole = await ask({ method: 'PATCH', path: at, body: { providers: [open] } });
    expect([whole.status, whole.body.providers[0].secrets_set], whole.text).toEqual([200, []]);
    const { secrets } = await service.runtime.deps.db
      .selectFrom('channels')
      .select('secrets')
      .where('slug', '=', 'removed')
      .executeTakeFirstOrThrow();
    expect(secrets).toBeNull();
    const { body: audit } = await ask({ path: '/api/o/acme/audit/?limit=1' });
    expect(audit[0]).toMatchObject({ noun: 'channel', action: 'update' });
    expect(JSON.stringify(audit[0])).toContain('password');
  });

  test('does not remove a secret that the provider requires', async () => {
    const hook = { use: 'standard-webhooks', url: 'https://x.test/hook', secret: `whsec_${'B'.repeat(32)}` };
    await make('needed', { type: 'webhook', providers: [hook] });
    const answer = await ask({
      method: 'PATCH',
      path: '/api/o/acme/c/needed/',
      body: { providers: [{ ...hook, secret: null }] },
    });
    expect(answer.body, answer.text).toMatchObject({ status: 400, code: 'request.invalid' });
    expect(answer.body.errors).toEqual({ 'providers/0/secret': [expect.stringMatching(/cannot be removed/)] });
    const created = await make('never', { type: 'webhook', providers: [{ ...hook, secret: null }] });
    expect(Object.keys(created.body.errors ?? {})).toEqual(['providers/0/secret']);
  });

  test.each<[string, object]>([
    ['host', { host: 'mail.mallory.test' }],
    ['port', { port: 2525 }],
    ['secure', { secure: true }],
    ['starttls', { starttls: 'never' }],
    ['ca', { ca: certificate }],
    ['host and port', { host: 'mail.mallory.test', port: 2525 }],
  ])('of %s requires the password again, and the error says why', async (changed, settings) => {
    const slug = `to-${changed.replaceAll(' ', '-')}`;
    await make(slug);
    const at = `/api/o/acme/c/${slug}/`;
    const { password: _, ...open } = smtp;
    const patch = (provider: object) => ask({ method: 'PATCH', path: at, body: { providers: [provider] } });
    const refused = await patch({ ...open, ...settings });
    expect(refused.body, refused.text).toMatchObject({ status: 400, code: 'request.invalid' });
    expect(refused.body.errors).toEqual({
      'providers/0/password': [
        `${changed} changed, and a stored secret is not sent to another destination: provide it again, or null if there is none`,
      ],
    });
    expect((await ask({ path: at })).body.providers[0]).toMatchObject(open);
    const given = await patch({ ...open, ...settings, password: 'given-again' });
    expect([given.status, await storedPassword(slug)], given.text).toEqual([200, 'given-again']);
    const { user: __, ...without } = open;
    expect((await patch({ ...without, password: null })).body.providers[0].secrets_set).toEqual([]);
  });

  test('of the URL of an API or a webhook requires its secret again', async () => {
    const hook = { use: 'standard-webhooks', url: 'https://x.test/hook', secret: `whsec_${'B'.repeat(32)}` };
    const sendgrid = { use: 'sendgrid', api_key: 'SG.key', from: 'a@acme.test' };
    await make('moved-hook', { type: 'webhook', providers: [hook] });
    await make('moved-api', { providers: [sendgrid] });
    const patch = (slug: string, provider: object) =>
      ask({ method: 'PATCH', path: `/api/o/acme/c/${slug}/`, body: { providers: [provider] } });
    const hooked = await patch('moved-hook', { use: 'standard-webhooks', url: 'https://mallory.test/' });
    expect(hooked.body.errors, hooked.text).toEqual({ 'providers/0/secret': [expect.stringMatching(/^url changed/)] });
    const everybody = await patch('moved-hook', { use: 'standard-webhooks' });
    expect(everybody.status, everybody.text).toBe(400);
    const asked = { use: 'sendgrid', from: 'a@acme.test', endpoint: 'https://mallory.test' };
    const api = await patch('moved-api', asked);
    expect(api.body.errors, api.text).toEqual({ 'providers/0/api_key': [expect.stringMatching(/^endpoint changed/)] });
  });

  test('of two servers at once keeps the secret of each', async () => {
    const second = { ...smtp, host: 'other.acme.test', password: 'of-the-other' };
    await make('pair', { providers: [smtp, second] });
    const at = '/api/o/acme/c/pair/';
    const [first, other] = (await ask({ path: at })).body.providers;
    const swap = (...providers: object[]) => ask({ method: 'PATCH', path: at, body: { providers } });
    const swapped = await swap({ ...other, rate: 25 }, { ...first, rate: 26 });
    expect(swapped.status, swapped.text).toBe(200);
    expect([await storedPassword('pair', 0), await storedPassword('pair', 1)]).toEqual(['of-the-other', 'hush-hush']);
  });

  test('of two accounts of one server requires their secrets again instead of mixing them up', async () => {
    const second = { ...smtp, user: 'bell-2', password: 'of-the-other' };
    await make('accounts', { providers: [smtp, second] });
    const at = '/api/o/acme/c/accounts/';
    const [first, other] = (await ask({ path: at })).body.providers;
    const swap = (...providers: object[]) => ask({ method: 'PATCH', path: at, body: { providers } });
    const refused = await swap({ ...other, rate: 25 }, { ...first, rate: 26 });
    expect(refused.body.errors, refused.text).toEqual({
      'providers/0/password': [expect.stringMatching(/ambiguous which.*provide it again, or null/)],
      'providers/1/password': [expect.stringMatching(/ambiguous which/)],
    });
    expect((await swap({ ...other, rate: 25 }, first)).status).toBe(200);
    expect([await storedPassword('accounts', 0), await storedPassword('accounts', 1)]).toEqual([
      'of-the-other',
      'hush-hush',
    ]);
    const given = await swap({ ...first, rate: 1, password: 'p1' }, { ...other, rate: 2, password: 'p2' });
    expect(given.status, given.text).toBe(200);
    expect([await storedPassword('accounts', 0), await storedPassword('accounts', 1)]).toEqual(['p1', 'p2']);
  });

  test('keeps the providers if it does not contain them', async () => {
    const answer = await ask({
      method: 'PATCH',
      path,
      body: { name: 'New name', rate_per_second: null, retry: { for: '0s' } },
    });
    expect(answer.body).toMatchObject({ name: 'New name', rate_per_second: null, retry: { for: '0s' } });
    expect((await ask({ method: 'PATCH', path, body: { retry: null } })).body).toMatchObject({ retry: null });
    expect(answer.body.providers[0].secrets_set).toEqual(['password']);
  });

  test('of slug or type is refused, and the error says what to do', async () => {
    for (const body of [{ slug: 'other' }, { type: 'sms' }]) {
      const answer = await ask({ method: 'PATCH', path, body });
      expect(answer.body).toMatchObject({
        status: 400,
        errors: { [Object.keys(body)[0]!]: [expect.stringMatching(/cannot be changed.*create another/)] },
      });
    }
  });

  test('is refused if another one with the same ETag came first', async () => {
    const headers = { 'if-match': (await ask({ path })).headers.etag! };
    const answers = await Promise.all(
      ['One', 'Two'].map(name => ask({ method: 'PATCH', path, body: { name }, headers })),
    );
    expect(answers.map(answer => answer.status).sort()).toEqual([200, 412]);
  });

  test('is not stale because messages were sent in the meantime', async () => {
    const before = await ask({ path });
    const { db } = service.runtime.deps;
    const { id } = await db
      .selectFrom('channels')
      .select('id')
      .where('slug', '=', 'changed')
      .where('organization_id', '=', tenants.acme.id)
      .executeTakeFirstOrThrow();
    const hour = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000);
    const row = { organization_id: tenants.acme.id, event_id: tenants.acme.eventId, channel_id: id };
    const old = new Date(hour.getTime() - 25 * 3_600_000);
    await db
      .insertInto('delivery_stats')
      .values([
        { ...row, hour, status: 'sent', count: 7 },
        { ...row, hour, status: 'failed', count: 2 },
        { ...row, hour: old, status: 'sent', count: 100 },
      ])
      .execute();
    const after = await ask({ path });
    expect(after.body.health).toEqual({ hours: 24, sent: 7, failed: 2, unknown: 0 });
    expect(after.headers.etag).toBe(before.headers.etag);
  });

  async function storedPassword(slug: string, at = 0): Promise<unknown> {
    const channels = await service.runtime.deps.plans.listChannels(tenants.acme.id);
    return channels.find(one => one.slug === slug)!.providers[at]!.settings.password;
  }
});

describe('the list of channel details', () => {
  const path = '/api/o/acme/channel/';

  test('has the channels of the organization and of its projects, each as it is retrieved', async () => {
    await make('listed', { providers: [smtp, { use: 'sandbox' }] });
    await ask({ method: 'POST', path: '/api/o/acme/p/shop/c/', body: channel('listed') });
    const { db } = service.runtime.deps;
    const ids = await db
      .selectFrom('channels')
      .select('id')
      .where('organization_id', '=', tenants.acme.id)
      .where('slug', '=', 'listed')
      .orderBy('id')
      .execute();
    const hour = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000);
    const row = { organization_id: tenants.acme.id, event_id: tenants.acme.eventId, hour };
    await db
      .insertInto('delivery_stats')
      .values([
        { ...row, channel_id: ids[0]!.id, status: 'sent', count: 3 },
        { ...row, channel_id: ids[1]!.id, status: 'failed', count: 4 },
      ])
      .execute();
    const { status, body } = await ask({ path });
    expect(status).toBe(200);
    const found = body.filter((one: { slug: string }) => one.slug === 'listed');
    expect(found.map((one: { project: string; health: object }) => [one.project, one.health])).toEqual([
      [null, { hours: 24, sent: 3, failed: 0, unknown: 0 }],
      ['shop', { hours: 24, sent: 0, failed: 4, unknown: 0 }],
    ]);
    for (const one of body) {
      const own = one.project ? `/api/o/acme/p/${one.project}/c/${one.slug}/` : `/api/o/acme/c/${one.slug}/`;
      expect((await ask({ path: own })).body).toEqual(one);
    }
    const { count } = await db
      .selectFrom('channels')
      .select(eb => eb.fn.countAll<number>().as('count'))
      .where('organization_id', '=', tenants.acme.id)
      .executeTakeFirstOrThrow();
    expect(body).toHaveLength(count);
  });

  test('is paginated with a limit', async () => {
    const all = (await ask({ path })).body;
    const first = await ask({ path: `${path}?limit=2` });
    expect(first.body).toEqual(all.slice(0, 2));
    const next = /<([^>]+)>; rel="next"/.exec(String(first.headers.link))![1]!;
    expect((await ask({ path: next.slice(service.address.length) })).body).toEqual(all.slice(2, 4));
  });
});

test('a channel with unreadable secrets is returned with the reason', async () => {
  await make('unreadable');
  const { db } = service.runtime.deps;
  await db
    .updateTable('channels')
    .set({ secrets: Buffer.from('x') })
    .where('slug', '=', 'unreadable')
    .execute();
  const { status, body } = await ask({ path: '/api/o/acme/c/unreadable/' });
  expect([status, body.problem]).toEqual([200, expect.stringContaining('cannot be decrypted')]);
});

describe('providers', () => {
  test('are listed with settings from which a form can be built', async () => {
    const { body } = await ask({ path: '/api/o/acme/provider/' });
    expect(body.map((one: { name: string }) => one.name)).toEqual(Object.keys(providers));
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const { name, settings } of body) {
      expect(settings).toMatchObject({ type: 'object', additionalProperties: false });
      for (const [field, schema] of Object.entries<Record<string, unknown>>(settings.properties)) {
        expect([name, field, schema.title, schema.description]).toEqual([
          name,
          field,
          expect.stringMatching(/^[A-Z]/),
          expect.stringMatching(/./),
        ]);
      }
      expect(() => ajv.compile(settings)).not.toThrow();
    }
  });

  test('have their secrets marked', async () => {
    const { body } = await ask({ path: '/api/o/acme/provider/' });
    const found = body.find((one: { name: string }) => one.name === 'smtp');
    expect(found).toMatchObject({ medium: 'email', summary: expect.any(String) });
    expect(found.settings.properties.password).toMatchObject({ title: 'Password', secret: true });
    expect(found.settings.properties.host.secret).toBeUndefined();
    expect(found.settings.properties.host.destination).toBe(true);
    expect(found.settings.properties.from.destination).toBeUndefined();
  });
});
