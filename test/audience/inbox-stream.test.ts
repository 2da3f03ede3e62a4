/** The inbox stream: ordered, without loss or repetition, across processes, and with limits. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startService } from '../../src/app.ts';
import { storeInboxMessagesAcrossTenants } from '../../src/db/audience/inbox.ts';
import { maxStreamsOfProcess, streamLimits } from '../../src/services/audience/inbox-streams.ts';
import { silent, testConfig } from '../support/database.ts';
import { EventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { fairNow } from '../support/fair-clock.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
let tenant: Tenant;
const open: EventStream[] = [];
const ann = 'ann@x.test';
const inApp = { slug: 'app', name: 'In the app', type: 'inbox', providers: [{ use: 'inbox' }] };

beforeAll(async () => {
  world = await openWorld();
});
afterEach(() => {
  for (const stream of open.splice(0)) stream.close();
});
afterAll(() => world.close());

const fresh = async () => {
  tenant = await world.tenant({
    users: [ann, 'ben@x.test'],
    channels: [inApp],
    notifications: [{ channels: ['inbox'], message: { subject: 'Order {{ n }}', body: '{{ text }}' } }],
  });
};
const path = () => `/api/o/${tenant.slug}/u/${ann}/inbox/`;
const newToken = async (expires_in = '1h') =>
  (await tenant.post(`/api/o/${tenant.slug}/u/${ann}/token/`, { expires_in })).body.token as string;

async function connect(
  { token, lastEventId, query = '' }: { token?: string; lastEventId?: string; query?: string } = {},
  address = world.service.address,
): Promise<EventStream> {
  const stream = await EventStream.open(address, `${path()}stream/${query}`, {
    ...(!query.includes('token=') && { authorization: `Bearer ${token ?? (await newToken())}` }),
    ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
  });
  open.push(stream);
  return stream;
}

const ready = (stream: EventStream) => stream.until(events => events.some(({ event }) => event === 'ready'));
const send = async (n: number, text = 'Hello') => tenant.trigger({ limit_to: [ann] }, { n, text });
const titles = (stream: EventStream) => stream.named('message').map(({ data }) => data.title);
const ids = async () => (await tenant.ask({ path: path() })).body.map((one: { id: number }) => one.id) as number[];

test('sends each new message with the counts', async () => {
  await fresh();
  const stream = await connect();
  expect(stream.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  });
  await ready(stream);
  expect(stream.events[0]).toMatchObject({ event: 'ready', data: { unread: 0, unseen: 0 } });
  await send(1);
  await stream.until(events => events.length === 2);
  const [id] = await ids();
  expect(stream.events[1]!.data).toMatchObject({ id, title: 'Order 1', body: 'Hello', unread: 1, unseen: 1 });
  expect(Number(stream.events[1]!.id)).toBeGreaterThan(Number(stream.events[0]!.id));
});

test('sends state changes of single messages and of all messages', async () => {
  await fresh();
  for (const n of [1, 2, 3]) await tenant.outcomes(await send(n));
  const [third, second, first] = await ids();
  const stream = await connect();
  await ready(stream);
  await tenant.post(`${path()}${second}/read/`);
  await stream.until(events => events.length === 2);
  expect(stream.events[1]).toMatchObject({
    event: 'update',
    data: { messages: [{ id: second, read_at: expect.any(String) }], unread: 2, unseen: 2 },
  });
  await tenant.post(`${path()}read/`);
  await stream.until(events => events.length === 3);
  expect(stream.events[2]!.data).toMatchObject({ messages: [{ id: first }, { id: third }], unread: 0 });
  // A message that is already read does not change.
  await tenant.post(`${path()}read/`);
  await tenant.post(`${path()}${first}/archive/`);
  await stream.until(events => events.length === 4);
  expect(stream.events[3]!.data.messages).toMatchObject([{ id: first, archived_at: expect.any(String) }]);
});

test('resumes after the last event without loss or repetition', async () => {
  await fresh();
  const first = await connect();
  await ready(first);
  await send(1);
  await first.until(() => titles(first).length === 1);
  first.close();
  for (const n of [2, 3]) await tenant.outcomes(await send(n));
  await tenant.post(`${path()}${first.named('message')[0]!.data.id}/read/`);
  const second = await connect({ lastEventId: first.lastId });
  await second.until(events => events.length === 3);
  expect(titles(second)).toEqual(['Order 2', 'Order 3']);
  expect(second.events[2]).toMatchObject({ event: 'update', data: { unread: 2 } });
  // An EventSource with a new token passes the last event id in the query.
  const third = await connect({ query: `?token=${await newToken()}&last_event_id=${second.events[0]!.id}` });
  await third.until(events => events.length === 2);
  expect(titles(third)).toEqual(['Order 3']);
  await send(4);
  await third.until(() => titles(third).length === 2);
  await second.until(() => titles(second).length === 3);
  expect([titles(third), titles(second)]).toEqual([
    ['Order 3', 'Order 4'],
    ['Order 2', 'Order 3', 'Order 4'],
  ]);
});

test('sends reset when it cannot resume', async () => {
  await fresh();
  await tenant.outcomes(await send(1));
  const ahead = await connect({ lastEventId: '999999' });
  await ahead.until(events => events.length === 1);
  expect(ahead.events[0]).toMatchObject({ event: 'reset', data: { unread: 1 } });
  await tenant.sql('update inboxes set sequence = sequence + 5000 where organization_id = $1', tenant.id);
  const behind = await connect({ lastEventId: '1' });
  await behind.until(events => events.length === 1);
  expect(behind.events[0]!.event).toBe('reset');
});

test('reaches a user who is connected to another process', async () => {
  await fresh();
  const other = await startService(testConfig(world.service.runtime.url, { BELFRY_ROLE: 'api' }), silent);
  try {
    const here = await connect();
    const there = await connect({}, other.address);
    await Promise.all([ready(here), ready(there)]);
    await send(1);
    await here.until(() => titles(here).length === 1);
    await there.until(() => titles(there).length === 1);
    await tenant.post(`${path()}read/`);
    for (const stream of [here, there]) await stream.until(events => events.some(({ event }) => event === 'update'));
    expect(there.events).toEqual(here.events);
  } finally {
    await other.stop();
  }
});

test('streams only the inbox of the user that the token belongs to', async () => {
  await fresh();
  const token = await newToken();
  const others = await EventStream.open(
    world.service.address,
    `/api/o/${tenant.slug}/u/ben@x.test/inbox/stream/?token=${token}`,
  );
  const forged = await connect({ query: '?token=bfr.1.1.1.1.x' });
  const key = await connect({ query: '?token=bf_1_2' });
  const odd = await connect({ lastEventId: 'x' });
  expect([others.status, forged.status, key.status, odd.status]).toEqual([404, 401, 401, 400]);
  const stream = await connect();
  await ready(stream);
  await tenant.outcomes(await tenant.trigger({ limit_to: ['ben@x.test'] }, { n: 1, text: 'x' }));
  await send(2);
  await stream.until(() => titles(stream).length === 1);
  expect(titles(stream)).toEqual(['Order 2']);
});

test('answers 429 when a user has too many open streams', async () => {
  await fresh();
  const token = await newToken();
  for (let i = 0; i < streamLimits.perUser; i++) expect((await connect({ token })).status).toBe(200);
  const refused = await connect({ token });
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, '30']);
  open.shift()!.close();
  await eventually(async () => expect((await connect({ token })).status).toBe(200));
});

test('a slow reader does not delay others, and receives everything once it reads', async () => {
  await fresh();
  const slow = await connect();
  const quick = await connect();
  await Promise.all([ready(slow), ready(quick)]);
  slow.pause();
  // More than fits into the buffers on the way.
  const text = 'x'.repeat(90_000);
  const [{ id: user_id }] = (await tenant.sql(
    'select id::int from users where organization_id = $1 and username = $2',
    tenant.id,
    ann,
  )) as [{ id: number }];
  const shared = {
    organization_id: tenant.id,
    user_id,
    occurrence_id: '00000000-0000-7000-8000-000000000000',
    body: text,
  };
  const messages = Array.from({ length: 60 }, (_, n) => ({ ...shared, id: n + 1, title: `Order ${n}` }));
  await storeInboxMessagesAcrossTenants(world.service.runtime.deps.pool, messages);
  await quick.until(() => titles(quick).length === 60, 20_000);
  expect(titles(slow).length).toBeLessThan(60);
  slow.resume();
  await slow.until(() => titles(slow).length === 60);
  expect(new Set(titles(slow)).size).toBe(60);
});

/** Runs with these limits, and restores the original ones afterwards. */
async function withLimits(limits: Partial<typeof streamLimits>, run: () => Promise<void>): Promise<void> {
  const original = { ...streamLimits };
  await eventually(() => expect(world.service.runtime.deps.inboxStreams.count).toBe(0));
  Object.assign(streamLimits, limits);
  try {
    await run();
  } finally {
    Object.assign(streamLimits, original);
  }
}

