/** Acknowledgements that end: they expire, are a snooze, or are taken back. Then the steps run again, from the first one. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld({ BASE_URL: 'https://belfry.test' });
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
});

const people = { users: ['ann@x.test', 'eve@x.test'], members: ['ann@x.test'], lists: { 'On call': ['eve@x.test'] } };
const escalation = [
  { channels: ['hooks'] },
  { after: '1h', unless: 'acknowledged', channels: ['hooks'], recipients: { list: 'On call' } },
];

const tenantWith = (more: object = {}, steps: object[] = escalation) =>
  world.tenant({ ...people, notifications: [{ steps, ...more }] });

const act = async (tenant: Tenant, id: string, what: string, body?: object) =>
  tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/${what}/`, body);

const read = async (tenant: Tenant, id: string, what: string) =>
  (await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/${what}/` })).body;

const responses = async (tenant: Tenant, id: string) =>
  ((await read(tenant, id, 'responses')) as { kind: string; by: string | null }[]).map(
    ({ kind, by }) => `${kind} ${by}`,
  );

const runs = async (tenant: Tenant, id: string) =>
  ((await read(tenant, id, 'steps')) as { number: number; step: number; status: string; reason: string | null }[]).map(
    ({ number, step, status, reason }) => `${number} ${step} ${status}${reason ? `: ${reason}` : ''}`,
  );

const receivers = (tenant: Tenant) => tenant.received().map(({ to }) => to);

async function begun(tenant: Tenant, id: string, messages = 1): Promise<void> {
  await eventually(async () => {
    expect(receivers(tenant)).toHaveLength(messages);
    expect(await tenant.occurrence(id)).toMatchObject({ counts: { pending: 0 } });
  }, 8_000);
}

/** Lets time pass until the acknowledgement ends, and this much more. */
async function passUntilEnd(tenant: Tenant, more = '0 s'): Promise<void> {
  await tenant.sql(
    `with given as (select date_trunc('milliseconds', now()) - $1::interval as at), o as (
       update occurrences set acknowledged_until = at from given where organization_id = ${tenant.id} and acknowledged_until is not null
     )
     update steps set due_at = at, began_at = at from given where organization_id = ${tenant.id} and status = 'waiting'`,
    more,
  );
  await tenant.sql('notify belfry_work');
}

async function makeStepsDue(tenant: Tenant): Promise<void> {
  await tenant.sql(`update steps set due_at = now() where organization_id = ${tenant.id} and status = 'waiting'`);
  await tenant.sql('notify belfry_work');
}

const isEscalating = (tenant: Tenant, id: string) =>
  eventually(async () => expect(await tenant.occurrence(id)).toMatchObject({ outcome: 'escalating' }), 8_000);

test('an acknowledgement that expires lets the occurrence escalate again from the first step, until it is resolved', async () => {
  const tenant = await tenantWith({ acknowledgement_expires: '4h' });
  const id = await tenant.trigger({ dedup_key: 'disk' });
  await begun(tenant, id);
  const { acknowledged_until } = (await act(tenant, id, 'acknowledge')).body;
  expect(Date.parse(acknowledged_until) - Date.now()).toBeGreaterThan(3.9 * 3_600_000);
  expect(await tenant.occurrence(id)).toMatchObject({
    status: 'sending',
    outcome: 'acknowledged',
    acknowledged_until,
    summary: `Acknowledged by API key test. Escalates again at ${acknowledged_until}. The message was sent.`,
  });
  expect(await runs(tenant, id)).toEqual(['1 1 done', '2 2 ended: acknowledged', '3 1 planned', '4 2 planned']);
  // Made due early, it waits for the end of the acknowledgement.
  await makeStepsDue(tenant);
  await eventually(async () => {
    const [row] = await tenant.sql<{ due_at: Date }>(
      `select due_at from steps where organization_id = ${tenant.id} and status = 'waiting' and owner is null`,
    );
    expect(row?.due_at.toISOString()).toBe(acknowledged_until);
  });
  expect(receivers(tenant)).toHaveLength(1);
  await passUntilEnd(tenant);
  await begun(tenant, id, 2);
  expect(await tenant.occurrence(id)).toMatchObject({
    outcome: 'escalating',
    acknowledged_at: null,
    acknowledged_by: null,
    acknowledged_until: null,
  });
  expect(await runs(tenant, id)).toEqual(['1 1 done', '2 2 ended: acknowledged', '3 1 done', '4 2 planned']);
  await makeStepsDue(tenant);
  await begun(tenant, id, 3);
  expect(receivers(tenant)).toEqual(['ann@x.test', 'ann@x.test', 'eve@x.test']);
  expect(await tenant.occurrence(id)).toMatchObject({ outcome: 'unacknowledged', status: 'completed' });
  expect((await act(tenant, id, 'acknowledge')).body).toMatchObject({ changed: true });
  expect(await tenant.trigger({ dedup_key: 'disk' })).toBe(id);
  expect((await act(tenant, id, 'resolve')).body).toMatchObject({ changed: true, acknowledged_until: null });
  await makeStepsDue(tenant);
  expect(await tenant.occurrence(id)).toMatchObject({ outcome: 'resolved', status: 'completed' });
  expect(await responses(tenant, id)).toEqual([
    'acknowledged API key test',
    'expired null',
    'acknowledged API key test',
    'resolved API key test',
  ]);
  expect(receivers(tenant)).toHaveLength(3);
});

