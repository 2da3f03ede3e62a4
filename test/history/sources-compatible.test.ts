/** Clients of PagerDuty and Opsgenie change only their URL: the answers have the form that the strictest of them expects. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ask } from '../support/api.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
});

type Fields = Record<string, unknown>;

async function openSource(fields: Fields = {}) {
  const steps = [{ channels: ['hooks'] }, { after: '1h', unless: 'acknowledged', channels: ['hooks'] }];
  const tenant = await world.tenant({ users: ['ann@acme.test'], notifications: [{ steps }] });
  const body = { slug: 'in', name: 'In', use: 'pagerduty', routes: [{ event: 'go' }], ...fields };
  const made = await tenant.ask({ method: 'POST', path: `${tenant.application}sources/`, body });
  expect(made.status, made.text).toBe(201);
  const key: string = made.body.token;
  const send = (method: string, path: string, sent?: unknown, headers: Record<string, string> = {}) =>
    ask(world.service.address, { method, path, headers, ...(sent !== undefined && { body: sent }) });
  const genie = (method: string, path: string, sent?: unknown) =>
    send(method, path, sent, { authorization: `GenieKey ${key}` });
  return { tenant, key, send, genie, source: `${tenant.application}sources/in/` };
}

async function statesOf(tenant: Tenant) {
  const rows = await tenant.sql<{ triggers: number; state: string }>(
    `select triggers, case when resolved_at is not null then 'resolved' when acknowledged_at is not null then 'acknowledged'
       else 'open' end as state from occurrences where organization_id = ${tenant.id} order by id`,
  );
  return rows.map(({ triggers, state }) => `${state} ${triggers}`);
}

describe('PagerDuty', () => {
  const event = (routing_key: string, event_action = 'trigger', more: Fields = {}) => ({
    routing_key,
    event_action,
    dedup_key: 'disk',
    payload: { summary: 'Full', source: 'db1', severity: 'critical' },
    ...more,
  });

  test('an event triggers, acknowledges and resolves', async () => {
    const { tenant, key, send } = await openSource();
    const answer = await send('POST', '/v2/enqueue', event(key));
    expect(answer).toMatchObject({
      status: 202,
      body: { status: 'success', message: 'Event processed', dedup_key: 'disk' },
    });
    await send('POST', '/v2/enqueue', event(key));
    expect(await statesOf(tenant)).toEqual(['open 2']);
    await send('POST', '/v2/enqueue', event(key, 'acknowledge', { payload: undefined }));
    expect(await statesOf(tenant)).toEqual(['acknowledged 2']);
    await send('POST', '/v2/enqueue', event(key, 'resolve'));
    expect(await statesOf(tenant)).toEqual(['resolved 2']);
    expect((await send('POST', '/v2/enqueue', event(key, 'resolve', { dedup_key: 'unknown' }))).status).toBe(202);
    await send('POST', '/v2/enqueue', event(key));
    expect(await statesOf(tenant)).toEqual(['resolved 2', 'open 1']);
  });

  test('a key that is missing is generated and returned', async () => {
    const { key, send } = await openSource();
    const { dedup_key: _, ...without } = event(key);
    expect((await send('POST', '/v2/enqueue', without)).body.dedup_key).toMatch(/^[0-9a-f]{32}$/);
  });

  test('version 1 is answered as version 1', async () => {
    const { tenant, key, send } = await openSource();
    const path = '/generic/2010-04-15/create_event.json';
    const old = { service_key: key, event_type: 'trigger', incident_key: 'i', description: 'Down' };
    expect(await send('POST', path, old)).toMatchObject({
      status: 200,
      body: { status: 'success', incident_key: 'i' },
    });
    await send('POST', path, { ...old, event_type: 'resolve' });
    expect(await statesOf(tenant)).toEqual(['resolved 1']);
  });

  test('a change event is kept, and notifies no one', async () => {
    const { tenant, key, send, source } = await openSource();
    const answer = await send('POST', '/v2/change/enqueue', { routing_key: key, payload: { summary: 'Deployed' } });
    expect(answer).toMatchObject({ status: 202, body: { status: 'success', message: 'Change event processed' } });
    expect(await statesOf(tenant)).toEqual([]);
    expect((await tenant.ask({ path: `${source}payloads/` })).body).toMatchObject([{ url: '/v2/change/enqueue' }]);
  });

  test.each([
    ['no JSON', 'x', 'Unrecognized object', ['JSON parse error']],
    ['no key', {}, 'invalid event', ["'routing_key' is missing or blank"]],
    ['an unknown key', { routing_key: 'x'.repeat(32) }, 'invalid event', ['Invalid routing key']],
  ])('%s is refused in the form of PagerDuty', async (_, body, status, errors) => {
    const { send } = await openSource();
    expect(await send('POST', '/v2/enqueue', body)).toMatchObject({ status: 400, body: { status, errors } });
  });

  test('the mistakes of an event are listed', async () => {
    const { key, send } = await openSource();
    const answer = await send('POST', '/v2/enqueue', event(key, 'trigger', { payload: { summary: 'Full' } }));
    const errors = ["'payload.source' is missing or blank", "'payload.severity' is missing or blank"];
    expect(answer).toMatchObject({
      status: 400,
      body: { status: 'invalid event', message: 'Event object is invalid', errors },
    });
    const mistakesOf = async (fields: Fields) =>
      (await send('POST', '/v2/enqueue', { ...event(key), ...fields })).body.errors;
    // An unknown action says nothing about the other fields.
    expect(await mistakesOf({ event_action: 'open', dedup_key: undefined })).toEqual([
      "'event_action' must be one of trigger, acknowledge, resolve",
    ]);
    expect(await mistakesOf({ payload: { summary: ' ', source: '\n', severity: 5 } })).toEqual([
      "'payload.summary' is missing or blank",
      "'payload.source' is missing or blank",
      "'payload.severity' must be one of critical, error, warning, info",
    ]);
  });

  test('a source with a secret does not accept its key alone', async () => {
    const { tenant, key, send, genie } = await openSource({ secret: 'sesame' });
    expect((await send('POST', '/v2/enqueue', event(key))).status).toBe(401);
    expect((await genie('POST', '/v2/alerts', { message: 'x' })).status).toBe(403);
    expect(await statesOf(tenant)).toEqual([]);
    const proof = { authorization: 'Bearer sesame' };
    expect((await send('POST', `/in/${key}/`, event(key), proof)).status).toBe(200);
    expect((await send('POST', '/v2/change/enqueue', { routing_key: key, payload: { summary: 'x' } })).status).toBe(
      401,
    );
    const endTime = new Date(Date.now() + 3_600_000).toISOString();
    for (const [method, path] of [
      ['POST', '/disk/notes?identifierType=alias'],
      ['POST', '/disk/snooze?identifierType=alias'],
      ['DELETE', '/disk/tags?identifierType=alias&tags=a'],
      ['GET', '/disk?identifierType=alias'],
      ['GET', '/disk/notes?identifierType=alias'],
      ['GET', ''],
      ['GET', '/count'],
      ['GET', '/requests/00000000-0000-7000-8000-000000000000'],
    ] as const) {
      const answer = await genie(method, `/v2/alerts${path}`, method === 'POST' ? { note: 'x', endTime } : undefined);
      expect(answer.status, `${method} ${path}`).toBe(403);
    }
    expect(await statesOf(tenant)).toEqual(['open 1']);
  });
});

describe('Opsgenie', () => {
  const accepted = {
    status: 202,
    body: {
      result: 'Request will be processed',
      took: expect.any(Number),
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    },
  };

  test.each(['', '/jsm/ops/integration'])(
    'Zabbix creates an alert, reads its request and closes it under %s/v2/alerts',
    async prefix => {
      const { tenant, genie } = await openSource({ use: 'opsgenie' });
      const alerts = `${prefix}/v2/alerts`;
      const created = await genie('POST', alerts, {
        message: 'CPU',
        alias: '4711',
        priority: 'P2',
        details: { load: 9 },
      });
      expect(created).toMatchObject(accepted);
      const status = async (id: string) => (await genie('GET', `${alerts}/requests/${id}`)).body.data;
      expect(await status(created.body.requestId)).toMatchObject({
        ...{ success: true, isSuccess: true, action: 'Create', status: 'Created alert', alias: '4711' },
        alertId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      });
      await genie('POST', alerts, { message: 'CPU', alias: '4711' });
      expect(await statesOf(tenant)).toEqual(['open 2']);
      const close = `${alerts}/4711/close?identifierType=alias`;
      const closed = await genie('POST', close, { source: 'Zabbix' });
      expect(closed).toMatchObject(accepted);
      expect(await status(closed.body.requestId)).toMatchObject({
        success: true,
        action: 'Close',
        status: 'Alert closed',
      });
      expect(await statesOf(tenant)).toEqual(['resolved 2']);
      const again = await genie('POST', close, {});
      expect(await status(again.body.requestId)).toMatchObject({
        success: false,
        status: 'Alert is already closed',
        alertId: '',
      });
      const unknown = await genie('POST', `${alerts}/none/acknowledge?identifierType=alias`, {});
      expect(unknown).toMatchObject(accepted);
      expect(await status(unknown.body.requestId)).toMatchObject({
        success: false,
        status: 'There is no open alert with alias [none]',
      });
    },
  );

  test('an alert is read by id, tiny id and alias, with what was added to it', async () => {
    const { genie } = await openSource({ use: 'opsgenie' });
    const create = {
      message: 'CPU',
      alias: 'a/b c',
      tags: ['db', 'eu'],
      details: { load: 9 },
      description: 'High',
      source: 'am',
      // As the SDK for Python sends them, which refuses to read them like that.
      responders: [{ name: 'ops' }, { username: 'ann@acme.test' }, { type: 'schedule', id: '7' }, 'nobody'],
    };
    await genie('POST', '/v2/alerts', create);
    const at = `/v2/alerts/${encodeURIComponent('a/b c')}`;
    const by = '?identifierType=alias';
    const changes: [string, string, unknown?][] = [
      ['POST', `/acknowledge${by}`, { user: 'ann' }],
      ['POST', `/notes${by}`, { note: 'Looking' }],
      ['POST', `/tags${by}`, { tags: ['new'] }],
      ['DELETE', `/tags${by}&tags=eu`],
      ['POST', `/details${by}`, { details: { more: 'x' } }],
      ['DELETE', `/details${by}&keys=load`],
      ['PUT', `/message${by}`, { message: 'CPU is high' }],
      ['PUT', `/priority${by}`, { priority: 'P1' }],
    ];
    for (const [method, path, body] of changes) expect(await genie(method, at + path, body)).toMatchObject(accepted);
    const { data } = (await genie('GET', `${at}${by}`)).body;
    expect(data).toMatchObject({
      ...{
        alias: 'a/b c',
        message: 'CPU is high',
        status: 'open',
        acknowledged: true,
        count: 1,
        priority: 'P1',
        source: 'am',
      },
      responders: [
        { type: 'team', id: 'ops', name: 'ops' },
        { type: 'user', id: 'ann@acme.test' },
        { type: 'schedule', id: '7' },
      ],
      ...{ tags: ['db', 'new'], details: { more: 'x' }, description: 'High', integration: { name: 'In' } },
    });
    expect((await genie('GET', `/v2/alerts/${data.id}`)).body.data.alias).toBe('a/b c');
    expect((await genie('GET', `/v2/alerts/${data.tinyId}?identifierType=tiny`)).body.data.id).toBe(data.id);
    expect((await genie('GET', `${at}/notes${by}`)).body.data).toMatchObject([{ note: 'Looking' }]);
    expect(await genie('GET', '/v2/alerts/none?identifierType=alias')).toMatchObject({
      status: 404,
      body: { message: expect.any(String) },
    });
  });

  test('alerts are listed and counted by their status', async () => {
    const { genie } = await openSource({ use: 'opsgenie' });
    for (const alias of ['a', 'b', 'c']) await genie('POST', '/v2/alerts', { message: alias, alias });
    await genie('POST', '/v2/alerts/b/close?identifierType=alias', {});
    const aliases = async (query: string) =>
      (await genie('GET', `/v2/alerts?${query}`)).body.data.map((one: Fields) => one.alias);
    expect(await aliases('query=status:open')).toEqual(['c', 'a']);
    expect(await aliases('query=status%3Dclosed')).toEqual(['b']);
    expect(await aliases('limit=1&offset=1&order=asc')).toEqual(['b']);
    expect((await genie('GET', '/v2/alerts/count?query=status:open')).body).toMatchObject({ data: { count: 2 } });
    expect(await aliases(`query=${encodeURIComponent('status: open AND acknowledged : false')}`)).toEqual(['c', 'a']);
    expect((await genie('GET', '/v2/alerts?query=message:x')).status).toBe(422);
    expect((await genie('GET', '/v2/alerts?query=status:open&query=x')).status).toBe(200);
    const paging = async (query: string) => (await genie('GET', `/v2/alerts?${query}`)).body.paging;
    const offsetOf = (url: string | undefined) => url && new URL(url).searchParams.get('offset');
    const first = await paging('limit=2');
    expect([first.prev, first.next, first.last].map(offsetOf)).toEqual([undefined, '2', '2']);
    const last = await paging('limit=2&offset=2');
    expect([last.prev, last.next, last.last].map(offsetOf)).toEqual(['0', undefined, '2']);
    const exact = await paging('limit=3');
    expect([exact.next, exact.last].map(offsetOf)).toEqual([undefined, '0']);
  });

  test('an alert is snoozed until its end time, and an acknowledgement is taken back', async () => {
    const { genie } = await openSource({ use: 'opsgenie' });
    await genie('POST', '/v2/alerts', { message: 'a', alias: 'a' });
    const act = async (action: string, body: Fields = {}) => {
      const answer = await genie('POST', `/v2/alerts/a/${action}?identifierType=alias`, { user: 'Ann', ...body });
      expect(answer, action).toMatchObject(accepted);
      const { data } = (await genie('GET', `/v2/alerts/requests/${answer.body.requestId}`)).body;
      return `${data.success} ${data.status}`;
    };
    const alert = async () => (await genie('GET', '/v2/alerts/a?identifierType=alias')).body.data;
    expect(await act('unacknowledge')).toBe('false Alert is already open');
    expect(await act('snooze')).toBe('false endTime is required');
    expect(await act('snooze', { endTime: '2020-01-01T00:00:00Z' })).toBe('false endTime must be in the future');
    const endTime = new Date(Date.now() + 3_600_000).toISOString();
    expect(await act('snooze', { endTime })).toBe('true Alert snoozed');
    expect(await alert()).toMatchObject({ acknowledged: true, snoozed: true, snoozedUntil: endTime, status: 'open' });
    expect(await act('acknowledge')).toBe('true Alert acknowledged');
    expect(await alert()).toMatchObject({ acknowledged: true, snoozed: false });
    expect(await act('unacknowledge')).toBe('true Alert unacknowledged');
    expect(await alert()).toMatchObject({ acknowledged: false, snoozed: false, status: 'open' });
    expect(await act('close')).toBe('true Alert closed');
    expect(await act('snooze', { endTime })).toBe('false Alert is already closed');
  });

  test('what is not supported is accepted, and its request says so', async () => {
    const { genie } = await openSource({ use: 'opsgenie' });
    await genie('POST', '/v2/alerts', { message: 'a', alias: 'a' });
    for (const action of ['assign', 'escalate', 'responders', 'actions/restart']) {
      const answer = await genie('POST', `/v2/alerts/a/${action}?identifierType=alias`, {});
      expect(answer, action).toMatchObject(accepted);
      const { data } = (await genie('GET', `/v2/alerts/requests/${answer.body.requestId}`)).body;
      expect(data, action).toMatchObject({ success: false, status: expect.stringMatching(/not supported|cannot/) });
    }
  });

  test('what Belfry does not have is empty, or refused in the form of Opsgenie', async () => {
    const { genie } = await openSource({ use: 'opsgenie' });
    await genie('POST', '/v2/alerts', { message: 'a', alias: 'a' });
    const form = { message: expect.any(String), took: expect.any(Number), requestId: expect.any(String) };
    const by = '?alertIdentifierType=alias';
    for (const path of [`/v2/alerts/a/attachments${by}`, '/v2/alerts/saved-searches'])
      expect(await genie('GET', path), path).toMatchObject({ status: 200, body: { data: [] } });
    const refused: [string, string, number][] = [
      ['POST', `/v2/alerts/a/attachments${by}`, 422],
      ['GET', `/v2/alerts/a/attachments/1${by}`, 404],
      ['DELETE', `/v2/alerts/a/attachments/1${by}`, 404],
      ['POST', '/v2/alerts/saved-searches', 422],
      ['GET', '/v2/alerts/saved-searches/mine', 404],
      ['PATCH', '/v2/alerts/saved-searches/mine', 404],
      ['GET', '/v2/alerts/a/unknown', 404],
    ];
    for (const [method, path, status] of refused)
      expect(await genie(method, path, method === 'POST' ? 'not JSON' : undefined), path).toMatchObject({
        status,
        body: form,
      });
  });

  test('a request without a valid key, or with a mistake, is refused in the form of Opsgenie', async () => {
    const { send, genie, key } = await openSource({ use: 'opsgenie' });
    const form = { message: expect.any(String), took: expect.any(Number), requestId: expect.any(String) };
    for (const headers of [{}, { authorization: 'GenieKey nope' }, { authorization: `Bearer ${key}` }] as Record<
      string,
      string
    >[]) {
      expect(await send('POST', '/v2/alerts', { message: 'x' }, headers)).toMatchObject({ status: 401, body: form });
    }
    expect(await genie('POST', '/v2/alerts', {})).toMatchObject({
      status: 422,
      body: { ...form, errors: { message: expect.any(String) } },
    });
    expect(await genie('POST', '/v2/alerts', 'no')).toMatchObject({ status: 400, body: form });
    expect(await genie('GET', '/v2/alerts/requests/00000000-0000-7000-8000-000000000000')).toMatchObject({
      status: 404,
      body: form,
    });
  });

  test('headers and details have the form that the SDK for Go reads', async () => {
    const { genie, send } = await openSource({ use: 'opsgenie' });
    const details = { load: 9, ok: true, more: { a: [1] }, text: 'x' };
    const created = await genie('POST', '/v2/alerts', { message: 'a', alias: 'a', details });
    // It prefers the header, and asks with it what became of the request.
    expect(created.headers['x-request-id']).toBe(created.body.requestId);
    expect(created.headers['x-ratelimit-state']).toBe('OK');
    expect(Number(created.headers['x-response-time'])).toBeGreaterThan(0);
    const found = (await genie('GET', '/v2/alerts/a?identifierType=alias')).body.data;
    expect(found.details).toEqual({ load: '9', ok: 'true', more: '{"a":[1]}', text: 'x' });
    const missing = await genie('GET', '/v2/alerts/requests/00000000-0000-7000-8000-000000000000');
    // Without it, the SDK does not ask again.
    expect(missing.headers['x-opsgenie-errortype']).toBe('RequestNotProcessed');
    const refused = await send('GET', '/v2/alerts');
    expect(refused.headers['x-request-id']).toBe(refused.body.requestId);
  });

  test('text that cannot be stored is refused with the name of its field', async () => {
    const { genie } = await openSource({ use: 'opsgenie' });
    await genie('POST', '/v2/alerts', { message: 'a', alias: 'a' });
    for (const text of ['\0', '\ud800']) {
      for (const [action, body, field] of [
        ['notes', { note: text }, 'note'],
        ['notes', { note: 'x', user: text }, 'user'],
        ['tags', { tags: ['x', text] }, 'tags/1'],
        ['details', { details: { a: text } }, 'details/a'],
        ['unacknowledge', { user: text }, 'user'],
      ] as const) {
        const answer = await genie('POST', `/v2/alerts/a/${action}?identifierType=alias`, body);
        expect(answer, action).toMatchObject({ status: 422, body: { errors: { [field]: expect.any(String) } } });
      }
      const heartbeat = { name: `x${text}`, interval: 1, intervalUnit: 'days' };
      expect((await genie('POST', '/v2/heartbeats', heartbeat)).status).toBe(422);
    }
    // Texts are cut in the middle of a character.
    const note = `${'x'.repeat(24_999)}💥`;
    expect(await genie('POST', '/v2/alerts/a/notes?identifierType=alias', { note })).toMatchObject(accepted);
    const tags = [`${'x'.repeat(49)}💥`];
    expect(await genie('POST', '/v2/alerts/a/tags?identifierType=alias', { tags })).toMatchObject(accepted);
  });

  test('notes and tags that arrive at the same moment, or in one request, are all kept', async () => {
    const { genie } = await openSource({ use: 'opsgenie' });
    await genie('POST', '/v2/alerts', { message: 'Disk full', alias: 'busy' });
    const names = Array.from({ length: 8 }, (_, i) => `n${i}`);
    const at = (path: string) => `/v2/alerts/busy/${path}?identifierType=alias`;
    await Promise.all(names.map(note => genie('POST', at('notes'), { note })));
    await genie('POST', at('tags'), { tags: ['t'], note: 'tagged' });
    const notes = (await genie('GET', at('notes'))).body.data as { note: string }[];
    expect(notes.map(({ note }) => note).sort()).toEqual([...names, 'tagged']);
  });

  test('who acknowledged and closed an alert is named, and their notes are kept', async () => {
    const { genie } = await openSource({ use: 'opsgenie' });
    await genie('POST', '/v2/alerts', { message: 'a', alias: 'a' });
    await genie('POST', '/v2/alerts/a/acknowledge?identifierType=alias', { user: 'Ann', note: 'Looking' });
    await genie('POST', '/v2/alerts/a/close?identifierType=alias', { user: 'Bob', note: 'Fixed' });
    const { data } = (await genie('GET', '/v2/alerts/a?identifierType=alias')).body;
    expect(data).toMatchObject({ owner: 'Ann', report: { acknowledgedBy: 'Ann', closedBy: 'Bob' } });
    expect((await genie('GET', '/v2/alerts/a/notes?identifierType=alias')).body.data).toMatchObject([
      { note: 'Looking', owner: 'Ann' },
      { note: 'Fixed', owner: 'Bob' },
    ]);
  });

  test('an alias of 512 characters is shown as it was sent', async () => {
    const { genie } = await openSource({ use: 'opsgenie' });
    const alias = 'x'.repeat(512);
    const { requestId } = (await genie('POST', '/v2/alerts', { message: 'a', alias })).body;
    expect((await genie('GET', `/v2/alerts/requests/${requestId}`)).body.data.alias).toBe(alias);
    expect((await genie('GET', `/v2/alerts/${alias}?identifierType=alias`)).body.data.alias).toBe(alias);
    expect((await genie('GET', '/v2/alerts')).body.data[0].alias).toBe(alias);
  });

  test('an unknown priority is not taken over', async () => {
    const { genie } = await openSource({ use: 'opsgenie' });
    await genie('POST', '/v2/alerts', { message: 'a', alias: 'a', priority: 'P2' });
    const { requestId } = (await genie('PUT', '/v2/alerts/a/priority?identifierType=alias', { priority: 'P9' })).body;
    expect((await genie('GET', `/v2/alerts/requests/${requestId}`)).body.data).toMatchObject({
      success: false,
      status: 'priority must be one of P1, P2, P3, P4, P5',
    });
    expect((await genie('GET', '/v2/alerts/a?identifierType=alias')).body.data.priority).toBe('P2');
  });

  test('deleting an alert closes it', async () => {
    const { tenant, genie } = await openSource({ use: 'opsgenie' });
    await genie('POST', '/v2/alerts', { message: 'a', alias: 'a' });
    expect(await genie('DELETE', '/v2/alerts/a?identifierType=alias')).toMatchObject(accepted);
    expect(await statesOf(tenant)).toEqual(['resolved 1']);
  });
});

describe('other senders', () => {
  test('Uptime Kuma reports with a GET, and others check the address with one', async () => {
    const { tenant, key, send } = await openSource({ use: 'uptime-kuma' });
    expect(await send('GET', `/in/${key}/`)).toMatchObject({ status: 200, body: { ok: true } });
    const heartbeat = JSON.stringify({ monitorID: 3, status: 0, time: '2026-11-18 10:00:00' });
    const query = new URLSearchParams({ heartbeat, monitor: '{"id":3,"name":"Shop"}', msg: 'down' });
    expect((await send('GET', `/in/${key}/?${query}`)).status).toBe(200);
    expect(await statesOf(tenant)).toEqual(['open 1']);
  });

  test('CloudEvents asks whether it may send, and sends in binary mode; a repetition of an event is not another one', async () => {
    const { tenant, key, send } = await openSource({ use: 'cloudevents' });
    const asked = await send('OPTIONS', `/in/${key}/`, undefined, { 'webhook-request-origin': 'events.test' });
    expect(asked).toMatchObject({
      status: 200,
      headers: { 'webhook-allowed-origin': 'events.test', allow: expect.stringContaining('POST') },
    });
    const headers = {
      'ce-id': '1',
      'ce-source': '/s',
      'ce-specversion': '1.0',
      'ce-type': 'disk.full',
      'ce-subject': 'db1',
    };
    expect((await send('POST', `/in/${key}/`, { severity: 'error' }, headers)).status).toBe(200);
    await send('POST', `/in/${key}/`, {}, { ...headers, 'ce-id': '2', 'ce-type': 'disk.resolved' });
    expect(await statesOf(tenant)).toEqual(['resolved 1']);
  });

  test('Amazon SNS without a valid signature is refused', async () => {
    const { tenant, key, send } = await openSource({ use: 'sns', secret: 'arn:aws:sns:eu-west-1:1:ops' });
    const message = { Type: 'Notification', MessageId: '1', TopicArn: 'arn:aws:sns:eu-west-1:1:ops', Message: 'x' };
    expect(await send('POST', `/in/${key}/`, message)).toMatchObject({ status: 401, body: { code: 'source.refused' } });
    expect(await statesOf(tenant)).toEqual([]);
  });
});
