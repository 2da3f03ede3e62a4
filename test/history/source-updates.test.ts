/** What people do with an alert is reported to its sender: silences of Alertmanager, problems of Zabbix, and any other request. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ask, expectProblem } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { type HttpPeer, openHttpPeer, type RecordedRequest, type Reply } from '../support/http-peer.ts';
import { type EngineWorld, joinWorld } from '../support/sink.ts';

let world: EngineWorld;
let peer: HttpPeer;
const replies = new Map<string, (seen: RecordedRequest) => Reply>();
let count = 0;
beforeAll(async () => {
  world = await joinWorld();
  peer = await openHttpPeer(seen => replies.get(seen.path.split('/')[1]!)?.(seen) ?? {});
});
afterAll(async () => {
  await world.checkLedger();
  await peer.close();
  await world.close();
});

type Fields = Record<string, unknown>;
const steps = [{ channels: ['hooks'] }, { after: '1h', unless: 'acknowledged', channels: ['hooks'] }];

/** Creates a source that reports back to its own server. */
async function openSource(fields: Fields, update: (url: string) => Fields, reply: (seen: RecordedRequest) => Reply) {
  const name = `sender-${++count}`;
  replies.set(name, reply);
  const tenant = await world.tenant({ users: ['ann@acme.test'], notifications: [{ steps }] });
  const routes = [{ event: 'go' }];
  const body = {
    slug: 'in',
    name: 'In',
    routes,
    update_secret: 'sesame',
    ...fields,
    update: update(`${peer.url}/${name}`),
  };
  const made = await tenant.ask({ method: 'POST', path: `${tenant.application}sources/`, body });
  expect(made.status, made.text).toBe(201);
  const source = `${tenant.application}sources/in/`;
  const send = (payload: unknown) =>
    ask(world.service.address, { method: 'POST', path: new URL(made.body.url).pathname, body: payload });
  const occurrences = () =>
    tenant.sql<{ id: string }>(`select id from occurrences where organization_id = ${tenant.id} order by dedup_key`);
  const act = async (action: string, id: string) => {
    const answer = await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/${action}/`);
    expect(answer.status, answer.text).toBe(200);
  };
  const updates = async (id: string) =>
    (await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/source-updates/` })).body as Fields[];
  const settled = (id: string, state: string) =>
    eventually(async () => {
      const all = await updates(id);
      expect(all.length).toBeGreaterThan(0);
      for (const one of all) expect(one).toMatchObject({ state, status: expect.not.stringMatching('waiting') });
      return all;
    });
  const seen = () => peer.seen.filter(({ path }) => path.startsWith(`/${name}/`));
  return { tenant, source, send, occurrences, act, updates, settled, seen };
}

const json = (value: unknown, status = 200): Reply => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
});

describe('Alertmanager', () => {
  const alert = (fingerprint: string, status = 'firing') => ({
    status,
    labels: { alertname: 'Disk', instance: fingerprint },
    fingerprint,
  });
  const group = (...alerts: unknown[]) => ({ version: '4', status: 'firing', alerts });
  let silence = 0;
  const open = (fields: Fields = {}) =>
    openSource(
      { use: 'alertmanager', ...fields },
      url => ({ use: 'alertmanager', url: `${url}/`, silence_for: '2h' }),
      ({ method }) => (method === 'POST' ? json({ silenceID: `silence-${++silence}` }) : json(null)),
    );

  test('an acknowledgement creates a silence for the labels of the alert, and resolving deletes it', async () => {
    const { tenant, send, occurrences, act, settled, seen, source } = await open();
    await send(group(alert('a')));
    const [{ id } = { id: '' }] = await occurrences();
    await act('acknowledge', id);
    const [done] = await settled(id, 'acknowledged');
    expect(done).toMatchObject({
      source: 'in',
      key: 'a',
      status: 'done',
      attempts: [{ outcome: 'done', detail: null }],
    });
    const [request] = seen();
    expect(request).toMatchObject({ method: 'POST', path: expect.stringMatching(/^\/[\w-]+\/api\/v2\/silences$/) });
    expect(request!.headers.authorization).toBe('Bearer sesame');
    const sent = JSON.parse(request!.body);
    expect(sent).toMatchObject({
      matchers: [
        { name: 'alertname', value: 'Disk', isRegex: false, isEqual: true },
        { name: 'instance', value: 'a', isRegex: false, isEqual: true },
      ],
      comment: expect.stringContaining('Disk'),
    });
    expect(Date.parse(sent.endsAt) - Date.parse(sent.startsAt)).toBe(2 * 3_600_000);
    await act('resolve', id);
    await settled(id, 'resolved');
    expect(seen().map(({ method, path }) => `${method} ${path.slice(path.indexOf('/api'))}`)).toEqual([
      'POST /api/v2/silences',
      `DELETE /api/v2/silence/silence-${silence}`,
    ]);
    expect((await tenant.ask({ path: `${source}updates/` })).body).toMatchObject([
      { occurrence: id, state: 'resolved' },
    ]);
  });

  test('what the sender ends itself is not reported to it; the other alerts of the occurrence are', async () => {
    const { send, occurrences, act, settled, updates, seen } = await open({ group_by: ['labels.alertname'] });
    await send(group(alert('a'), alert('b'), alert('c')));
    await send(group(alert('a', 'resolved')));
    const [{ id } = { id: '' }] = await occurrences();
    await act('acknowledge', id);
    await settled(id, 'acknowledged');
    const instances = seen().map(({ body }) => JSON.parse(body).matchers[1].value);
    expect(instances.sort()).toEqual(['b', 'c']);
    await send(group(alert('b', 'resolved'), alert('c', 'resolved')));
    expect((await updates(id)).map(({ state }) => state)).toEqual(['acknowledged', 'acknowledged']);
  });
});

