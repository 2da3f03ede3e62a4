/** In-app messages from trigger to inbox, their states, and viewing the message of a delivery. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createInboxWriter } from '../../src/services/audience/inbox.ts';
import { expectProblem } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, sandbox, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterEach(() => world.checkLedger());
afterAll(() => world.close());

const inApp = { slug: 'app', name: 'In the app', type: 'inbox', providers: [{ use: 'inbox' }] };
const message = { subject: 'Order {{ n }}', body: 'Hello **{{ user.first_name }}**' };
const ann = { email: 'ann@x.test', first_name: 'Ann' };
const ben = { email: 'ben@x.test', first_name: 'Ben' };

const tenantWithInbox = () =>
  world.tenant({ users: [ann, ben], channels: [inApp], notifications: [{ channels: ['inbox'], message }] });

const inboxOf = (tenant: Tenant, user = ann) => `/api/o/${tenant.slug}/u/${user.email}/inbox/`;
const listed = async (tenant: Tenant, query = '', user = ann) =>
  (await tenant.ask({ path: `${inboxOf(tenant, user)}${query}` })).body as Record<string, unknown>[];
const unread = async (tenant: Tenant, user = ann) =>
  (await tenant.ask({ path: `${inboxOf(tenant, user)}unread/` })).body;

/** Sends one message per number to ann, in that order. Returns their ids. */
async function fill(tenant: Tenant, numbers: number[]): Promise<number[]> {
  for (const n of numbers) await tenant.outcomes(await tenant.trigger({ limit_to: [ann.email] }, { n }));
  return (await listed(tenant)).map(one => one.id as number).reverse();
}

