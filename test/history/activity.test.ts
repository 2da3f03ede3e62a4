/** Deliveries of an organization: filters and bulk actions. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { uuidv7 } from '../../src/core/ids.ts';
import { listActivity } from '../../src/db/history/activity.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, sandbox, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
let tenant: Tenant;
let first: string;
let second: string;
let third: string;

beforeAll(async () => {
  world = await joinWorld();
  tenant = await world.tenant({
    users: ['ann@x.test', { email: 'ben@x.test', addresses: [{ name: 'phone', value: '+15555550100' }] }],
    channels: [{ slug: 'hooks' }, sandbox],
    notifications: [{ channels: ['hooks', 'sandbox'] }],
  });
  first = await tenant.trigger();
  await tenant.outcomes(first, 30_000);
  tenant.answer({ status: 400 });
  second = await tenant.trigger({ channels: ['hooks'] });
  await tenant.outcomes(second);
  tenant.answer({ status: 503 });
  third = await tenant.trigger({ channels: ['hooks'], limit_to: ['ann@x.test'] });
  await tenant.until(third, 'retrying');
  await tenant.sql(
    `update deliveries set due_at = now() + interval '1 hour' where organization_id = $1 and status = 'retrying'`,
    tenant.id,
  );
});
afterAll(() => world.close());

async function found(query = ''): Promise<string[]> {
  const { status, body, text } = await tenant.ask({ path: `/api/o/${tenant.slug}/activity/${query}` });
  expect(status, text).toBe(200);
  const name = new Map([
    [first, 'first'],
    [second, 'second'],
    [third, 'third'],
  ]);
  return body.map(
    (one: { occurrence: string; user: string; type: string; status: string }) =>
      `${name.get(one.occurrence)} ${one.user.slice(0, 3)} ${one.type} ${one.status}`,
  );
}

test('deliveries are listed newest first, in pages', async () => {
  const all = await found();
  expect(all).toHaveLength(7);
  expect(all[0]).toBe('third ann webhook retrying');
  expect(all.slice(1, 3).sort()).toEqual(['second ann webhook failed', 'second ben webhook failed']);
  const page = await tenant.ask({ path: `/api/o/${tenant.slug}/activity/?limit=3` });
  const next = new URL(/<([^>]+)>/.exec(page.headers.link!)![1]!);
  expect((await tenant.ask({ path: next.pathname + next.search })).body).toHaveLength(3);
});

test('deliveries can be filtered by recipient, status, channel, type and time, also combined', async () => {
  expect(await found('?user=ann@x.test')).toHaveLength(4);
  expect(await found(`?user=${encodeURIComponent('+1 555 555 0100')}`)).toHaveLength(3);
  expect(await found('?user=nobody@x.test')).toEqual([]);
  expect(await found('?status=failed')).toHaveLength(2);
  expect(await found('?status=retrying')).toEqual(['third ann webhook retrying']);
  expect(await found('?status=sent')).toHaveLength(4);
  expect(await found('?channel=sandbox')).toHaveLength(2);
  expect(await found('?type=webhook&status=sent')).toHaveLength(2);
  expect(await found('?type=sms')).toEqual([]);
  expect(await found('?user=ben@x.test&status=failed')).toEqual(['second ben webhook failed']);
  const { created_at } = await tenant.occurrence(second);
  const at = new Date(created_at).toISOString();
  expect(await found(`?until=${at}`)).toHaveLength(4);
  expect(await found(`?since=${at}&channel=hooks`)).toHaveLength(3);
  const bad = await tenant.ask({ path: `/api/o/${tenant.slug}/activity/?status=lost` });
  expect(bad.body).toMatchObject({ status: 400, errors: { status: expect.any(Array) } });
});

test('deliveries can be filtered by the states that refine a status', async () => {
  const other = await world.tenant({ users: ['ann@x.test'] });
  const dry = await other.trigger({ dry_run: true });
  await other.outcomes(dry);
  await other.outcomes(await other.trigger());
  await other.post(`/api/o/${other.slug}/c/hooks/pause/`);
  const held = await other.trigger();
  await eventually(async () => expect(await other.occurrence(held)).toMatchObject({ outcome: 'held' }));
  for (const [state, id] of Object.entries({ dry_run: dry, held, bounced: undefined, waiting_digest: undefined })) {
    for (const query of [`?state=${state}`, `?state=${state}&user=ann@x.test`, `?state=${state}&channel=hooks`]) {
      const { body } = await other.ask({ path: `/api/o/${other.slug}/activity/${query}` });
      expect(body.map((one: { occurrence: string; state: string }) => [one.occurrence, one.state])).toEqual(
        id === undefined ? [] : [[id, state]],
      );
    }
    const { body } = await other.ask({ path: `/api/o/${other.slug}/occurrence/${held}/deliveries/?state=${state}` });
    expect(body).toHaveLength(id === held ? 1 : 0);
  }
  await other.post(`/api/o/${other.slug}/c/hooks/resume/`);
});

test('a rare match is searched in bounded scans, each of which returns where the next continues', {
  tags: ['sweep'],
}, async () => {
  const other = await world.tenant({ users: ['ann@x.test'], channels: [{ slug: 'hooks' }, sandbox] });
  const rare = await other.trigger();
  await other.outcomes(rare);
  const [channels] = await other.sql<{ hooks: number; sandbox: number }>(
    `select max(id) filter (where slug = 'hooks')::int as hooks, max(id) filter (where slug = 'sandbox')::int as sandbox
     from channels where organization_id = $1`,
    other.id,
  );
  await other.sql(
    `insert into deliveries (organization_id, occurrence_id, notification_id, version, channel_id, user_id, address, status,
       priority, due_at)
     select $1, $2, 1, 1, $3, 1, n::text, 'sent', 1, now() from generate_series(1, 25000) n`,
    other.id,
    uuidv7(Date.now() + 60_000),
    channels!.sandbox,
  );
  const { db } = world.service.runtime.deps;
  const filter = { channelIds: [channels!.hooks] };
  const firstScan = await listActivity(db, other.id, filter, { before: undefined, limit: 10 });
  expect(firstScan).toMatchObject({ rows: [], next: { id: expect.any(Number) } });
  const secondScan = await listActivity(db, other.id, filter, { before: firstScan.next, limit: 10 });
  expect(secondScan).toMatchObject({ rows: [{ occurrence: rare }], next: undefined });
  // A request without a limit returns all of it as one list.
  const whole = await other.ask({ path: `/api/o/${other.slug}/activity/?channel=hooks` });
  expect(whole.body).toHaveLength(1);
});

test('deliveries can be previewed, retried and cancelled in bulk', async () => {
  const failed = (await tenant.deliveries(second)).map(({ id }) => ({ occurrence: second, id }));
  const waiting = (await tenant.deliveries(third)).map(({ id }) => ({ occurrence: third, id }));
  const deliveries = [...failed, ...waiting];
  const at = `/api/o/${tenant.slug}/activity/`;
  expect((await tenant.post(`${at}retry/preview/`, { deliveries })).body).toMatchObject({ deliveries: 2, send: 2 });
  tenant.answer({});
  expect((await tenant.post(`${at}retry/`, { deliveries })).body).toEqual({ retried: 2 });
  expect(await tenant.outcomes(second)).toEqual(['ann@x.test sent', 'ben@x.test sent']);
  expect((await tenant.post(`${at}cancel/`, { deliveries })).body).toEqual({ cancelled: 1 });
  expect(await tenant.outcomes(third)).toEqual(['ann@x.test cancelled']);
  const none = await tenant.post(`${at}retry/`, { deliveries: [] });
  expect(none.body).toMatchObject({ status: 400, errors: { deliveries: expect.any(Array) } });
});
