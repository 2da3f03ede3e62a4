/** Steps: they run one after the other until someone acknowledges, whatever happens in between. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countStepCrash } from '../../src/db/ledger/steps/steps.ts';
import { eventually } from '../support/eventually.ts';
import { openHttpPeer } from '../support/http-peer.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld({ BASE_URL: 'https://belfry.test' });
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
});

const inbox = { slug: 'app', name: 'App', type: 'inbox', providers: [{ use: 'inbox' }] };
const people = { users: ['ann@x.test', 'bob@x.test', 'eve@x.test'], members: ['ann@x.test', 'bob@x.test'] };
const lists = { 'On call': ['eve@x.test'] };

async function tenantWithSteps(steps: object[], more: object = {}): Promise<Tenant> {
  return world.tenant({ ...people, lists, channels: [{ slug: 'hooks' }, inbox], notifications: [{ steps, ...more }] });
}

const steps = async (tenant: Tenant, id: string) =>
  (await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/steps/` })).body as Record<string, unknown>[];

const summaries = async (tenant: Tenant, id: string) =>
  (await tenant.deliveries(id)).map(
    one => `${one.step} ${one.user} ${one.channel} ${one.status}${one.reason ? `: ${one.reason}` : ''}`,
  );

/** Makes all waiting steps of the tenant due. */
async function makeStepsDue(tenant: Tenant): Promise<void> {
  await tenant.sql(`update steps set due_at = now() where status = 'waiting' and organization_id = ${tenant.id}`);
  await tenant.sql('notify belfry_work');
}

const finishedRun = (tenant: Tenant, id: string, number: number) =>
  eventually(async () => {
    const found = (await steps(tenant, id)).find(one => one.number === number);
    expect(['done', 'skipped', 'ended']).toContain(found?.status);
    const deliveries = await tenant.deliveries(id);
    expect(deliveries.filter(one => ['pending', 'sending'].includes(one.status))).toEqual([]);
    return found!;
  }, 8_000);

const act = (tenant: Tenant, id: string, what: string) =>
  tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/${what}/`);

test('steps notify recipients one after the other, except recipients who have read it', async () => {
  const tenant = await tenantWithSteps([
    { channels: ['app'] },
    { after: '1h', unless: 'read', channels: ['hooks'] },
    { after: '1h', channels: ['hooks'], recipients: { list: 'On call' }, repeat: 2 },
  ]);
  const id = await tenant.trigger();
  await finishedRun(tenant, id, 1);
  expect(await tenant.occurrence(id)).toMatchObject({ status: 'sending', outcome: 'escalating', completed_at: null });
  const explanation = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/why/?user=eve@x.test` });
  expect(explanation.body.answers).toMatchObject([{ outcome: 'none', reason: 'step.waiting' }]);
  expect((await steps(tenant, id)).map(one => `${one.number} ${one.step} ${one.status}`)).toEqual([
    '1 1 done',
    '2 2 planned',
    '3 3 planned',
    '4 3 planned',
  ]);
  await tenant.post(`/api/o/${tenant.slug}/u/ann@x.test/inbox/read/`, {});
  await makeStepsDue(tenant);
  await finishedRun(tenant, id, 2);
  await makeStepsDue(tenant);
  await finishedRun(tenant, id, 3);
  await makeStepsDue(tenant);
  await finishedRun(tenant, id, 4);
  expect(await summaries(tenant, id)).toEqual([
    '1 ann@x.test app sent',
    '1 bob@x.test app sent',
    '2 ann@x.test hooks suppressed: unless.read',
    '2 bob@x.test hooks sent',
    '3 eve@x.test hooks sent',
    '4 eve@x.test hooks sent',
  ]);
  expect(tenant.received().map(({ to }) => to)).toEqual(['bob@x.test', 'eve@x.test', 'eve@x.test']);
  await eventually(async () => {
    expect(await tenant.occurrence(id)).toMatchObject({ status: 'completed', outcome: 'sent' });
  });
});

