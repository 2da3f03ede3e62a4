/** What services report about sent messages: stored once, matched to the delivery, and followed everywhere. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FeedbackEvent, type FeedbackType, feedbackEvent } from '../../src/core/feedback/event.ts';
import { matchLateFeedback, storeFeedback } from '../../src/services/history/feedback/feedback.ts';
import { sumStatistics } from '../../src/services/history/stats/stats.ts';
import { runMaintenance } from '../../src/services/operations/maintenance.ts';
import { type EngineWorld, joinWorld, sandbox, type Tenant, type TenantInput } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
});

const viaSandbox: TenantInput = { channels: [sandbox], notifications: [{ channels: ['sandbox'] }] };
const dayMs = 86_400_000;

const report = (tenant: Tenant, ...events: FeedbackEvent[]) =>
  storeFeedback(world.service.runtime.deps, tenant.id, null, 'postmark', events, Date.now());

const event = (type: FeedbackType, deliveryId: string, fields: Partial<FeedbackEvent> = {}) =>
  feedbackEvent({ type, deliveryId, at: '2026-11-17T10:03:00.000Z', ...fields });

const unknownUser = { permanent: true, reason: 'unknown_user', text: '550 5.1.1 no such user' } as const;

/** Sends one message to each user; returns the ids as services report them. */
async function send(tenant: Tenant) {
  const id = await tenant.trigger();
  await tenant.outcomes(id);
  const deliveries = await tenant.deliveries(id);
  return { id, refs: deliveries.map(one => `${id}.${one.id}`), deliveries };
}

const historyOf = async (tenant: Tenant, id: string, delivery: number) =>
  (await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/deliveries/${delivery}/feedback/` })).body;

test('a message that bounced is a failure in its delivery, occurrence, statistics and explanation', async () => {
  const tenant = await world.tenant({ users: ['ada@x.test', 'bob@x.test'], ...viaSandbox });
  const { id, refs, deliveries } = await send(tenant);
  const ada = deliveries.findIndex(one => one.user === 'ada@x.test');
  const stored = await report(tenant, event('bounced', refs[ada]!, unknownUser), event('delivered', refs[1 - ada]!));
  expect(stored).toEqual({ matched: 2, unmatched: 0 });
  expect(await tenant.outcomes(id)).toEqual(['ada@x.test failed: bounced', 'bob@x.test sent']);
  expect(await tenant.occurrence(id)).toMatchObject({ outcome: 'partly_failed', counts: { sent: 1, failed: 1 } });
  expect(await tenant.stats()).toEqual({ sent: 1, failed: 1 });
  expect(await historyOf(tenant, id, deliveries[ada]!.id)).toMatchObject([
    { type: 'bounced', permanent: true, reason: 'unknown_user', source: 'postmark', at: '2026-11-17T10:03:00.000Z' },
  ]);
  const why = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/why/?user=ada@x.test` });
  expect(why.body.answers[0]).toMatchObject({ outcome: 'failed', reason: 'bounced' });
  expect(why.body.answers[0].explanation).toMatch(
    /^It was sent to ada@x\.test via sandbox at \S+, but it did not arrive\. According to postmark, it bounced permanently at 2026-11-17T10:03:00\.000Z: the mailbox does not exist \(550 5\.1\.1 no such user\)\. The address has been on the suppression list since \S+\.$/,
  );
  const [entry] = (await tenant.ask({ path: `/api/o/${tenant.slug}/suppressions/` })).body;
  expect(entry).toMatchObject({ target: 'ada@x.test', reason: 'bounced', source: 'postmark' });
  const [cause] = await tenant.sql(
    'select f.type from suppressions s join feedback f on f.id::text = s.feedback_id where s.organization_id = $1',
    tenant.id,
  );
  expect(cause).toEqual({ type: 'bounced' });
  expect(await tenant.outcomes(await tenant.trigger())).toEqual([
    'ada@x.test suppressed: address.suppressed',
    'bob@x.test sent',
  ]);
});

test('an event is stored once, however often and by however many webhooks it is sent', async () => {
  const tenant = await world.tenant({ users: ['ada@x.test'], ...viaSandbox });
  const { id, refs, deliveries } = await send(tenant);
  const bounce = event('bounced', refs[0]!, unknownUser);
  expect(await report(tenant, bounce, bounce)).toEqual({ matched: 1, unmatched: 0 });
  expect(await report(tenant, bounce)).toEqual({ matched: 0, unmatched: 0 });
  expect(await historyOf(tenant, id, deliveries[0]!.id)).toHaveLength(1);
  const strange = event('opened', 'not ours');
  expect(await report(tenant, strange, strange)).toEqual({ matched: 0, unmatched: 1 });
  expect(await report(tenant, strange)).toEqual({ matched: 0, unmatched: 0 });
  expect(await tenant.stats()).toEqual({ sent: 0, failed: 1 });
});

