/** The reputation guard: an email channel with too many bounces or complaints holds its bulk messages until it is resumed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FeedbackType, feedbackEvent } from '../../src/core/feedback/event.ts';
import { releasePaused } from '../../src/db/ledger/deliver/releases.ts';
import { storeFeedback } from '../../src/services/history/feedback/feedback.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { runMaintenance } from '../../src/services/operations/maintenance.ts';
import { command } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld, sandbox, type Tenant, type TenantInput } from '../support/sink.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
});

const users = Array.from({ length: 200 }, (_, i) => `u${i}@x.test`);
/** Never reported by a test. */
const last = users.at(-1)!;

async function tenantWith(channel: object = {}, more: TenantInput = {}): Promise<Tenant> {
  const channels = [{ ...sandbox, ...channel }];
  return world.tenant({ users, channels, notifications: [{ channels: ['sandbox'] }], ...more });
}

/** Sends a message to each user; returns the ids as services report them. */
async function sendToAll(tenant: Tenant): Promise<string[]> {
  const id = await tenant.trigger({ priority: 'normal' });
  await eventually(async () => expect(await tenant.occurrence(id)).toMatchObject({ outcome: 'sent' }), 30_000);
  const deliveries = await tenant.deliveries(id);
  return deliveries.filter(({ user }) => user !== last).map(one => `${id}.${one.id}`);
}

const report = (tenant: Tenant, type: FeedbackType, refs: string[], fields = {}) => {
  const events = refs.map(deliveryId => feedbackEvent({ type, deliveryId, ...fields }));
  return storeFeedback(world.service.runtime.deps, tenant.id, null, 'postmark', events, Date.now());
};
const bounce = (tenant: Tenant, refs: string[]) => report(tenant, 'bounced', refs, { permanent: true });

const channelOf = async (tenant: Tenant) => (await tenant.ask({ path: `/api/o/${tenant.slug}/c/sandbox/` })).body;
const reputationOf = async (tenant: Tenant) => (await channelOf(tenant)).reputation;
const pausesOf = async (tenant: Tenant) => (await tenant.ask({ path: `/api/o/${tenant.slug}/pauses/` })).body;
const sendOne = (tenant: Tenant, priority: string) => tenant.trigger({ priority, limit_to: [last] });
const resume = (tenant: Tenant) => tenant.post(`/api/o/${tenant.slug}/c/sandbox/resume/`);

async function expectHeld(tenant: Tenant, id: string): Promise<void> {
  await eventually(async () => {
    expect(await tenant.deliveries(id)).toMatchObject([{ state: 'held', reason: 'channel.bulk_paused' }]);
  });
}