test('an acknowledgement ends all later steps, and only the first one counts', async () => {
  const tenant = await tenantWithSteps([
    { channels: ['hooks'] },
    { after: '1h', unless: 'acknowledged', channels: ['hooks'], recipients: { list: 'On call' } },
  ]);
  const id = await tenant.trigger();
  await finishedRun(tenant, id, 1);
  const listed = async () =>
    (await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/?unacknowledged=true` })).body.length;
  expect(await listed()).toBe(1);
  const first = await act(tenant, id, 'acknowledge');
  expect(first).toMatchObject({ status: 200, body: { changed: true, acknowledged_by: 'API key test' } });
  const second = await act(tenant, id, 'acknowledge');
  expect(second.body).toEqual({ ...first.body, changed: false });
  expect(await listed()).toBe(0);
  await makeStepsDue(tenant);
  expect(await tenant.occurrence(id)).toMatchObject({
    status: 'completed',
    outcome: 'acknowledged',
    acknowledged_by: 'API key test',
  });
  expect((await steps(tenant, id))[1]).toMatchObject({ number: 2, status: 'ended', reason: 'acknowledged' });
  expect(tenant.received()).toHaveLength(2);
  const audit = await tenant.ask({ path: `/api/o/${tenant.slug}/audit/?noun=occurrence` });
  expect(audit.body.map((one: { action: string }) => one.action)).toEqual(['acknowledge']);
});

test('an acknowledgement cancels deliveries of steps that wait for a retry, and no others', async () => {
  const tenant = await world.tenant({
    ...people,
    notifications: [{ steps: [{ channels: ['hooks'] }] }, { recipients: { list: 'All' } }],
  });
  tenant.answer({ status: 503 });
  const id = await tenant.trigger();
  await eventually(async () =>
    expect((await tenant.deliveries(id)).map(one => one.status)).toEqual(Array(4).fill('retrying')),
  );
  expect((await act(tenant, id, 'acknowledge')).body).toMatchObject({ cancelled: 2 });
  expect(await summaries(tenant, id)).toEqual([
    'null ann@x.test hooks retrying: provider.failed',
    'null bob@x.test hooks retrying: provider.failed',
    '1 ann@x.test hooks cancelled: acknowledged',
    '1 bob@x.test hooks cancelled: acknowledged',
  ]);
  tenant.answer({});
  await tenant.hurry();
  await tenant.outcomes(id);
});

test('a button in the inbox acknowledges and records who pressed it', async () => {
  const actions = [
    { name: 'mine', label: 'I take it', acknowledge: true },
    { name: 'runbook', label: 'Runbook', url: '/runbook' },
  ];
  const tenant = await tenantWithSteps(
    [{ channels: ['app'] }, { after: '1h', unless: 'acknowledged', channels: ['hooks'] }],
    { message: { subject: 'Disk full', body: 'On db-1', actions } },
  );
  const id = await tenant.trigger();
  await finishedRun(tenant, id, 1);
  const press = async (user: string, action: string) => {
    const inbox = `/api/o/${tenant.slug}/u/${user}/inbox/`;
    const [message] = (await tenant.ask({ path: inbox })).body;
    return tenant.post(`${inbox}${message.id}/act/`, { action });
  };
  expect((await press('bob@x.test', 'runbook')).body).toMatchObject({ action: 'runbook' });
  expect(await press('bob@x.test', 'mine')).toMatchObject({ status: 409, body: { code: 'message.acted' } });
  expect(await tenant.occurrence(id)).toMatchObject({ acknowledged_at: null });

  expect((await press('ann@x.test', 'mine')).body).toMatchObject({ action: 'mine', acted_at: expect.any(String) });
  expect(await tenant.occurrence(id)).toMatchObject({ acknowledged_by: 'ann@x.test', outcome: 'acknowledged' });
  expect((await steps(tenant, id))[1]).toMatchObject({ number: 2, status: 'ended', reason: 'acknowledged' });
});

test('the link in a message opens a page whose button acknowledges', async () => {
  const tenant = await tenantWithSteps(
    [{ channels: ['hooks'] }, { after: '1h', unless: 'acknowledged', channels: ['hooks'] }],
    {
      message: { subject: '{{ user.email }}', body: '{{ acknowledge_url }}' },
    },
  );
  const id = await tenant.trigger();
  await finishedRun(tenant, id, 1);
  const url = new URL(tenant.received()[0]!.text);
  const path = `${world.service.address}${url.pathname}`;
  const shown = await fetch(path);
  expect(shown.status).toBe(200);
  expect(await shown.text()).toContain('<button type="submit">Acknowledge</button>');
  expect(await tenant.occurrence(id)).toMatchObject({ acknowledged_at: null });
  const done = await fetch(path, { method: 'POST', headers: { 'accept-language': 'de' } });
  expect(await done.text()).toContain('Übernommen von ann@x.test');
  expect(await tenant.occurrence(id)).toMatchObject({ acknowledged_by: 'ann@x.test', outcome: 'acknowledged' });
  expect((await fetch(`${path.slice(0, -2)}xx`, { method: 'POST' })).status).toBe(404);
  expect((await fetch(`${world.service.address}/acknowledge/preview`)).status).toBe(200);
});

test('pressing 1 during a call acknowledges; another key, or a forged link, changes nothing', async () => {
  const peer = await openHttpPeer({ status: 201, body: '{"sid":"CA1"}' });
  const use = { use: 'twilio-voice', account_sid: `AC${'0'.repeat(32)}`, auth_token: 'x', from: '+15555550100' };
  const tenant = await world.tenant({
    users: [{ email: 'ann@x.test', locale: 'de', addresses: [{ name: 'voice', value: '+15555550123' }] }],
    channels: [{ slug: 'call', name: 'Call', type: 'voice', providers: [{ ...use, endpoint: peer.url }] }],
    notifications: [
      {
        steps: [{ channels: ['call'] }, { after: '1h', unless: 'acknowledged', channels: ['call'] }],
        message: { body: 'Fire' },
      },
    ],
  });
  const id = await tenant.trigger();
  await finishedRun(tenant, id, 1);
  const twiml = new URLSearchParams(peer.seen[0]!.body).get('Twiml')!;
  expect(twiml).toContain('<Say language="de-DE">Fire</Say>');
  const action = new URL(/action="([^"]+)"/.exec(twiml)![1]!);
  const press = (digit: string, path = action.pathname) =>
    fetch(`${world.service.address}${path}`, { method: 'POST', body: new URLSearchParams({ Digits: digit }) });
  expect((await press('2')).status).toBe(200);
  expect((await press('1', action.pathname.replace(/..\/call$/, 'xx/call'))).status).toBe(401);
  expect(await tenant.occurrence(id)).toMatchObject({ acknowledged_at: null });
  const answer = await press('1');
  expect(answer.headers.get('content-type')).toBe('text/xml; charset=utf-8');
  expect(await answer.text()).toMatch(/<Say language="de-DE">Übernommen von ann@x\.test/);
  expect(await tenant.occurrence(id)).toMatchObject({ acknowledged_by: 'ann@x.test', outcome: 'acknowledged' });
  await makeStepsDue(tenant);
  expect((await steps(tenant, id))[1]).toMatchObject({ number: 2, status: 'ended', reason: 'acknowledged' });
  expect(peer.seen).toHaveLength(1);
  await peer.close();
});

test('triggers with one dedup key join the open occurrence, and resolving it notifies the recipients so far', async () => {
  const tenant = await tenantWithSteps([{ channels: ['hooks'] }, { after: '1h', channels: ['hooks'] }], {
    notify_resolved: true,
  });
  const ids = await Promise.all(Array.from({ length: 20 }, () => tenant.trigger({ dedup_key: 'disk' })));
  expect(new Set(ids).size).toBe(1);
  const [id] = ids as [string];
  await finishedRun(tenant, id, 1);
  expect(await tenant.occurrence(id)).toMatchObject({ triggers: 20, dedup_key: 'disk' });
  expect(tenant.received()).toHaveLength(2);
  expect(await tenant.trigger({ dedup_key: 'disk', resolve: true })).toBe(id);
  expect(await tenant.trigger({ dedup_key: 'disk', resolve: true })).toBe(id);
  await tenant.outcomes(id);
  expect(await tenant.occurrence(id)).toMatchObject({ outcome: 'resolved', resolved_by: 'API key test' });
  expect(
    tenant
      .received()
      .slice(2)
      .map(({ to, text }) => [to, text])
      .sort(),
  ).toEqual([
    ['Resolved: ann@x.test', 'Resolved.\n\nHello'],
    ['Resolved: bob@x.test', 'Resolved.\n\nHello'],
  ]);
  const another = await tenant.trigger({ dedup_key: 'disk' });
  expect(another).not.toBe(id);
  expect((await act(tenant, another, 'resolve')).body).toMatchObject({ changed: true });
  const nothing = await tenant.trigger({ dedup_key: 'other', resolve: true });
  await tenant.outcomes(nothing);
  expect(await tenant.occurrence(nothing)).toMatchObject({ outcome: 'no_recipients', reason: 'occurrence.not_open' });
});

test('a trigger repeated with its idempotency key is not counted again', async () => {
  const tenant = await tenantWithSteps([{ channels: ['hooks'] }]);
  const again = { dedup_key: 'disk', idempotency_key: 'one' };
  const ids = [await tenant.trigger(again), await tenant.trigger(again), await tenant.trigger({ dedup_key: 'disk' })];
  expect(new Set(ids).size).toBe(1);
  expect(await tenant.occurrence(ids[0]!)).toMatchObject({ triggers: 2 });
  const other = await tenant.post(`${tenant.event}trigger/`, { options: again, context: { n: 2 } });
  expect(other).toMatchObject({ status: 400, body: { code: 'idempotency.conflict' } });
  await tenant.outcomes(ids[0]!);
});

test('an escalation gives up at its time, even if no worker ran for months', async () => {
  const tenant = await tenantWithSteps([
    { channels: ['hooks'] },
    { after: '1h', unless: 'acknowledged', channels: ['hooks'] },
  ]);
  const id = await tenant.trigger();
  await finishedRun(tenant, id, 1);
  await tenant.sql(
    `update steps set began_at = began_at - interval '90 days', due_at = now() - interval '89 days'
     where organization_id = $1 and status = 'waiting'`,
    tenant.id,
  );
  await tenant.sql('notify belfry_work');
  expect(await finishedRun(tenant, id, 2)).toMatchObject({ status: 'ended', reason: 'gave_up' });
  expect(tenant.received()).toHaveLength(2);
  await eventually(async () => {
    expect(await tenant.occurrence(id)).toMatchObject({ outcome: 'unacknowledged', reason: 'gave_up' });
  });
});

test('a message of a step that waited for months is not sent', async () => {
  const tenant = await tenantWithSteps([{ channels: ['hooks'] }]);
  tenant.answer({ status: 503 });
  const id = await tenant.trigger();
  await tenant.until(id, 'retrying');
  await tenant.sql(`update occurrences set due_at = due_at - interval '90 days' where organization_id = $1`, tenant.id);
  const before = tenant.received().length;
  await tenant.hurry();
  expect(await tenant.outcomes(id)).toEqual(['ann@x.test expired: gave_up', 'bob@x.test expired: gave_up']);
  expect(tenant.received()).toHaveLength(before);
});

test('an expression can use the context, the user and earlier deliveries', async () => {
  const tenant = await tenantWithSteps([
    { channels: ['hooks'] },
    {
      after: '1h',
      unless: "context.low || user.email == 'ann@x.test' && sent && length(deliveries) == `1`",
      channels: ['hooks'],
    },
    { after: '1h', unless: 'sent', channels: ['hooks'], recipients: { list: 'On call' } },
  ]);
  const id = await tenant.trigger();
  await finishedRun(tenant, id, 1);
  await makeStepsDue(tenant);
  await finishedRun(tenant, id, 2);
  await makeStepsDue(tenant);
  expect(await finishedRun(tenant, id, 3)).toMatchObject({ status: 'skipped', reason: 'unless.sent', messages: 0 });
  expect((await summaries(tenant, id)).slice(2)).toEqual([
    '2 ann@x.test hooks suppressed: unless.expression',
    '2 bob@x.test hooks sent',
  ]);
});

test('cancelling ends the steps', async () => {
  const tenant = await tenantWithSteps([{ channels: ['hooks'] }, { after: '1h', channels: ['hooks'] }]);
  const id = await tenant.trigger();
  await finishedRun(tenant, id, 1);
  expect((await act(tenant, id, 'cancel')).status).toBe(200);
  expect(await tenant.occurrence(id)).toMatchObject({ status: 'completed' });
  expect((await steps(tenant, id))[1]).toMatchObject({ status: 'ended', reason: 'cancelled' });
});

test("invalid steps are rejected with the field's name", async () => {
  const tenant = await tenantWithSteps([{ channels: ['hooks'] }]);
  const path = `${tenant.event}n/`;
  const base = { name: 'other', recipients: { list: 'All' }, message: { body: 'x' } };
  const refused = async (body: object) => {
    const response = await tenant.post(path, { ...base, ...body });
    expect(response.status).toBe(400);
    return response.body.errors;
  };
  const one = { channels: ['hooks'] };
  expect(await refused({})).toEqual({ channels: ['is required: set channels or steps'] });
  expect(await refused({ channels: ['hooks'], steps: [one] })).toEqual({
    channels: ['is not used: every step has its own channels'],
  });
  expect(await refused({ channels: 'hooks' })).toEqual({ channels: ['must be a list, or personal'] });
  expect(await refused({ steps: [one, {}] })).toEqual({
    'steps/1/channels': ['is required: set it here, or for all steps beside them'],
  });
  expect(await refused({ channels: ['hooks'], give_up_after: '1h' })).toEqual({
    give_up_after: ['is only allowed with steps'],
  });
  expect(await refused({ steps: [{ ...one, unless: 'aknowledged' }] })).toEqual({
    'steps/0/unless': [expect.stringContaining('must be sent, read, acknowledged or an expression')],
  });
  expect(await refused({ steps: [{ ...one, unless: '[context.a]' }] })).toHaveProperty(['steps/0/unless']);
  expect(await refused({ steps: [{ ...one, repeat: 2 }] })).toHaveProperty(['steps/0/after']);
  expect(await refused({ steps: [{ ...one, after: '13h', repeat: 2 }] })).toEqual({
    steps: ['take 26h in total, longer than give_up_after (24h): shorten them, or raise it'],
  });
  expect(await refused({ steps: [one], give_up_after: '8d' })).toEqual({ give_up_after: ['must be at most 7d'] });
  expect(await refused({ steps: [{ ...one, recipients: { list: 'Nobody' } }] })).toHaveProperty([
    'steps/0/recipients/list',
  ]);
  expect(await refused({ steps: Array.from({ length: 21 }, () => one) })).toHaveProperty('steps');
});

test("steps without channels have the notification's, and personal need not be a list", async () => {
  const tenant = await tenantWithSteps([{ channels: ['hooks'] }]);
  const path = `${tenant.event}n/`;
  const base = { name: 'other', recipients: { list: 'All' }, message: { body: 'x' } };
  const steps = [{}, { after: '10m', channels: ['app'] }];
  const created = await tenant.post(path, { ...base, channels: 'personal', steps });
  expect(created.body).toMatchObject({
    channels: ['personal', 'app'],
    steps: [{ channels: ['personal'] }, { after: '10m', channels: ['app'] }],
  });
});

test('steps replace channels and vice versa, and are exported unchanged', async () => {
  const given = [
    { channels: ['hooks'] },
    { after: '10m', unless: 'read', channels: ['app'], recipients: { list: 'On call' }, round_robin: true },
  ];
  const tenant = await tenantWithSteps(given, { give_up_after: '2h', notify_resolved: true });
  const [{ id }] = (await tenant.ask({ path: `${tenant.event}n/` })).body;
  const path = `${tenant.event}n/${id}/`;
  const exported = await tenant.ask({ path: `/api/o/${tenant.slug}/configuration/` });
  const [entry] = exported.body.projects[0].applications[0].events[0].notifications;
  expect(entry).toMatchObject({ steps: given, give_up_after: '2h', notify_resolved: true });
  expect(entry).not.toHaveProperty('channels');
  const patch = async (body: object) => (await tenant.ask({ method: 'PATCH', path, body })).body;
  expect(await patch({ name: 'renamed' })).toMatchObject({ steps: given, channels: ['hooks', 'app'] });
  expect(await patch({ channels: ['app'] })).toMatchObject({ steps: null, channels: ['app'], notify_resolved: false });
  expect(await patch({ steps: given })).toMatchObject({ steps: given, channels: ['hooks', 'app'] });
  const lists = (await tenant.ask({ path: `/api/o/${tenant.slug}/p/shop/d/` })).body as { id: number; name: string }[];
  const list = lists.find(({ name }) => name === 'On call')!;
  const inUse = await tenant.ask({ method: 'DELETE', path: `/api/o/${tenant.slug}/p/shop/d/${list.id}/?cascade=true` });
  expect(inUse.status).toBe(409);
  await tenant.ask({ method: 'PATCH', path: `/api/o/${tenant.slug}/p/shop/d/${list.id}/`, body: { name: 'Pagers' } });
  expect((await tenant.ask({ path })).body.steps[1].recipients).toEqual({ list: 'Pagers' });
});

test('a simulation shows the plan over time', async () => {
  const tenant = await tenantWithSteps([
    { channels: ['hooks'] },
    { after: '10m', unless: 'acknowledged', channels: ['app'], recipients: { list: 'On call' }, repeat: 2 },
  ]);
  const { body } = await tenant.post(`${tenant.event}simulate/`, {});
  const [{ steps: runs, deliveries }] = body.notifications;
  expect(deliveries).toBe(4);
  expect(runs.map((run: Record<string, unknown>) => [run.number, run.step, run.deliveries, run.recipients])).toEqual([
    [1, 1, 2, null],
    [2, 2, 1, 'On call'],
    [3, 2, 1, 'On call'],
  ]);
  expect(Date.parse(runs[2].at) - Date.parse(runs[0].at)).toBe(20 * 60_000);
  expect(body.deliveries.map((one: { step: number }) => one.step).sort()).toEqual([1, 1, 2, 3]);
});

test('a draft shows when and how each of its steps would reach a sample user', async () => {
  const tenant = await tenantWithSteps([{ channels: ['hooks'] }]);
  const steps = [
    { channels: ['app'] },
    { after: '10m', channels: ['webhook', 'app'], recipients: { list: 'On call' }, repeat: 2 },
  ];
  const timelineOf = async (user: string, draft: object) => {
    const began = Date.now();
    const { body } = await tenant.post(`${tenant.event}preview/`, { message: { body: 'x' }, user, ...draft });
    const runs = body.timeline as { at: string; skip_reason: string | null; deliveries: Record<string, unknown>[] }[];
    return runs.map(({ at, skip_reason, deliveries }) => {
      const minutes = Math.floor((Date.parse(at) - began) / 60_000);
      return [
        minutes,
        skip_reason ?? deliveries.map(one => `${one.channel}${one.reason ? `: ${one.reason}` : ''}`).join(),
      ];
    });
  };
  await tenant.ask({
    method: 'PATCH',
    path: `/api/o/${tenant.slug}/u/eve@x.test/preferences/`,
    body: { preferences: [{ channel_type: 'webhook', enabled: false }] },
  });
  expect(await timelineOf('eve@x.test', { steps })).toEqual([
    [0, 'app'],
    [10, 'hooks: preference.off,app'],
    [20, 'hooks: preference.off,app'],
  ]);
  expect(await timelineOf('ann@x.test', { steps, list: 'On call' })).toEqual([
    [0, 'list.not_member'],
    [10, 'list.not_member'],
    [20, 'list.not_member'],
  ]);
  const picky = { steps: [{ after: 'soon', channels: ['app', 'nonsense'] }], users: "username != 'ann@x.test'" };
  expect(await timelineOf('ann@x.test', picky)).toEqual([[0, 'recipient.not_selected']]);
  expect(await timelineOf('bob@x.test', picky)).toEqual([[0, 'app']]);
});

test('a step that crashes its worker three times ends, with its occurrence', async () => {
  const tenant = await tenantWithSteps([{ channels: ['hooks'] }, { after: '1h', channels: ['hooks'] }]);
  const id = await tenant.trigger();
  await finishedRun(tenant, id, 1);
  const { pool } = world.service.runtime.deps;
  const outcomes: boolean[] = [];
  for (let n = 0; n < 3; n++) {
    await tenant.sql(`update steps set owner = 0 where organization_id = $1 and status = 'waiting'`, tenant.id);
    outcomes.push((await countStepCrash(pool, tenant.id, id, 3)).isSetAside);
  }
  expect(outcomes).toEqual([false, false, true]);
  expect((await steps(tenant, id))[1]).toMatchObject({ status: 'ended', reason: 'crashed' });
  expect(await tenant.occurrence(id)).toMatchObject({ status: 'completed', outcome: 'sent' });
});