describe('Zabbix', () => {
  const problem = { event_id: '4711', event_value: '1', event_name: 'CPU', event_nseverity: '4' };

  test('the problem is acknowledged and closed, and an error of its API is shown', async () => {
    const { send, occurrences, act, settled, seen } = await openSource(
      { use: 'zabbix' },
      url => ({ use: 'zabbix', url }),
      ({ body }) =>
        JSON.parse(body).params.action & 1
          ? json({ jsonrpc: '2.0', error: { code: -32500, message: 'Application error.', data: 'No close.' }, id: 1 })
          : json({ jsonrpc: '2.0', result: { eventids: ['4711'] }, id: 1 }),
    );
    await send(problem);
    const [{ id } = { id: '' }] = await occurrences();
    await act('acknowledge', id);
    expect(await settled(id, 'acknowledged')).toMatchObject([{ status: 'done' }]);
    await act('resolve', id);
    expect(await settled(id, 'resolved')).toMatchObject([
      { status: 'failed', attempts: [{}, { outcome: 'failed', detail: expect.stringContaining('No close.') }] },
    ]);
    const calls = seen().map(({ body }) => JSON.parse(body));
    expect(calls).toMatchObject([
      { method: 'event.acknowledge', params: { eventids: ['4711'], action: 6 } },
      { method: 'event.acknowledge', params: { eventids: ['4711'], action: 5 } },
    ]);
    expect(calls[0].params.message).toMatch(/^Acknowledged in Belfry by /);
  });

  test('a problem that Zabbix has acknowledged is not acknowledged there again', async () => {
    const { send, occurrences, updates } = await openSource(
      { use: 'zabbix' },
      url => ({ use: 'zabbix', url }),
      () => json({ result: {} }),
    );
    await send(problem);
    await send({ ...problem, event_update_status: '1', event_update_action: '2' });
    const [{ id } = { id: '' }] = await occurrences();
    expect(await updates(id)).toEqual([]);
  });
});

describe('any other sender', () => {
  const mapping = { key: 'id', title: 'name' };
  const request = (url: string) => ({
    method: 'PUT',
    url: `${url}/alerts/{{ key | url_encode }}?by={{ by | url_encode }}`,
    headers: { Authorization: 'Token {{ secret }}', 'X-Title': '{{ title }}' },
    body: '{"state": "{{ state }}", "labels": {{ labels }}, "url": "{{ occurrence.url }}"}',
  });

  test('gets a request made of a template, in which a value can change neither its server nor its form', async () => {
    const { send, occurrences, act, settled, seen } = await openSource(
      { mapping },
      url => ({ acknowledged: request(url) }),
      () => ({}),
    );
    const labels = { text: '", "state": "resolved' };
    await send({ id: '../../x y?', name: 'One\r\nX-Evil: "1"', labels });
    const [{ id } = { id: '' }] = await occurrences();
    await act('acknowledge', id);
    await settled(id, 'acknowledged');
    const [seenOne] = seen();
    expect(seenOne).toMatchObject({
      method: 'PUT',
      path: expect.stringMatching(/\/alerts\/\.\.%2F\.\.%2Fx%20y%3F\?by=/),
    });
    expect(seenOne!.headers).toMatchObject({ authorization: 'Token sesame', 'x-title': 'One X-Evil: "1"' });
    expect(seenOne!.headers).not.toHaveProperty('x-evil');
    expect(JSON.parse(seenOne!.body)).toMatchObject({ state: 'acknowledged', labels });
    // There is no request for this state.
    await act('resolve', id);
    expect(seen()).toHaveLength(1);
  });

  test('is asked again after a temporary failure, and the secret is not in what is kept about it', async () => {
    let calls = 0;
    const { tenant, send, occurrences, act, settled } = await openSource(
      { mapping },
      url => ({ resolved: { url: `${url}/x`, headers: { Authorization: 'Token {{ secret }}' } } }),
      () => (++calls === 1 ? { status: 503, body: 'not with sesame' } : {}),
    );
    await send({ id: '1', name: 'One' });
    const [{ id } = { id: '' }] = await occurrences();
    await act('resolve', id);
    await eventually(async () => {
      const text = `update source_updates set due_at = now() where organization_id = ${tenant.id} and not claimed and attempts = 1
        returning key`;
      expect(await tenant.sql(text)).toHaveLength(1);
    });
    await tenant.sql(`select pg_notify('belfry_stop', $1)`, `${tenant.id} ${id}`);
    const [done] = await settled(id, 'resolved');
    expect(done).toMatchObject({ status: 'done', attempts: [{ outcome: 'retrying' }, { outcome: 'done' }] });
    expect(JSON.stringify(done)).not.toContain('sesame');
  });
});