test('messages are found by the Message-ID and by the id of a service that reports nothing else', async () => {
  const tenant = await world.tenant({ users: ['ada@x.test', 'bob@x.test'], ...viaSandbox });
  const { refs, deliveries } = await send(tenant);
  await tenant.sql(
    "update deliveries set provider = 'twilio', provider_message_id = 'SM1' where id = $1",
    deliveries[1]!.id,
  );
  const events = [
    feedbackEvent({ type: 'delivered', messageId: `<${refs[0]}@acme.test>` }),
    feedbackEvent({ type: 'delivered', messageId: 'SM1' }),
    feedbackEvent({ type: 'opened', deliveryId: refs[0]!.replace('.', '_') }),
    feedbackEvent({ type: 'delivered', messageId: 'SM2' }),
  ];
  expect(await report(tenant, ...events)).toEqual({ matched: 3, unmatched: 1 });
  const stranger = await world.tenant({ users: ['ada@x.test'], ...viaSandbox });
  expect(await report(stranger, ...events)).toEqual({ matched: 0, unmatched: 4 });
});

test('an event that comes before the outcome of its message is matched later', async () => {
  const tenant = await world.tenant({ users: ['ada@x.test'], ...viaSandbox });
  const { id, refs, deliveries } = await send(tenant);
  const isSending = (status: string) =>
    tenant.sql('update deliveries set status = $2 where id = $1', deliveries[0]!.id, status);
  await isSending('sending');
  expect(await report(tenant, event('bounced', refs[0]!, unknownUser))).toEqual({ matched: 0, unmatched: 1 });
  await isSending('sent');
  await matchLateFeedback(world.service.runtime.deps, Date.now());
  expect(await tenant.outcomes(id)).toEqual(['ada@x.test failed: bounced']);
  const path = `/api/o/${tenant.slug}/feedback/unmatched/`;
  expect((await tenant.ask({ path })).body).toEqual([]);
});

