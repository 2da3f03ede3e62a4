/** Whatever is posted to the address of a source or a compatible path: the sender gets an answer in its form, and nothing breaks. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask } from '../support/api.ts';
import { type EngineWorld, joinWorld } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
});

type Fields = Record<string, unknown>;

interface Path {
  use: string;
  path: (token: string) => string;
  headers?: (token: string) => Record<string, string>;
  /** Adds the key of the source to a body, if it belongs there. */
  signed?: (body: Fields, token: string) => Fields;
  /** What is not JSON can name no source, and is not kept. */
  keyInBody?: true;
  /** The form of an error. */
  error: (status: number) => unknown;
}

const problem = (status: number) => ({ status, code: expect.any(String), detail: expect.any(String) });
const ofPagerDuty = () => ({ status: expect.any(String), message: expect.any(String), errors: expect.any(Array) });
const ofOpsgenie = () => ({ message: expect.any(String), took: expect.any(Number), requestId: expect.any(String) });
const genie = (token: string) => ({ authorization: `GenieKey ${token}` });

const addressed = ['alertmanager', 'grafana', 'zabbix', 'uptime-kuma', 'healthchecks', 'cloudevents', 'email'];

const paths: Record<string, Path> = {
  ...Object.fromEntries(
    addressed.map(use => [`/in/ of ${use}`, { use, path: (token: string) => `/in/${token}/`, error: problem }]),
  ),
  '/in/': { use: 'formatted', path: token => `/in/${token}/`, error: problem },
  OnCall: { use: 'formatted', path: token => `/integrations/v1/webhook/${token}/`, error: problem },
  'PagerDuty v2': {
    ...{ use: 'pagerduty', path: () => '/v2/enqueue', keyInBody: true, error: ofPagerDuty },
    signed: (body, routing_key) => ({ ...body, routing_key }),
  },
  'PagerDuty v1': {
    ...{ use: 'pagerduty', path: () => '/generic/2010-04-15/create_event.json', keyInBody: true, error: ofPagerDuty },
    signed: (body, service_key) => ({ ...body, service_key }),
  },
  'PagerDuty change': {
    ...{ use: 'pagerduty', path: () => '/v2/change/enqueue', keyInBody: true, error: ofPagerDuty },
    signed: (body, routing_key) => ({ ...body, routing_key }),
  },
  'Opsgenie heartbeat': { use: 'opsgenie', path: () => '/v2/heartbeats', headers: genie, error: ofOpsgenie },
  Opsgenie: { use: 'opsgenie', path: () => '/v2/alerts', headers: genie, error: ofOpsgenie },
  'Opsgenie close': { use: 'opsgenie', path: () => '/v2/alerts/disk/close', headers: genie, error: ofOpsgenie },
  'Opsgenie note': { use: 'opsgenie', path: () => '/v2/alerts/disk/notes', headers: genie, error: ofOpsgenie },
  Jira: { use: 'opsgenie', path: () => '/jsm/ops/integration/v2/alerts', headers: genie, error: ofOpsgenie },
};

const deep = `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`;

async function openPath(name: string, fields: Fields = {}) {
  const { use, path, headers, ...kind } = paths[name]!;
  const tenant = await world.tenant({ users: ['ann@acme.test'], notifications: [{}] });
  const sources = `${tenant.application}sources/`;
  const body = { slug: 'in', name: 'In', use, routes: [{ event: 'go' }], ...fields };
  const made = await tenant.ask({ method: 'POST', path: sources, body });
  expect(made.status, made.text).toBe(201);
  const token: string = made.body.token;
  const post = (sent: unknown) =>
    ask(world.service.address, { method: 'POST', path: path(token), body: sent, headers: headers?.(token) ?? {} });
  const kept = async () =>
    (await tenant.ask({ path: `${sources}in/payloads/` })).body as {
      id: string;
      state: string;
      note: string;
      bytes: number;
    }[];
  const opened = async () => {
    const [row] = await tenant.sql<{ n: number }>(
      `select count(*)::int as n from occurrences where organization_id = ${tenant.id}`,
    );
    return row!.n;
  };
  return { ...kind, tenant, token, post, kept, opened, source: `${sources}in/` };
}

const unreadable: [what: string, body: string | Buffer, status: number][] = [
  ['text', 'hello', 400],
  ['a list', '[1]', 400],
  ['JSON nested 10,000 deep', deep, 400],
  ['what is not UTF-8', Buffer.from([0x7b, 0xff, 0xfe, 0x7d]), 400],
  ['3 MB', Buffer.alloc(3_000_000, 'a'), 413],
];