test('too many permanent bounces hold bulk messages until the channel is resumed; all others are sent', {
  tags: ['sweep'],
}, async () => {
  const tenant = await tenantWith();
  const receiver = await openReceiver(tenant, ['channel.reputation_low']);
  const refs = await sendToAll(tenant);
  await bounce(tenant, refs.slice(0, 10));
  await report(tenant, 'bounced', refs.slice(50, 70), { permanent: false });
  expect(await reputationOf(tenant)).toMatchObject({ messages: 200, bounced: 10, complained: 0, bulk_paused_at: null });

  await bounce(tenant, [refs[10]!]);
  const reason = '5.5 % of 200 messages bounced permanently (limit 5 %)';
  expect(await channelOf(tenant)).toMatchObject({
    paused: false,
    reputation: { bounced: 11, bulk_paused_at: expect.any(String), bulk_paused_reason: reason },
  });
  const held = await sendOne(tenant, 'bulk');
  await expectHeld(tenant, held);
  expect(await releasePaused(world.service.runtime.deps.db, tenant.id)).toBe(0);
  expect(await tenant.outcomes(await sendOne(tenant, 'normal'))).toEqual([`${last} sent`]);
  expect(await tenant.outcomes(await sendOne(tenant, 'urgent'))).toEqual([`${last} sent`]);

  const waiting = { messages: 1, occurrences: 0, capped: false };
  expect(await pausesOf(tenant)).toMatchObject([{ kind: 'channel', path: 'sandbox', scope: 'bulk', reason, waiting }]);
  const why = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${held}/why/?user=${last}` });
  expect(why.body.answers[0].explanation).toContain('bulk messages of the channel are paused');
  const metrics = await (await fetch(`${world.service.address}/metrics`)).text();
  expect(metrics).toMatch(/^belfry_channels_bulk_paused 1$/m);
  expect(metrics).toMatch(/^belfry_feedback_events_total\{source="postmark",type="bounced"\} 31$/m);

  await bounce(tenant, [refs[11]!]);
  const [message] = await receiver.until('channel.reputation_low', 1);
  expect(message!.data).toMatchObject({ channel: 'sandbox', reason, bounced: 11, complained: 0 });
  const audit = await tenant.ask({ path: `/api/o/${tenant.slug}/audit/?noun=channel&action=pause` });
  expect(audit.body).toMatchObject([{ path: 'sandbox', after: { scope: 'bulk', reason, bounced: 11 } }]);

  expect((await resume(tenant)).body).toEqual({ paused: false, released: 1, dropped: 0 });
  expect(await tenant.outcomes(held)).toEqual([`${last} sent`]);
  expect(await pausesOf(tenant)).toEqual([]);
  await receiver.close();
});

test('after a resume only messages sent since then count', async () => {
  const tenant = await tenantWith();
  const refs = await sendToAll(tenant);
  await bounce(tenant, refs.slice(0, 20));
  await resume(tenant);
  expect(await reputationOf(tenant)).toMatchObject({ messages: 0, bounced: 0, since: expect.any(String) });
  await bounce(tenant, refs.slice(20, 60));
  expect(await tenant.outcomes(await sendOne(tenant, 'bulk'))).toEqual([`${last} sent`]);
  const { messages, bounced, bulk_paused_at } = await reputationOf(tenant);
  expect({ bounced, bulk_paused_at }).toEqual({ bounced: 0, bulk_paused_at: null });
  expect(messages).toBeLessThanOrEqual(1);
});

test('messages of a required category are sent while bulk messages are held', async () => {
  const organization = { categories: [{ slug: 'security', name: 'Security', kind: 'required' }] };
  const tenant = await tenantWith({}, { organization, event: { category: 'security' } });
  const refs = await sendToAll(tenant);
  await bounce(tenant, refs.slice(0, 20));
  expect((await reputationOf(tenant)).bulk_paused_at).not.toBeNull();
  expect(await tenant.outcomes(await sendOne(tenant, 'bulk'))).toEqual([`${last} sent`]);
});

test('a complaint counts once for each message, and the limits of the channel decide', async () => {
  const tenant = await tenantWith({ max_complaint_percent: 1 });
  const refs = await sendToAll(tenant);
  for (const text of ['first', 'second']) await report(tenant, 'complained', refs.slice(0, 2), { text });
  expect(await reputationOf(tenant)).toMatchObject({
    messages: 200,
    complained: 2,
    complaint_percent: 1,
    bulk_paused_at: null,
  });
  await report(tenant, 'complained', [refs[2]!]);
  expect((await reputationOf(tenant)).bulk_paused_reason).toBe(
    '1.5 % of 200 messages were reported as spam (limit 1 %)',
  );
});

test('a channel without the guard is measured but not paused, and old counts are deleted', async () => {
  const tenant = await tenantWith({ reputation_guard: false });
  const refs = await sendToAll(tenant);
  await bounce(tenant, refs.slice(0, 50));
  expect(await reputationOf(tenant)).toMatchObject({ bounced: 50, bounce_percent: 25, bulk_paused_at: null });
  await tenant.sql(
    "update channel_reputation set hour = hour - interval '25 hours' where organization_id = $1",
    tenant.id,
  );
  expect(await reputationOf(tenant)).toMatchObject({ bounced: 0 });
  await runMaintenance(world.service.runtime.deps, Date.now() + 86_400_000);
  expect(await tenant.sql('select * from channel_reputation where organization_id = $1', tenant.id)).toEqual([]);
});

test('the command line lists, pauses and resumes channels, with the database and with a server', {
  tags: ['sweep'],
}, async () => {
  const tenant = await tenantWith();
  const reason = '9 % of 300 messages bounced permanently (limit 5 %)';
  const { key } = await createKey(world.service.runtime.deps, tenant.slug, { name: 'cli', permissions: ['*'] });
  const near = {
    DATABASE_URL: world.service.runtime.url,
    BELFRY_SECRET_KEY: 'a secret of at least 32 characters',
  };
  const far = { BELFRY_URL: world.service.address, BELFRY_KEY: key };
  for (const env of [near, far]) {
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await command(
        ['channel', args[0]!, '--org', tenant.slug, ...args.slice(1)],
        env,
      );
      expect(stderr.replace(/^Using .*\n/m, '')).toBe('');
      return [code, stdout];
    };
    await tenant.sql(
      'update channels set bulk_paused_at = now(), bulk_paused_reason = $2 where organization_id = $1',
      tenant.id,
      reason,
    );
    expect((await run('list'))[1]).toMatch(
      /^sandbox {2}email {2}bulk paused {2}0 +0 % +0 % +9 % of 300 messages bounced/m,
    );
    expect(await run('resume', 'sandbox')).toEqual([0, 'Resumed sandbox. Released from pauses: 0.\n']);
    const paused = await run('pause', 'sandbox', '--reason', 'wrong price');
    expect(paused).toEqual([0, 'Paused sandbox. Messages are held until you resume it.\n']);
    expect((await run('list'))[1]).toMatch(/^sandbox {2}email {2}paused .* wrong price$/m);
    await run('resume', 'sandbox');
    expect((await run('list'))[1]).toMatch(/^sandbox {2}email {2}enabled /m);
  }
  const long = ['channel', 'pause', '--org', tenant.slug, 'sandbox', '--reason', 'x'.repeat(501)];
  expect((await command(long, near)).stderr).toContain('--reason must be a single line of at most 500 characters');
  expect((await command(['channel', 'resume', '--org', tenant.slug, 'none'], near)).stderr).toContain(
    'no channel none',
  );
});