describe('delivering', () => {
  test('stores a message rendered for each recipient in their inbox', async () => {
    const tenant = await tenantWithInbox();
    const occurrence = await tenant.trigger({}, { n: 7 });
    expect(await tenant.outcomes(occurrence)).toEqual(['ann@x.test sent', 'ben@x.test sent']);
    const [delivery] = (await tenant.deliveries(occurrence)).filter(one => one.user === ann.email);
    expect(await listed(tenant)).toEqual([
      {
        id: delivery!.id,
        occurrence,
        title: 'Order 7',
        body: 'Hello Ann',
        category: 'general',
        avatar: null,
        actions: [],
        action: null,
        created_at: expect.stringMatching(/Z$/),
        seen_at: null,
        read_at: null,
        archived_at: null,
        acted_at: null,
      },
    ]);
    expect(await listed(tenant, '', ben)).toMatchObject([{ title: 'Order 7', body: 'Hello Ben' }]);
  });

  test('a message that is delivered twice is stored once and keeps its state', async () => {
    const tenant = await tenantWithInbox();
    const occurrence = await tenant.trigger({ limit_to: [ann.email] }, { n: 1 });
    await tenant.outcomes(occurrence);
    const [first] = await listed(tenant);
    await tenant.post(`${inboxOf(tenant)}${first!.id}/read/`);
    // The state after a worker died between storing the message and settling the delivery.
    await tenant.sql(
      `with again as (
         update deliveries set status = 'retrying', due_at = now() where organization_id = $1 and status = 'sent'
       ), opened as (
         update occurrences set status = 'sending', sent = sent - 1, completed_at = null where organization_id = $1
       )
       update delivery_stats set count = count - 1 where organization_id = $1 and status = 'sent'`,
      tenant.id,
    );
    await tenant.sql('notify belfry_work');
    await tenant.outcomes(occurrence);
    const deliveries = await tenant.deliveries(occurrence);
    expect(deliveries.find(one => one.user === ann.email)).toMatchObject({ status: 'sent', attempts: 2 });
    expect(await listed(tenant)).toMatchObject([
      { ...first, seen_at: expect.any(String), read_at: expect.any(String) },
    ]);
  });

  test('is marked as sent only once the message is stored', async () => {
    const tenant = await tenantWithInbox();
    await tenant.sql(
      `create function refuse() returns trigger language plpgsql as $$ begin raise 'not now'; end $$;
       create trigger refuse before insert on inbox for each row when (new.organization_id = ${tenant.id}) execute function refuse()`,
    );
    const occurrence = await tenant.trigger({ limit_to: [ann.email] }, { n: 1 });
    const [waiting] = (await tenant.until(occurrence, 'retrying', 'suppressed')).filter(one => one.user === ann.email);
    expect(waiting).toMatchObject({ status: 'retrying', detail: expect.stringContaining('not now') });
    await tenant.sql('drop trigger refuse on inbox; drop function refuse');
    await tenant.hurry();
    await tenant.outcomes(occurrence);
    expect(await listed(tenant)).toHaveLength(1);
  });

  test('waits without using an attempt while the database is unavailable, without delaying other channels', {
    tags: ['sweep'],
  }, async () => {
    const hook = { slug: 'hooks' };
    const tenant = await world.tenant({
      users: [ann, ben],
      channels: [inApp, hook],
      notifications: [{ channels: ['app', 'hooks'], message }],
    });
    await tenant.sql(
      `create function away() returns trigger language plpgsql as $$ begin raise 'away' using errcode = '57P03'; end $$;
       create trigger away before insert on inbox for each row when (new.organization_id = ${tenant.id}) execute function away()`,
    );
    const occurrence = await tenant.trigger({}, { n: 1 });
    const byChannel = async (channel: string) =>
      (await tenant.deliveries(occurrence)).filter(one => one.channel === channel);
    await eventually(async () => {
      for (const one of await byChannel('app')) expect(one).toMatchObject({ detail: 'the database was unavailable' });
      expect((await byChannel('hooks')).map(one => one.status)).toEqual(['sent', 'sent']);
    }, 20_000);
    // More rounds than a failing delivery has attempts.
    for (let round = 0; round < 10; round++) {
      await tenant.hurry();
      await eventually(async () => {
        const rows = await tenant.sql(
          `select 1 from deliveries where occurrence_id = $1 and status = 'retrying' and due_at > now()`,
          occurrence,
        );
        expect(rows).toHaveLength(2);
      });
    }
    for (const one of await byChannel('app')) expect(one).toMatchObject({ status: 'retrying', attempts: 0 });
    expect(await listed(tenant)).toEqual([]);
    await tenant.sql('drop trigger away on inbox; drop function away');
    await tenant.hurry();
    await tenant.outcomes(occurrence);
    for (const one of await byChannel('app')) expect(one).toMatchObject({ status: 'sent', attempts: 1 });
    expect(await listed(tenant)).toHaveLength(1);
    expect(await listed(tenant, '', ben)).toHaveLength(1);
    expect(tenant.received()).toHaveLength(2);
  });

  test('a message to a deleted user fails alone', async () => {
    const tenant = await tenantWithInbox();
    const [{ id: user_id }] = (await tenant.sql(
      'select id::int from users where organization_id = $1 limit 1',
      tenant.id,
    )) as [{ id: number }];
    const row = {
      organization_id: tenant.id,
      occurrence_id: '00000000-0000-7000-8000-000000000000',
      title: 't',
      body: 'b',
    };
    const writer = createInboxWriter(world.service.runtime.deps.pool);
    const ends = await Promise.allSettled([
      writer.add({ ...row, id: 1, user_id }),
      writer.add({ ...row, id: 2, user_id: 999_999_999 }),
      writer.add({ ...row, id: 3, user_id }),
    ]);
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    const rows = await tenant.sql('select id::int from inbox where organization_id = $1 order by 1', tenant.id);
    expect(rows).toEqual([{ id: 1 }, { id: 3 }]);
  });
});