test('a snoozed occurrence escalates again when the snooze ends, unless it was acknowledged meanwhile', async () => {
  const tenant = await tenantWith();
  const [first, second] = [await tenant.trigger(), await tenant.trigger()];
  await Promise.all([begun(tenant, first, 2), begun(tenant, second, 2)]);
  const { body } = await act(tenant, first, 'snooze', { until: '08:00', timezone: 'Asia/Kathmandu' });
  expect(body).toMatchObject({ changed: true, snoozed_by: 'API key test', acknowledged_by: 'API key test' });
  expect(body.acknowledged_until).toMatch(/T02:15:00\.000Z$/);
  expect(await tenant.occurrence(first)).toMatchObject({
    outcome: 'acknowledged',
    state: 'snoozed',
    summary: expect.stringContaining(`Snoozed by API key test until ${body.acknowledged_until}.`),
  });
  expect((await act(tenant, first, 'snooze', { for: '2h' })).body.changed).toBe(true);
  await act(tenant, second, 'snooze', { for: '1h' });
  const taken = await act(tenant, second, 'acknowledge');
  expect(taken.body).toMatchObject({ changed: true, acknowledged_until: null, snoozed_by: null });
  await passUntilEnd(tenant);
  await begun(tenant, first, 3);
  expect(await runs(tenant, first)).toEqual(['1 1 done', '2 2 ended: acknowledged', '3 1 done', '4 2 planned']);
  expect(await runs(tenant, second)).toEqual(['1 1 done', '2 2 ended: acknowledged']);
  expect(await tenant.occurrence(second)).toMatchObject({ status: 'completed', outcome: 'acknowledged' });
  expect(await responses(tenant, first)).toEqual(['snoozed API key test', 'snoozed API key test', 'snooze_ended null']);
  const audit = await tenant.ask({ path: `/api/o/${tenant.slug}/audit/?noun=occurrence` });
  expect(audit.body.map((one: { action: string }) => one.action)).toEqual([
    'acknowledge',
    'snooze',
    'snooze',
    'snooze',
  ]);
});

test('snoozing names what is wrong with its time, and needs steps and an open occurrence', async () => {
  const tenant = await tenantWith();
  const id = await tenant.trigger();
  await begun(tenant, id);
  const refused = async (body: object) => {
    const { status, body: problem } = await act(tenant, id, 'snooze', body);
    return `${status} ${JSON.stringify(problem.errors ?? problem.code)}`;
  };
  expect(await refused({})).toMatch(/^400 .*set either for or until/);
  expect(await refused({ for: '8d' })).toMatch(/^400 .*at most 7d/);
  expect(await refused({ until: '2020-01-01T00:00:00Z' })).toMatch(/^400 .*in the future/);
  expect(await refused({ until: 'tomorrow' })).toMatch(/^400 .*a time of day/);
  expect(await refused({ until: '08:00', timezone: 'Mars/Base' })).toMatch(/^400 .*time zone/);
  await act(tenant, id, 'resolve');
  expect((await act(tenant, id, 'snooze', { for: '1h' })).body).toMatchObject({ changed: false, snoozed_by: null });
  expect((await act(tenant, id, 'unacknowledge')).body).toMatchObject({ changed: false });
  const plain = await world.tenant({ ...people, notifications: [{}] });
  const other = await plain.trigger();
  await plain.outcomes(other);
  expect(await act(plain, other, 'snooze', { for: '1h' })).toMatchObject({
    status: 409,
    body: { code: 'occurrence.no_steps' },
  });
});

