/** Explains why a user received a message or not, with the decisions of the engine. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(() => world.close());

async function why(tenant: Tenant, occurrence: string, user: string) {
  const path = `/api/o/${tenant.slug}/occurrence/${occurrence}/why/?user=${encodeURIComponent(user)}`;
  const answer = await tenant.ask({ path });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

const reasonsOf = ({ answers }: { answers: { notification: string; outcome: string; reason: string }[] }) =>
  Object.fromEntries(answers.map(one => [one.notification, `${one.outcome} ${one.reason}`]));

test('sent, suppressed and failed deliveries are explained in a sentence', async () => {
  const tenant = await world.tenant({ users: ['a@x.test', { email: 'l@x.test', locked: true }] });
  const sent = await tenant.trigger();
  await tenant.outcomes(sent);
  const explanation = await why(tenant, sent, 'A@X.test');
  expect(explanation).toMatchObject({ user: { username: 'a@x.test' }, final: true });
  expect(explanation.deliveries).toHaveLength(1);
  expect(explanation.answers).toEqual([
    expect.objectContaining({ notification: 'n1', channel: 'hooks', outcome: 'sent', reason: null }),
  ]);
  expect(explanation.answers[0].explanation).toMatch(/^It was sent to .* via hooks at 20/);

  const locked = await why(tenant, sent, 'l@x.test');
  expect(reasonsOf(locked)).toEqual({ n1: 'suppressed user.locked' });
  expect(locked.answers[0].explanation).toContain('the user is locked');

  tenant.answer({ status: 400 });
  const failed = await tenant.trigger();
  await tenant.outcomes(failed);
  expect(reasonsOf(await why(tenant, failed, 'a@x.test'))).toEqual({ n1: 'failed provider.failed' });
});

test('each notification without a delivery for the user is explained', async () => {
  const tenant = await world.tenant({
    users: ['a@x.test', { email: 'out@x.test', custom_fields: { tier: 'gold' } }],
    members: ['a@x.test'],
    notifications: [
      {},
      { filter: 'n == `1`' },
      { recipients: { users: "custom_fields.tier == 'silver'" } },
      { recipients: { trigger: true } },
      { active: false },
      { environs: ['production'] },
    ],
  });
  const occurrence = await tenant.trigger({ environs: ['staging'], recipients: ['a@x.test'] }, { n: 2 });
  await tenant.outcomes(occurrence);
  const explanation = await why(tenant, occurrence, 'out@x.test');
  expect(explanation.deliveries).toEqual([]);
  expect(reasonsOf(explanation)).toEqual({
    n1: 'none list.not_member',
    n2: 'none filter.no_match',
    n3: 'none recipient.not_selected',
    n4: 'none recipient.not_named',
    n5: 'none notification.inactive',
    n6: 'none notification.environ',
  });
  expect(explanation.answers[0].explanation).toBe(
    'It was not sent: the user is not a member of the list (the list All).',
  );
});

test('exclusion by a trigger option and an inactive membership have different reasons', async () => {
  const tenant = await world.tenant({ users: ['a@x.test', 'b@x.test'] });
  await tenant.sql(
    `update members m set active = false from addresses a
     where a.id = m.address_id and a.value = 'b@x.test' and m.organization_id = $1`,
    tenant.id,
  );
  const occurrence = await tenant.trigger();
  await tenant.outcomes(occurrence);
  expect(reasonsOf(await why(tenant, occurrence, 'b@x.test'))).toEqual({ n1: 'suppressed member.inactive' });
  const limited = await tenant.trigger({ limit_to: ['b@x.test'] });
  await tenant.outcomes(limited);
  expect(reasonsOf(await why(tenant, limited, 'a@x.test'))).toEqual({ n1: 'none options.limit_to' });
});

test('unknown, later added and deleted users are explained, and users are found by phone number', async () => {
  const addresses = [{ name: 'phone', value: '+15555550100' }];
  const tenant = await world.tenant({ users: ['a@x.test', { email: 'b@x.test', addresses }], members: ['a@x.test'] });
  const occurrence = await tenant.trigger();
  await tenant.outcomes(occurrence);
  const unknownUser = await why(tenant, occurrence, 'nobody@x.test');
  expect(unknownUser).toMatchObject({ user: null, deliveries: [] });
  expect(unknownUser.answers[0]).toMatchObject({ reason: 'user.unknown', outcome: 'none' });
  expect(unknownUser.answers[0].explanation).toContain('nobody@x.test');
  expect((await why(tenant, occurrence, '+1 555 555 0100')).user.username).toBe('b@x.test');

  await tenant.apply({ users: ['a@x.test', 'b@x.test'] });
  expect(reasonsOf(await why(tenant, occurrence, 'b@x.test'))).toEqual({ n1: 'none recipient.since' });

  await tenant.sql("delete from users where username = 'a@x.test' and organization_id = $1", tenant.id);
  const deleted = await why(tenant, occurrence, 'a@x.test');
  expect(deleted).toMatchObject({ user: null, deliveries: [{ user: null, address: 'a@x.test' }] });
  expect(deleted.answers).toEqual([
    expect.objectContaining({ outcome: 'sent' }),
    expect.objectContaining({ reason: 'user.unknown' }),
  ]);
});

test('the explanation of a waiting occurrence is not final', async () => {
  const tenant = await world.tenant({ users: ['a@x.test'] });
  const later = await tenant.trigger({ delay: '1h' });
  const explanation = await why(tenant, later, 'a@x.test');
  expect(explanation.final).toBe(false);
  expect(reasonsOf(explanation)).toEqual({ n1: 'none occurrence.waiting' });
  expect(explanation.answers[0]).toMatchObject({
    state: 'scheduled',
    explanation: expect.stringMatching(/^It is scheduled: .* \(due at 20/),
  });
  expect(explanation.summary).toMatch(/^Will be sent at 20/);
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${later}/cancel/`);
  expect((await why(tenant, later, 'a@x.test')).answers).toEqual([
    expect.objectContaining({ notification: 'n1', reason: 'cancelled', state: 'none' }),
  ]);
});

test('what a paused event holds is not explained as not sent, and those left out as things are', async () => {
  const tenant = await world.tenant({ users: ['a@x.test', 'b@x.test'], members: ['a@x.test'] });
  await tenant.post(`${tenant.event}pause/`);
  const held = await tenant.trigger();
  await eventually(async () => expect(await tenant.occurrence(held)).toMatchObject({ outcome: 'held' }));
  const text =
    'Held, and sent when the pause ends: the event, its application, project, organization or API key is paused.';
  const explanation = await why(tenant, held, 'a@x.test');
  expect(explanation).toMatchObject({ final: false, summary: text });
  expect(explanation.answers).toEqual([
    expect.objectContaining({
      state: 'held',
      explanation:
        'It is held, and sent when the pause ends: the event, its application, project, organization or API key is paused.',
    }),
  ]);
  expect((await why(tenant, held, 'b@x.test')).answers[0]).toMatchObject({
    state: 'none',
    explanation: 'It would not be sent: the user is not a member of the list (the list All).',
  });
  await tenant.post(`${tenant.event}resume/`);
});

test('a user who shares an address with another gets the reason duplicate', async () => {
  const shared = [{ name: 'webhook', value: 'https://hooks.x.test/room' }];
  const tenant = await world.tenant({
    users: [
      { email: 'a@x.test', addresses: shared },
      { email: 'b@x.test', addresses: shared },
    ],
    channels: [{ slug: 'sandbox', name: 'Sandbox', type: 'webhook', providers: [{ use: 'sandbox' }] }],
    notifications: [{ channels: ['sandbox'] }],
  });
  const occurrence = await tenant.trigger();
  await tenant.outcomes(occurrence);
  const reasons = [
    reasonsOf(await why(tenant, occurrence, 'a@x.test')).n1,
    reasonsOf(await why(tenant, occurrence, 'b@x.test')).n1,
  ];
  expect(reasons.sort()).toEqual(['none duplicate', 'sent null']);
});