describe('the inbox', () => {
  test('lists messages newest first, in pages', async () => {
    const tenant = await tenantWithInbox();
    await fill(tenant, [1, 2, 3]);
    expect((await listed(tenant)).map(one => one.title)).toEqual(['Order 3', 'Order 2', 'Order 1']);
    const first = await tenant.ask({ path: `${inboxOf(tenant)}?limit=2` });
    expect(first.body.map((one: { title: string }) => one.title)).toEqual(['Order 3', 'Order 2']);
    const next = new URL(/<(.*)>; rel="next"/.exec(first.headers.link!)![1]!);
    const second = await tenant.ask({ path: next.pathname + next.search });
    expect(second.body.map((one: { title: string }) => one.title)).toEqual(['Order 1']);
    expect(second.headers.link).toBeUndefined();
  });

  test('updates the unread count and the filters when messages are read, unread and archived', async () => {
    const tenant = await tenantWithInbox();
    const ids = await fill(tenant, [1, 2, 3]);
    const titles = async (query: string) => (await listed(tenant, query)).map(one => one.title);
    expect(await unread(tenant)).toEqual({ unread: 3 });

    const read = await tenant.post(`${inboxOf(tenant)}${ids[0]}/read/`);
    expect(read.body).toMatchObject({ id: ids[0], read_at: expect.stringMatching(/Z$/), archived_at: null });
    const again = await tenant.post(`${inboxOf(tenant)}${ids[0]}/read/`);
    expect(again.body).toEqual(read.body);
    expect([await unread(tenant), await titles('?unread=true'), await titles('?unread=false')]).toEqual([
      { unread: 2 },
      ['Order 3', 'Order 2'],
      ['Order 1'],
    ]);

    await tenant.post(`${inboxOf(tenant)}${ids[2]}/archive/`);
    expect([await unread(tenant), await titles(''), await titles('?archived=true')]).toEqual([
      { unread: 1 },
      ['Order 2', 'Order 1'],
      ['Order 3'],
    ]);
    const back = await tenant.post(`${inboxOf(tenant)}${ids[2]}/unarchive/`);
    expect([back.status, back.body]).toEqual([200, expect.objectContaining({ id: ids[2], archived_at: null })]);
    expect([await titles(''), await titles('?archived=true')]).toEqual([['Order 3', 'Order 2', 'Order 1'], []]);
    expect((await tenant.post(`${inboxOf(tenant)}${ids[2]}/unarchive/`)).body).toMatchObject({ archived_at: null });
    await tenant.post(`${inboxOf(tenant)}${ids[2]}/archive/`);
    expect((await tenant.post(`${inboxOf(tenant)}${ids[0]}/unread/`)).body).toMatchObject({ read_at: null });
    expect(await unread(tenant)).toEqual({ unread: 2 });
    expect((await tenant.post(`${inboxOf(tenant)}read/`)).body).toEqual({ read: 2 });
    expect((await tenant.post(`${inboxOf(tenant)}read/`)).body).toEqual({ read: 0 });
    expect([await unread(tenant), await titles('?unread=true&archived=true')]).toEqual([{ unread: 0 }, ['Order 3']]);
  });

  test('marks more messages as read than fit into one transaction', { tags: ['sweep'] }, async () => {
    const tenant = await tenantWithInbox();
    const [id] = await fill(tenant, [1]);
    await tenant.sql(
      `insert into inbox (organization_id, user_id, id, occurrence_id, title, body)
       select organization_id, user_id, id + n, occurrence_id, title, body from inbox, generate_series(1, 1200) n where id = $1 and organization_id = $2`,
      id,
      tenant.id,
    );
    expect(await unread(tenant)).toEqual({ unread: 1_201 });
    expect((await tenant.post(`${inboxOf(tenant)}read/`)).body).toEqual({ read: 1_201 });
  });

  test("does not give access to another user's messages", async () => {
    const tenant = await tenantWithInbox();
    const [id] = await fill(tenant, [1]);
    for (const verb of ['read', 'unread', 'archive', 'unarchive']) {
      expectProblem(await tenant.post(`${inboxOf(tenant, ben)}${id}/${verb}/`), 404, 'message.not_found');
    }
    expect(await listed(tenant, '', ben)).toEqual([]);
    expect((await tenant.post(`${inboxOf(tenant, ben)}read/`)).body).toEqual({ read: 0 });
    expect(await unread(tenant)).toEqual({ unread: 1 });
  });

  test.each(['?unread=maybe', '?archived=2'])('refuses %s', async query => {
    const tenant = await tenantWithInbox();
    expectProblem(await tenant.ask({ path: `${inboxOf(tenant)}${query}` }), 400, 'request.invalid');
  });
});