test('a complaint suppresses the address, is announced to webhooks and leaves the message as sent, marked as reported', async () => {
  const tenant = await world.tenant({ users: ['ada@x.test', 'bob@x.test'], ...viaSandbox });
  const { id, refs, deliveries } = await send(tenant);
  const types = ['delivery.failed', 'delivery.complained'];
  const hook = await tenant.post(`/api/o/${tenant.slug}/webhooks/`, {
    slug: 'ops',
    name: 'Ops',
    url: `${world.peer.url}/${tenant.slug}/ops`,
    types,
  });
  expect(hook.status, hook.text).toBe(201);
  const ada = deliveries.findIndex(one => one.user === 'ada@x.test');
  await report(tenant, event('complained', refs[ada]!), event('bounced', refs[1 - ada]!));
  const messages = await tenant.sql<{ type: string; reason: string | null; delivery: number }>(
    `select type, data ->> 'reason' as reason, (data ->> 'delivery')::int as delivery from webhook_messages
     where organization_id = $1 order by type`,
    tenant.id,
  );
  expect(messages).toEqual([
    { type: 'delivery.complained', reason: null, delivery: deliveries[ada]!.id },
    { type: 'delivery.failed', reason: 'bounced', delivery: deliveries[1 - ada]!.id },
  ]);
  expect(await tenant.outcomes(id)).toEqual(['ada@x.test sent', 'bob@x.test failed: bounced']);
  for (const [state, { id: delivery }] of [
    ['complained', deliveries[ada]!],
    ['bounced', deliveries[1 - ada]!],
  ] as const) {
    for (const list of ['activity/', `occurrence/${id}/deliveries/`]) {
      const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/${list}?state=${state}` });
      expect(body).toEqual([expect.objectContaining({ id: delivery, state })]);
    }
  }
  const [entry] = (await tenant.ask({ path: `/api/o/${tenant.slug}/suppressions/` })).body;
  expect(entry).toMatchObject({ target: 'ada@x.test', reason: 'complained' });
});

test('five temporary bounces in at least seven days suppress the address, unless a message arrived in between', async () => {
  const tenant = await world.tenant({ users: ['ada@x.test', 'bob@x.test', 'cid@x.test'], ...viaSandbox });
  const { refs, deliveries } = await send(tenant);
  const ref = (name: string) => refs[deliveries.findIndex(one => one.user === `${name}@x.test`)]!;
  const at = (daysAgo: number) => new Date(Date.now() - daysAgo * dayMs).toISOString();
  const full = (name: string, daysAgo: number) =>
    event('bounced', ref(name), { permanent: false, reason: 'mailbox_full', at: at(daysAgo) });
  for (const days of [8, 6, 4, 2]) await report(tenant, full('ada', days), full('bob', days), full('cid', days / 2));
  await report(tenant, event('delivered', ref('bob'), { at: at(3) }));
  const listed = async () =>
    (await tenant.ask({ path: `/api/o/${tenant.slug}/suppressions/` })).body.map(
      (one: { target: string }) => one.target,
    );
  expect(await listed()).toEqual([]);
  await report(tenant, full('ada', 0), full('bob', 0), full('cid', 0));
  expect(await listed()).toEqual(['ada@x.test']);
});

test('a bounce is corrected in days that were summed already', { tags: ['sweep'] }, async () => {
  const tenant = await world.tenant({ users: ['ada@x.test'], ...viaSandbox });
  const { refs } = await send(tenant);
  const earlier = "interval '3 days'";
  await tenant.sql(`update deliveries set sent_at = sent_at - ${earlier} where organization_id = $1`, tenant.id);
  await tenant.sql(`update delivery_stats set hour = hour - ${earlier} where organization_id = $1`, tenant.id);
  await tenant.sql('delete from summed_stats where organization_id = $1', tenant.id);
  await sumStatistics(world.service.runtime.deps, Date.now());
  await report(tenant, event('bounced', refs[0]!, unknownUser));
  const { hours, channels, events } = (await tenant.ask({ path: `/api/o/${tenant.slug}/stats/?hours=168` })).body;
  const sum = (rows: { by_status: Record<string, number> }[], status: string) =>
    rows.reduce((total, row) => total + row.by_status[status]!, 0);
  for (const rows of [hours, channels, events]) expect([sum(rows, 'sent'), sum(rows, 'failed')]).toEqual([0, 1]);
});

test('all messages of a digest bounce with it', async () => {
  const digest = { every: '1h' };
  const tenant = await world.tenant({
    users: ['ada@x.test'],
    channels: [sandbox],
    notifications: [{ channels: ['sandbox'], digest }],
  });
  const ids = [await tenant.trigger(), await tenant.trigger()];
  for (const id of ids) await tenant.until(id, 'pending');
  await tenant.sql(
    "update deliveries set due_at = now() where organization_id = $1 and due_at < '9999-01-01'",
    tenant.id,
  );
  await tenant.sql('notify belfry_work');
  for (const id of ids) expect(await tenant.outcomes(id)).toEqual(['ada@x.test sent']);
  const [carrier] = await tenant.deliveries(ids[0]!);
  await report(tenant, event('bounced', `${ids[0]}.${carrier!.id}`, unknownUser));
  for (const id of ids) expect(await tenant.outcomes(id)).toEqual(['ada@x.test failed: bounced']);
});

test('a thousand events take a few statements', { tags: ['sweep'] }, async () => {
  const users = Array.from({ length: 250 }, (_, i) => `p${i}@x.test`);
  const tenant = await world.tenant({ users, ...viaSandbox });
  const { refs } = await send(tenant);
  const { deps } = world.service.runtime;
  const texts: string[] = [];
  const db = deps.db.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      texts.push('statement');
      return result;
    },
  });
  const types = ['delivered', 'bounced', 'opened', 'clicked'] as const;
  const events = refs.flatMap(ref => types.map(type => event(type, ref, type === 'bounced' ? unknownUser : {})));
  expect(await storeFeedback({ ...deps, db }, tenant.id, null, 'postmark', events, Date.now())).toEqual({
    matched: 1_000,
    unmatched: 0,
  });
  expect(texts.length).toBeLessThan(15);
  const listed = await tenant.ask({ path: `/api/o/${tenant.slug}/feedback/?type=bounced` });
  expect(listed.body).toHaveLength(250);
  expect((await tenant.ask({ path: `/api/o/${tenant.slug}/suppressions/` })).body).toHaveLength(250);
});

test('unmatched events are deleted after 30 days, and feedback with its occurrence', { tags: ['sweep'] }, async () => {
  const tenant = await world.tenant({ users: ['ada@x.test'], ...viaSandbox });
  const { deps } = world.service.runtime;
  await storeFeedback(deps, tenant.id, null, 'postmark', [event('opened', 'old')], Date.now() - 31 * dayMs);
  await storeFeedback(deps, tenant.id, null, 'postmark', [event('opened', 'new')], Date.now() - 29 * dayMs);
  await runMaintenance(deps, Date.now());
  const unmatched = await tenant.ask({ path: `/api/o/${tenant.slug}/feedback/unmatched/` });
  expect(unmatched.body).toMatchObject([{ delivery_ref: 'new', type: 'opened' }]);
  const { refs } = await send(tenant);
  await report(tenant, event('delivered', refs[0]!));
  await tenant.sql('update organizations set retention_days = 1 where id = $1', tenant.id);
  await runMaintenance(deps, Date.now() + 2 * dayMs);
  expect(await tenant.sql('select id from feedback where organization_id = $1', tenant.id)).toEqual([]);
  await tenant.sql('delete from delivery_stats where organization_id = $1', tenant.id);
});