test.each(Object.keys(paths))('%s refuses what it cannot read in the form of the sender, and keeps it', async name => {
  const { post, kept, opened, error, keyInBody } = await openPath(name);
  for (const [what, body, status] of unreadable) {
    const answer = await post(body);
    expect(answer.status, `${what}: ${answer.text}`).toBe(status);
    expect(answer.body, what).toMatchObject(error(status) as object);
  }
  const payloads = await kept();
  expect(payloads).toHaveLength(keyInBody ? 0 : unreadable.length);
  for (const { state, note } of payloads) expect(`${state}: ${note}`).toMatch(/^refused: the payload /);
  expect(await opened()).toBe(0);
});

test.each(['/in/', 'OnCall', 'PagerDuty v2', 'PagerDuty v1', 'Opsgenie', 'Jira'])(
  '%s refuses JSON that is no alert, and an alert without the secret, and keeps both',
  async name => {
    const { tenant, token, post, kept, opened, error, signed = body => body, source } = await openPath(name);
    const odd = await post(signed({ odd: true }, token));
    expect([400, 422], odd.text).toContain(odd.status);
    if (name !== '/in/' && name !== 'OnCall') expect(odd.body).toMatchObject(error(odd.status) as object);
    await tenant.ask({ method: 'PATCH', path: source, body: { secret: 'sesame' } });
    const alert = {
      ...{ alert_uid: 'a', title: 'A', message: 'A', event_action: 'trigger', event_type: 'trigger', description: 'A' },
      ...(name === 'PagerDuty v2' && {
        event_type: undefined,
        payload: { summary: 'A', source: 'a', severity: 'info' },
      }),
    };
    const unproven = await post(signed(alert, token));
    expect([401, 403], unproven.text).toContain(unproven.status);
    expect(unproven.body).toMatchObject(error(unproven.status) as object);
    expect((await kept()).map(({ state }) => state)).toEqual(['refused', expect.stringMatching(/^re(fused|jected)$/)]);
    expect(await opened()).toBe(0);
  },
);

test('text that cannot be stored is reported for its alert, and its neighbors are taken', async () => {
  const { post, kept, opened, tenant, source } = await openPath('/in/', { use: 'alertmanager' });
  const alert = (more: Fields) => ({ status: 'firing', labels: { a: 'b' }, fingerprint: 'f', ...more });
  const answer = await post({
    alerts: [
      alert({ fingerprint: 'good' }),
      alert({ fingerprint: 'a\0b' }),
      alert({ fingerprint: 'c', labels: { 'x\0': 'y' } }),
      alert({ fingerprint: 'd', annotations: { summary: '\ud800' } }),
      alert({ fingerprint: 'long'.repeat(10_000) }),
    ],
  });
  expect(answer).toMatchObject({ status: 200, body: { state: 'partly', alerts: 5 } });
  const [{ id } = { id: '' }] = await kept();
  const { alerts, state } = (await tenant.ask({ path: `${source}payloads/${id}/` })).body;
  expect(state).toBe('partly');
  expect(alerts[0]).toMatchObject({ key: 'good', outcome: 'opened' });
  expect(await opened()).toBe(answer.body.taken);
});

test('a skipped alert whose key or type cannot be stored is judged once', async () => {
  const zabbix = await openPath('/in/', { use: 'zabbix' });
  const update = { event_id: `a\0${'b'.repeat(5_000)}`, event_value: '1', event_update_status: '1' };
  expect((await zabbix.post(update)).status).toBe(200);
  expect(await zabbix.kept()).toMatchObject([{ state: 'taken' }]);
});

test('what alerts share is copied for as many as fit into 16 MiB, and the others are named', async () => {
  const { post, kept, opened } = await openPath('/in/', { use: 'alertmanager' });
  const alerts = Array.from({ length: 100 }, (_, i) => ({ status: 'firing', labels: { i }, fingerprint: `f${i}` }));
  const answer = await post({ groupKey: 'k'.repeat(900_000), alerts });
  expect(answer, answer.text).toMatchObject({ status: 200, body: { state: 'partly', alerts: 100, taken: 19 } });
  expect(answer.body.rejected[0].error).toContain('what they share');
  expect(await opened()).toBe(19);
  expect(await kept()).toMatchObject([{ state: 'partly' }]);
});