describe('viewing a message', () => {
  const view = async (tenant: Tenant, occurrence: string, user: { email: string } = ann) => {
    const delivery = (await tenant.deliveries(occurrence)).find(one => one.user === user.email)!;
    return tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${occurrence}/deliveries/${delivery.id}/message/` });
  };
  const sandboxed = (words: object = message) =>
    world.tenant({ users: [ann, ben], channels: [sandbox], notifications: [{ channels: ['email'], message: words }] });

  test('shows what each recipient would have received from a sandbox channel', async () => {
    const tenant = await sandboxed();
    const occurrence = await tenant.trigger({}, { n: 7 });
    await tenant.outcomes(occurrence);
    const { body, status } = await view(tenant, occurrence);
    expect(status).toBe(200);
    expect(body).toEqual({
      title: 'Order 7',
      text: 'Hello Ann',
      html: expect.stringContaining('<strong>Ann</strong>'),
      missing: [],
    });
    expect((await view(tenant, occurrence, ben)).body).toMatchObject({ text: 'Hello Ben' });
  });

  test('shows the message as sent after the template has changed', async () => {
    const tenant = await sandboxed();
    const occurrence = await tenant.trigger({}, { n: 7 });
    await tenant.outcomes(occurrence);
    await tenant.apply({
      channels: [sandbox],
      notifications: [{ channels: ['email'], message: { subject: 'Other', body: 'Words' } }],
    });
    expect((await view(tenant, occurrence)).body).toMatchObject({ title: 'Order 7', text: 'Hello Ann' });
    const later = await tenant.trigger({}, { n: 8 });
    await tenant.outcomes(later);
    expect((await view(tenant, later)).body).toMatchObject({ title: 'Other', text: 'Words' });
  });

  test('lists the variables that were missing in the context', async () => {
    const tenant = await sandboxed();
    const occurrence = await tenant.trigger();
    await tenant.outcomes(occurrence);
    expect((await view(tenant, occurrence)).body).toMatchObject({ title: 'Order', missing: ['n'] });
  });

  test('answers 404 for an unknown delivery, or one of another occurrence', async () => {
    const tenant = await sandboxed();
    const [first, second] = [await tenant.trigger({}, { n: 1 }), await tenant.trigger({}, { n: 2 })];
    await Promise.all([tenant.outcomes(first), tenant.outcomes(second)]);
    const { id } = (await tenant.deliveries(second))[0]!;
    for (const delivery of [id, 999_999_999, 'x', '-1']) {
      const path = `/api/o/${tenant.slug}/occurrence/${first}/deliveries/${delivery}/message/`;
      expectProblem(await tenant.ask({ path }), 404, 'delivery.not_found');
    }
  });

  test('answers 404 when the user has been deleted', async () => {
    const tenant = await sandboxed();
    const occurrence = await tenant.trigger({}, { n: 1 });
    await tenant.outcomes(occurrence);
    const { body: deliveries } = await tenant.ask({
      path: `/api/o/${tenant.slug}/occurrence/${occurrence}/deliveries/`,
    });
    await tenant.sql(`delete from users where organization_id = $1 and username = $2`, tenant.id, ann.email);
    const id = deliveries.find((one: { user: string }) => one.user === ann.email).id;
    const path = `/api/o/${tenant.slug}/occurrence/${occurrence}/deliveries/${id}/message/`;
    expectProblem(await tenant.ask({ path }), 404, 'message.not_found');
  });
});