test('an acknowledgement that is taken back lets the occurrence escalate again at once', async () => {
  const tenant = await tenantWith({}, [
    { channels: ['hooks'] },
    { after: '1h', unless: 'sent', channels: ['hooks'] },
    { after: '1h', unless: 'acknowledged', channels: ['hooks'] },
  ]);
  const id = await tenant.trigger();
  await begun(tenant, id);
  expect((await act(tenant, id, 'unacknowledge')).body).toMatchObject({ changed: false });
  await act(tenant, id, 'acknowledge');
  expect((await act(tenant, id, 'unacknowledge')).body).toMatchObject({ changed: true, acknowledged_at: null });
  await begun(tenant, id, 2);
  await isEscalating(tenant, id);
  // What an earlier round sent does not count for `sent`; what this one sent does.
  await makeStepsDue(tenant);
  await eventually(async () =>
    expect((await runs(tenant, id)).slice(2)).toEqual(['3 1 done', '4 2 skipped: unless.sent', '5 3 planned']),
  );
  expect(await responses(tenant, id)).toEqual(['acknowledged API key test', 'unacknowledged API key test']);
});

test('an acknowledgement that ended long ago pages no one, and is reported as unacknowledged', async () => {
  const tenant = await tenantWith({ give_up_after: '6h' });
  const id = await tenant.trigger();
  await begun(tenant, id);
  await act(tenant, id, 'snooze', { for: '1h' });
  await passUntilEnd(tenant, '60 days');
  await eventually(async () =>
    expect(await tenant.occurrence(id)).toMatchObject({
      status: 'completed',
      outcome: 'unacknowledged',
      reason: 'gave_up',
    }),
  );
  expect(await runs(tenant, id)).toEqual(['1 1 done', '2 2 ended: acknowledged', '3 1 ended: gave_up']);
  expect(receivers(tenant)).toHaveLength(1);
});

test('messages of a later round are sent although the occurrence is older than give_up_after', async () => {
  const tenant = await tenantWith({ give_up_after: '6h' });
  const id = await tenant.trigger();
  await begun(tenant, id);
  await tenant.sql(`update occurrences set due_at = due_at - interval '3 days' where organization_id = ${tenant.id}`);
  await act(tenant, id, 'snooze', { for: '1h' });
  await passUntilEnd(tenant);
  await begun(tenant, id, 2);
});

test('an occurrence that is snoozed before its recipients are resolved escalates for the first time afterwards', async () => {
  const tenant = await tenantWith();
  const id = await tenant.trigger({ send_at: new Date(Date.now() + 3_600_000).toISOString() });
  expect((await act(tenant, id, 'snooze', { for: '2h' })).body).toMatchObject({ changed: true });
  await tenant.sql(`update occurrences set due_at = now() where organization_id = ${tenant.id}`);
  await tenant.sql('notify belfry_work');
  await eventually(async () => expect(await runs(tenant, id)).toEqual(['1 1 planned', '2 2 planned']), 8_000);
  expect(receivers(tenant)).toEqual([]);
  await passUntilEnd(tenant);
  await begun(tenant, id);
  await isEscalating(tenant, id);
});

test('webhooks report that an occurrence was snoozed and is open again', async () => {
  const tenant = await tenantWith();
  const types = ['occurrence.snoozed', 'occurrence.reopened'];
  const made = await tenant.post(`/api/o/${tenant.slug}/webhooks/`, {
    slug: 'ops',
    name: 'Ops',
    url: `${world.peer.url}/${tenant.slug}/ops`,
    types,
  });
  expect(made.status).toBe(201);
  const id = await tenant.trigger();
  await begun(tenant, id);
  await act(tenant, id, 'snooze', { for: '1h' });
  await act(tenant, id, 'unacknowledge');
  await act(tenant, id, 'snooze', { for: '1h' });
  await passUntilEnd(tenant);
  await eventually(async () => {
    const rows = await tenant.sql<{ type: string; data: { reason?: string; until?: string } }>(
      `select type, data from webhook_messages where organization_id = ${tenant.id} order by id`,
    );
    expect(rows.map(({ type, data }) => `${type} ${data.reason ?? typeof data.until}`)).toEqual([
      'occurrence.snoozed string',
      'occurrence.reopened unacknowledged',
      'occurrence.snoozed string',
      'occurrence.reopened snooze_ended',
    ]);
  }, 8_000);
});
