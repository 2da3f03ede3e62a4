/** How an occurrence stands, in one word, as the API tells it. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { outcomeOf } from '../src/core/outcome.ts';
import { eventually } from './support/api.ts';
import { type EngineWorld, openWorld, type Tenant } from './support/sink.ts';

let world: EngineWorld;

beforeAll(async () => {
  world = await openWorld();
});
afterEach(() => world.checkLedger());
afterAll(() => world.close());

interface Shown {
  status: string;
  outcome: string;
  scheduled_for: string | null;
}

/** Of the detail and of the list, which never disagree. */
async function outcome(tenant: Tenant, id: string, expected: string): Promise<Shown> {
  return eventually(async () => {
    const one = (await tenant.occurrence(id)) as unknown as Shown;
    expect(one.outcome).toBe(expected);
    const listed = (await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/?limit=50` })).body;
    expect(listed.find((row: { identifier: string }) => row.identifier === id)).toMatchObject({ outcome: expected });
    return one;
  });
}

const users = ['ann@x.test', 'ben@x.test'];

test('sent, partly failed and failed are told apart', async () => {
  const tenant = await world.tenant({ users });
  await outcome(tenant, await tenant.trigger(), 'sent');
  tenant.answer(seen => ({ status: seen.body.includes('ann') ? 400 : 200 }));
  await outcome(tenant, await tenant.trigger(), 'partly_failed');
  tenant.answer({ status: 400 });
  await outcome(tenant, await tenant.trigger(), 'failed');
});

test('scheduled says when, and becomes cancelled', async () => {
  const tenant = await world.tenant({ users });
  const send_at = new Date(Date.now() + 3_600_000).toISOString();
  const id = await tenant.trigger({ send_at });
  expect(await outcome(tenant, id, 'scheduled')).toMatchObject({ status: 'accepted', scheduled_for: send_at });
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/cancel/`);
  expect(await outcome(tenant, id, 'cancelled')).toMatchObject({ status: 'completed', scheduled_for: null });
});

test('held by a paused event, application or channel, and sent when that is resumed', async () => {
  const tenant = await world.tenant({ users });
  for (const place of [tenant.event, tenant.application, `/api/o/${tenant.slug}/c/hooks/`]) {
    expect((await tenant.post(`${place}pause/`)).status).toBe(200);
    const id = await tenant.trigger();
    await outcome(tenant, id, 'held');
    expect((await tenant.post(`${place}resume/`)).status).toBe(200);
    await outcome(tenant, id, 'sent');
  }
});

test('nobody is no success, and neither is suppressed', async () => {
  const nobody = await world.tenant({ users: [] });
  await outcome(nobody, await nobody.trigger(), 'nobody');
  const suppressed = await world.tenant({ users });
  await outcome(suppressed, await suppressed.trigger({ limit_to: ['nobody@x.test'] }), 'suppressed');
});

test('every state there can be has a word', () => {
  const counts = { sent: 0, failed: 0, suppressed: 0, cancelled: 0, expired: 0, unknown: 0 };
  const base = {
    status: 'completed',
    reason: null,
    due_at: new Date(0),
    is_held: false,
    is_escalating: false,
    awaits_acknowledgement: false,
    acknowledged_at: null,
    resolved_at: null,
    counts,
  } as const;
  const of = (change: object) => outcomeOf({ ...base, ...change }, 1_000);
  expect(of({ status: 'accepted' })).toBe('expanding');
  expect(of({ status: 'accepted', due_at: new Date(2_000) })).toBe('scheduled');
  expect(of({ status: 'accepted', due_at: null, is_held: true })).toBe('held');
  expect(of({ status: 'expanding', due_at: new Date(2_000) })).toBe('expanding');
  expect(of({ status: 'sending' })).toBe('sending');
  expect(of({ counts: { ...counts, sent: 1, suppressed: 5 } })).toBe('sent');
  expect(of({ counts: { ...counts, unknown: 1, suppressed: 5 } })).toBe('failed');
  expect(of({ counts: { ...counts, sent: 1, unknown: 1 } })).toBe('partly_failed');
  expect(of({ counts: { ...counts, expired: 1, suppressed: 5 } })).toBe('expired');
  expect(of({ reason: 'expired' })).toBe('expired');
  expect(of({ reason: 'cancelled' })).toBe('cancelled');
  expect(of({ reason: 'no_recipients' })).toBe('nobody');
});