test('each of 1,500 alerts in a payload opens an occurrence and ends it, also if the sender repeats itself at once', {
  tags: ['sweep'],
}, async () => {
  const { post, opened, tenant } = await openPath('/in/', { use: 'alertmanager' });
  const body = (status: string) => ({
    alerts: Array.from({ length: 1_500 }, (_, i) => ({ status, labels: { i: String(i) }, fingerprint: `f${i}` })),
  });
  for (const status of ['firing', 'resolved']) {
    const answers = await Promise.all([post(body(status)), post(body(status))]);
    for (const { status, body } of answers)
      expect({ status, body }).toMatchObject({ status: 200, body: { state: 'taken' } });
    expect(await opened()).toBe(1_500);
  }
  const [row] = await tenant.sql(
    `select count(*)::int as open from occurrences where organization_id = ${tenant.id} and resolved_at is null`,
  );
  expect(row).toEqual({ open: 0 });
});

test('reading alerts with slow expressions leaves time for other requests', { tags: ['sweep'] }, async () => {
  const slow = `[${Array(150).fill('list[]').join()}]`;
  const { post, opened } = await openPath('/in/', {
    use: undefined,
    mapping: { alerts: 'list', key: 'id', title: slow, severity: slow, time: slow, context: slow },
  });
  const posted = post({ list: Array(800).fill({ id: 1, list: Array(20).fill(1) }) });
  const blockedMs = await measureBlockage(posted);
  expect((await posted).status).toBe(200);
  expect(blockedMs).toBeLessThan(500);
  expect(await opened()).toBe(1);
});

/** Returns the longest time in ms for which the event loop was blocked; the service runs in this process. */
async function measureBlockage(during: Promise<unknown>): Promise<number> {
  let isOver = false;
  const done = during.finally(() => {
    isOver = true;
  });
  let maxMs = 0;
  let last = performance.now();
  while (!isOver) {
    await new Promise(resolve => setImmediate(resolve));
    maxMs = Math.max(maxMs, performance.now() - last);
    last = performance.now();
  }
  await done;
  return maxMs;
}

const good = { status: 'firing', labels: { alertname: 'Good' }, fingerprint: 'good' };
const cloudEvent = { specversion: '1.0', id: '1', source: '/good', type: 'disk.full' };
const mixed: [use: string, fields: Fields, body: unknown, contentType: string][] = [
  ['alertmanager', {}, { alerts: [good, { ...good, status: 'odd' }, 'text'] }, 'application/json'],
  ['grafana', {}, { alerts: [{ status: 'firing' }, good, null] }, 'application/json'],
  ['cloudevents', {}, [{ specversion: '1.0' }, cloudEvent, 7], 'application/cloudevents-batch+json'],
  [
    'a mapping',
    { use: undefined, mapping: { alerts: 'list', key: 'id' } },
    { list: [{ id: 1 }, {}, [1]] },
    'application/json',
  ],
];

test.each(mixed)(
  '%s: good neighbors of bad alerts are taken, and each bad one is named',
  async (use, fields, body, type) => {
    const { token, tenant, kept, opened, source } = await openPath('/in/', { use, ...fields });
    const answer = await ask(world.service.address, {
      ...{ method: 'POST', path: `/in/${token}/`, body: JSON.stringify(body), headers: { 'content-type': type } },
    });
    expect(answer, answer.text).toMatchObject({ status: 200, body: { state: 'partly', alerts: 3, taken: 1 } });
    expect(answer.body.rejected).toEqual(Array(2).fill(expect.objectContaining({ error: expect.any(String) })));
    const [{ id } = { id: '' }] = await kept();
    const { alerts } = (await tenant.ask({ path: `${source}payloads/${id}/` })).body;
    const outcomes = alerts.map(({ outcome }: Fields) => outcome);
    expect(outcomes.toSorted()).toEqual(['opened', 'rejected', 'rejected']);
    expect(await opened()).toBe(1);
  },
);

test('Amazon SNS without a signature is refused whatever it contains, and kept', async () => {
  const { post, kept, opened } = await openPath('/in/', { use: 'sns', secret: 'arn:aws:sns:eu-west-1:1:ops' });
  for (const [what, body, status] of unreadable) {
    const answer = await post(body);
    expect(answer, what).toMatchObject({ status: status === 413 ? 413 : 401, body: problem(answer.status) });
  }
  expect((await kept()).map(({ state }) => state)).toEqual(Array(unreadable.length).fill('refused'));
  expect(await opened()).toBe(0);
});

test('a payload that cannot be read is kept up to 64 KiB', async () => {
  const { post, kept, tenant, source } = await openPath('/in/');
  expect((await post('a'.repeat(1_500_000))).status).toBe(400);
  const [{ id, bytes } = { id: '', bytes: 0 }] = await kept();
  const { body } = (await tenant.ask({ path: `${source}payloads/${id}/` })).body;
  expect([bytes, body.length]).toEqual([1_500_000, 64 * 1024]);
});