const problemOf = ({ status, headers, body }: EventStream) => ({
  status,
  retryAfter: headers['retry-after'],
  type: headers['content-type'],
  code: JSON.parse(body).code,
});

test('answers 429 when an organization has reached its stream limit, and serves other organizations', async () => {
  await fresh();
  await withLimits({ perOrganization: 3 }, async () => {
    const token = await newToken();
    for (let i = 0; i < 3; i++) expect((await connect({ token })).status).toBe(200);
    const refused = await connect({ token });
    await eventually(() => expect(refused.isOver).toBe(true));
    expect(problemOf(refused)).toEqual({
      status: 429,
      retryAfter: '30',
      type: 'application/problem+json',
      code: 'limit.streams',
    });
    expect(JSON.parse(refused.body).detail).toContain('3 open streams');
    const full = tenant;
    await fresh();
    await ready(await connect());
    tenant = full;
    open.shift()!.close();
    await eventually(async () => expect((await connect({ token })).status).toBe(200));
  });
});

test('one organization cannot use all streams of a process', () => {
  expect(streamLimits.perOrganization).toBe(Math.floor(streamLimits.perProcess / 2));
  expect(maxStreamsOfProcess(1_048_576)).toBe(20_000);
  // Below the open files limit, so that streams never use up the sockets of other requests.
  expect(maxStreamsOfProcess(20_000)).toBe(14_400);
  expect(maxStreamsOfProcess(1_024)).toBe(737);
  expect(maxStreamsOfProcess(256)).toBe(115);
});