describe('the setting', () => {
  test('names its mistakes', async () => {
    const { tenant, source } = await openSource(
      { mapping: { key: 'id' } },
      url => ({ use: 'zabbix', url }),
      () => ({}),
    );
    const cases: [Fields, string][] = [
      [{}, 'update/use'],
      [{ use: 'zabbix' }, 'update/url'],
      [{ use: 'zabbix', url: 'https://a.test', silence_for: '1h' }, 'update/silence_for'],
      [{ resolved: { url: 'https://{{ host }}/' } }, 'update/resolved/url'],
      [{ resolved: { url: 'https://a.test/{{ x | nope }}' } }, 'update/resolved/url'],
      [{ resolved: { url: 'https://a.test/', body: 'state={{ state }}' } }, 'update/resolved/body'],
      [{ resolved: { url: 'https://a.test/', headers: { 'A B': 'x' } } }, 'update/resolved/headers'],
    ];
    for (const [update, field] of cases) {
      const answer = await tenant.ask({ method: 'PATCH', path: source, body: { update, update_secret: '' } });
      expect(answer.status, JSON.stringify(update)).toBe(400);
      expect(Object.keys(answer.body.errors ?? {}).join(), answer.text).toContain(field);
    }
  });

  test('does not send a stored secret to another server, and never shows it', async () => {
    const { tenant, source } = await openSource(
      { mapping: { key: 'id' } },
      url => ({ use: 'zabbix', url }),
      () => ({}),
    );
    const patch = (body: Fields) => tenant.ask({ method: 'PATCH', path: source, body });
    const moved = { use: 'zabbix', url: 'https://evil.test' };
    expectProblem(await patch({ update: moved }), 400, 'request.invalid', ['update_secret']);
    expect((await patch({ update: moved, update_secret: 'new' })).status).toBe(200);
    expect((await patch({ update: { ...moved, url: 'https://evil.test/other' } })).status).toBe(200);
    const address = (await tenant.ask({ path: `${source}address/` })).body;
    expect(address).toMatchObject({ has_update_secret: true, has_secret: false });
    expect((await patch({ update: null, update_secret: null })).body).toMatchObject({ update: null });
    expect((await tenant.ask({ path: `${source}address/` })).body).toMatchObject({ has_update_secret: false });
  });
});

test('a sender gets to know that an acknowledgement was taken back, and that a snooze has ended', async () => {
  const update = (url: string) => ({
    acknowledged: { url: `${url}/acknowledged` },
    unacknowledged: { url: `${url}/unacknowledged` },
  });
  const mapping = { key: 'key', title: 'key' };
  const { tenant, send, occurrences, act, settled, seen } = await openSource({ mapping }, update, () => ({
    status: 200,
  }));
  await send({ key: 'disk' });
  const [{ id }] = (await occurrences()) as [{ id: string }];
  await tenant.until(id, 'sent');
  const last = async (state: string) => expect((await settled(id, state)).map(one => one.state)).toEqual([state]);
  await act('acknowledge', id);
  await last('acknowledged');
  await act('unacknowledge', id);
  await last('unacknowledged');
  const snoozed = await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/snooze/`, { for: '1h' });
  expect(snoozed.body).toMatchObject({ changed: true });
  await last('acknowledged');
  await tenant.sql(
    `with given as (select date_trunc('milliseconds', now()) as at), o as (
       update occurrences set acknowledged_until = at from given where organization_id = ${tenant.id}
     )
     update steps set due_at = at, began_at = at from given where organization_id = ${tenant.id} and status = 'waiting'`,
  );
  await tenant.sql('notify belfry_work');
  await last('unacknowledged');
  expect(seen().map(({ path }) => path.split('/').at(-1))).toEqual([
    'acknowledged',
    'unacknowledged',
    'acknowledged',
    'unacknowledged',
  ]);
});