test('answers 503 when a process has reached its stream limit, and still serves other requests', async () => {
  await fresh();
  await withLimits({ perProcess: 2 }, async () => {
    const token = await newToken();
    for (let i = 0; i < 2; i++) expect((await connect({ token })).status).toBe(200);
    const refused = await connect({ token });
    await eventually(() => expect(refused.isOver).toBe(true));
    expect(problemOf(refused)).toMatchObject({ status: 503, retryAfter: '5', code: 'service.unavailable' });
    expect((await tenant.ask({ path: path() })).status).toBe(200);
  });
});

/** Stores more messages than a stream that is not read can buffer. */
async function flood(count: number): Promise<void> {
  const [{ id: user_id }] = (await tenant.sql(
    'select id::int from users where organization_id = $1 and username = $2',
    tenant.id,
    ann,
  )) as [{ id: number }];
  const shared = { organization_id: tenant.id, user_id, body: 'x'.repeat(90_000) };
  const messages = Array.from({ length: count }, (_, n) => ({
    ...shared,
    occurrence_id: '00000000-0000-7000-8000-000000000000',
    id: n + 1,
    title: `Order ${n}`,
  }));
  await storeInboxMessagesAcrossTenants(world.service.runtime.deps.pool, messages);
}

test('when too many readers are blocked, the one blocked longest is dropped and can resume', {
  tags: ['sweep'],
}, async () => {
  await fresh();
  await withLimits({ blocked: 2, slowAfterMs: 500 }, async () => {
    const slow: EventStream[] = [];
    for (let i = 0; i < 4; i++) slow.push(await connect());
    await Promise.all(slow.map(ready));
    for (const stream of slow) stream.pause();
    // More than fits into the socket buffers.
    await flood(120);
    const { inboxStreams } = world.service.runtime.deps;
    await eventually(() => expect(inboxStreams.count).toBe(2), 40_000);
    for (const stream of slow) stream.resume();
    await eventually(() => expect(slow.filter(stream => stream.isOver)).toHaveLength(2), 20_000);
    const dropped = slow.find(stream => stream.isOver)!;
    const again = await connect({ lastEventId: dropped.lastId });
    await again.until(() => titles(again).length > 0, 20_000);
    expect(titles(again)[0]).toBe(`Order ${titles(dropped).length}`);
  });
});

test('a HEAD request opens no stream', async () => {
  await fresh();
  const { deps } = world.service.runtime;
  await eventually(() => expect(deps.inboxStreams.count).toBe(0));
  const answer = await tenant.ask({ method: 'HEAD', path: `${path()}stream/` });
  expect([answer.status, deps.inboxStreams.count]).toEqual([200, 0]);
});

test('streams end with the process, which does not wait for them', async () => {
  await fresh();
  const other = await startService(testConfig(world.service.runtime.url, { BELFRY_ROLE: 'api' }), silent);
  const stream = await connect({}, other.address);
  await ready(stream);
  const began = fairNow();
  await other.stop();
  await eventually(() => expect(stream.isOver).toBe(true));
  expect(fairNow() - began).toBeLessThan(4_000);
});
