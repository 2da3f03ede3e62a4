/** Bundles: alerts of the same seconds to one user by one channel are one message, and none of them is lost. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, startService } from '../../src/app.ts';
import { silent, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld, type Tenant, type TenantInput } from '../support/sink.ts';
import { json } from '../support/wire.ts';

const baseUrl = 'https://alerts.acme.test';

let world: EngineWorld;
let workers: Service[];
beforeAll(async () => {
  world = await openWorld({ BELFRY_ROLE: 'api', BASE_URL: baseUrl });
  const { url } = world.service.runtime;
  const worker = () => startService(testConfig(url, { BELFRY_ROLE: 'worker', BASE_URL: baseUrl }), silent);
  workers = await Promise.all([worker(), worker()]);
});
afterAll(async () => {
  await world.checkLedger();
  await Promise.all(workers.map(worker => worker.stop()));
  await world.close();
});

const user = (name: string, phone: string) => ({ email: `${name}@x.test`, addresses: [{ name: 'sms', value: phone }] });
const ann = user('ann', '+491511234501');
const bob = user('bob', '+491511234502');
const steps = [{}, { after: '1h', unless: 'acknowledged' }];
const message = { subject: '{{ title }}', body: '{{ title }}' };

/** A tenant whose text messages arrive at the sink: `to` is the number. */
async function smsTenant({ channels = [], ...more }: TenantInput = {}): Promise<Tenant> {
  const tenant = await world.tenant({ users: [ann], channels: [{ slug: 'hooks' }, ...channels], notifications: [{}] });
  const gateway = {
    use: 'sms-gateway',
    url: `${world.peer.url}/${tenant.slug}/sms`,
    body: '{"title":"{to}","text":"{text}"}',
    headers: { 'webhook-id': '{id}' },
  };
  const sms = { slug: 'sms', name: 'SMS', type: 'sms', providers: [gateway] };
  const escalation = { steps: steps.map(step => ({ ...step, channels: ['sms'] })), message };
  await tenant.apply(
    { users: [ann], channels: [{ slug: 'hooks' }, sms, ...channels], notifications: [escalation], ...more },
    true,
  );
  return tenant;
}

const alert = (tenant: Tenant, name: string, more: Record<string, unknown> = {}) =>
  tenant.trigger({ dedup_key: name }, { title: name, ...more });

const texts = (tenant: Tenant) => tenant.received().map(one => one.text);
const received = (tenant: Tenant, count: number) =>
  eventually(async () => {
    expect(texts(tenant)).toHaveLength(count);
    return texts(tenant);
  }, 15_000);

/** Sends the first alert, which opens the window. */
async function open(tenant: Tenant): Promise<string> {
  const id = await alert(tenant, 'first');
  await received(tenant, 1);
  return id;
}

/** Waits until each has its item in the bundle, which waits until it is closed. */
async function collected(tenant: Tenant, ...ids: string[]) {
  for (const id of ids) await tenant.until(id, 'pending');
  return (await Promise.all(ids.map(id => tenant.deliveries(id)))).flat();
}

const hold = (tenant: Tenant) =>
  tenant.sql(`update digests set closes_at = closes_at + interval '1 hour' where organization_id = ${tenant.id}`);

/** Makes the bundles due. */
async function close(tenant: Tenant): Promise<void> {
  await tenant.sql(`update digests set closes_at = now() where organization_id = ${tenant.id} and items > 0`);
  await tenant.sql(
    `update deliveries set due_at = now() where organization_id = ${tenant.id} and status = 'pending'
       and digest_id is not null and due_at <> '9999-12-31Z'`,
  );
  await tenant.sql('notify belfry_work');
}

test('the first alert is sent at once, and what follows within seconds is one message', async () => {
  const tenant = await smsTenant();
  await open(tenant);
  await hold(tenant);
  const ids: string[] = [];
  for (const n of [1, 2, 3, 4, 5])
    ids.push(await alert(tenant, `disk ${n}`, { severity: n > 3 ? 'critical' : 'info' }));
  const items = await collected(tenant, ...ids);
  expect(new Set(items.map(one => one.digest)).size).toBe(1);
  const path = `/api/o/${tenant.slug}/occurrence/${ids[0]}/why/?user=ann@x.test`;
  expect((await tenant.ask({ path })).body.answers[0].explanation).toContain('alerts of the same seconds');
  await close(tenant);
  const [, text] = await received(tenant, 2);
  const link = new RegExp(`^5 alerts, 2 critical: disk 1; disk 2; disk 3 (${baseUrl}/acknowledge/\\S+)$`);
  expect(text).toMatch(link);
  for (const id of ids) expect(await tenant.until(id, 'sent')).toMatchObject([{ status: 'sent' }]);
  expect((await tenant.ask({ path })).body.answers[0].explanation).toContain('in one message with other alerts');
  const [shown] = await tenant.deliveries(ids[4]!);
  const view = await tenant.ask({
    path: `/api/o/${tenant.slug}/occurrence/${ids[4]}/deliveries/${shown!.id}/message/`,
  });
  expect(view.body.text).toMatch(/^5 alerts, 2 critical: disk 1; disk 2; disk 3/);
});

test('acknowledging a bundle acknowledges every alert that is still open, and says how many', async () => {
  const tenant = await smsTenant();
  const first = await open(tenant);
  await hold(tenant);
  const ids = [await alert(tenant, 'a'), await alert(tenant, 'b'), await alert(tenant, 'c')];
  await collected(tenant, ...ids);
  await close(tenant);
  const [, text] = await received(tenant, 2);
  for (const id of ids) await tenant.until(id, 'sent');
  const link = /https:\S+/.exec(text!)![0].slice(baseUrl.length);
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${ids[1]}/resolve/`);
  const shown = await tenant.ask({ path: link });
  expect(shown.text).toContain('3 alerts');
  expect((await tenant.ask({ method: 'POST', path: link })).text).toContain('2 of 3 alerts were open');
  for (const id of [ids[0]!, ids[2]!]) expect((await tenant.occurrence(id)).acknowledged_by).toBe('ann@x.test');
  expect((await tenant.occurrence(first)).acknowledged_at).toBeNull();
  expect((await tenant.ask({ method: 'POST', path: link })).text).toContain('0 of 3 alerts were open');
  const forged = link.replace(/.$/, last => (last === 'a' ? 'b' : 'a'));
  expect((await tenant.ask({ method: 'POST', path: forged })).status).toBe(404);
});

test('an alert that is acknowledged or resolved before the bundle is sent is left out, even the carrier', async () => {
  const tenant = await smsTenant({ users: [ann, bob] });
  await alert(tenant, 'first');
  await received(tenant, 2);
  await hold(tenant);
  const ids: string[] = [];
  for (const name of ['a', 'b', 'c', 'd']) {
    ids.push(await alert(tenant, name));
    await collected(tenant, ids.at(-1)!);
  }
  const done = await tenant.post(`/api/o/${tenant.slug}/occurrence/${ids[0]}/acknowledge/`);
  expect(done.body).toMatchObject({ changed: true, cancelled: 2 });
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${ids[2]}/resolve/`);
  await close(tenant);
  const sent = (await received(tenant, 4)).slice(2);
  for (const text of sent) expect(text).toMatch(/^2 alerts: b; d /);
  expect(await tenant.outcomes(ids[0]!)).toEqual([
    'ann@x.test cancelled: acknowledged',
    'bob@x.test cancelled: acknowledged',
  ]);
  expect(await tenant.outcomes(ids[2]!)).toEqual(['ann@x.test cancelled: resolved', 'bob@x.test cancelled: resolved']);
});

test('what an answer left in a bundle is dropped when it is sent, as if its process had died', {
  tags: ['sweep'],
}, async () => {
  const tenant = await smsTenant();
  await open(tenant);
  await hold(tenant);
  const ids: string[] = [];
  for (const name of ['a', 'b', 'c', 'd']) {
    ids.push(await alert(tenant, name));
    await collected(tenant, ids.at(-1)!);
  }
  await tenant.sql(
    `update occurrences set acknowledged_at = now(), acknowledged_by = 'x' where organization_id = ${tenant.id}
       and id = any($1::uuid[])`,
    [ids[0], ids[2]],
  );
  await close(tenant);
  expect((await received(tenant, 2))[1]).toMatch(/^2 alerts: b; d /);
  for (const id of [ids[0]!, ids[2]!]) {
    expect(await tenant.until(id, 'cancelled')).toMatchObject([{ reason: 'acknowledged' }]);
  }
});

test('a single alert in a bundle is sent as its own message, and the window after it is twice as long', {
  tags: ['sweep'],
}, async () => {
  const tenant = await smsTenant();
  await open(tenant);
  await alert(tenant, 'alone');
  expect((await received(tenant, 2))[1]).toBe('alone');
  const [window] = await tenant.sql<{ s: number }>(
    `select extract(epoch from closes_at - opened_at)::float8 as s from digests
     where organization_id = ${tenant.id} and closed_at is null`,
  );
  expect(window!.s).toBeGreaterThan(9);
  expect(window!.s).toBeLessThan(12);
  // In the next window, nothing is sent at once.
  const next = await alert(tenant, 'next');
  await collected(tenant, next);
  expect(texts(tenant)).toHaveLength(2);
});

test('alerts that waited for a personal rule, or for the end of a pause, are one message when they are due', async () => {
  const tenant = await smsTenant({
    users: [{ ...ann, reach: { normal: [{ by: 'sms', after: '5m' }] } }],
    notifications: [{ steps: [{ channels: ['personal'] }], message }],
  });
  const names = ['a', 'b', 'c', 'd', 'e'];
  const raise = async () => {
    const ids: string[] = [];
    for (const name of names) ids.push(await alert(tenant, name));
    await collected(tenant, ...ids);
    return ids;
  };
  const passRule = async () => {
    const later = `organization_id = ${tenant.id} and reason = 'reach.later'`;
    await tenant.sql(`update deliveries set due_at = now() where ${later}`);
    await tenant.sql('notify belfry_work');
  };
  const joined = () =>
    eventually(async () => {
      const items = `select from deliveries where organization_id = ${tenant.id} and status = 'pending' and digest_id is not null`;
      expect(await tenant.sql(items)).toHaveLength(4);
    }, 15_000);
  const ids = await raise();
  await passRule();
  await joined();
  await close(tenant);
  const [alone, together] = await received(tenant, 2);
  expect(names).toContain(alone);
  expect(together).toMatch(/^4 alerts: /);
  const all = (await Promise.all(ids.map(id => tenant.until(id, 'sent')))).flat();
  expect(all.map(one => one.attempts).sort()).toEqual([0, 0, 0, 1, 1]);
  expect(new Set(all.map(one => one.digest)).size).toBe(2);
  for (const id of ids) await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/resolve/`);

  const channel = `/api/o/${tenant.slug}/c/sms/`;
  await tenant.post(`${channel}pause/`, {});
  await raise();
  await passRule();
  await eventually(async () => {
    const held = `select from deliveries where organization_id = ${tenant.id} and reason = 'channel.paused'`;
    expect(await tenant.sql(held)).toHaveLength(5);
  });
  await tenant.sql(`delete from digests where organization_id = ${tenant.id}`);
  await tenant.post(`${channel}resume/`, {});
  await joined();
  await close(tenant);
  expect((await received(tenant, 4))[3]).toMatch(/^4 alerts: /);
});

test('messages without a dedup key, and those for machines, are never bundled', async () => {
  const tenant = await smsTenant({
    notifications: [{ steps: [{ channels: ['sms', 'hooks'] }], message }],
  });
  for (const name of ['a', 'b', 'c']) await alert(tenant, name);
  for (const title of ['code 1', 'code 2']) await tenant.trigger({}, { title });
  await eventually(async () => {
    // Two codes and three alerts to the machine, and of the alerts by SMS the one that was decided first.
    expect(
      tenant
        .received()
        .filter(one => one.to.startsWith('+'))
        .map(one => one.text)
        .sort(),
    ).toEqual([expect.stringMatching(/^[abc]$/), 'code 1', 'code 2']);
    expect(tenant.received().filter(one => !one.to.startsWith('+'))).toHaveLength(5);
  });
});

test('nothing of a bundle is sent once its event is paused, whichever delivery carries it', {
  tags: ['sweep'],
}, async () => {
  const tenant = await smsTenant();
  await open(tenant);
  await hold(tenant);
  const ids = [await alert(tenant, 'a'), await alert(tenant, 'b')];
  await collected(tenant, ...ids);
  await tenant.post(`${tenant.event}pause/`, {});
  await close(tenant);
  await eventually(async () => {
    const all = (await Promise.all(ids.map(id => tenant.deliveries(id)))).flat();
    expect(all.map(one => one.reason)).toEqual(['event.paused', 'event.paused']);
  });
  expect(texts(tenant)).toHaveLength(1);
});

test('an alert whose notification was switched off leaves the bundle, and the others are sent', async () => {
  const of = (kind: string, more: object = {}) => {
    return { filter: `kind == '${kind}'`, steps: [{ channels: ['sms'] }], message, ...more };
  };
  const tenant = await smsTenant({ notifications: [of('x'), of('y')] });
  await alert(tenant, 'first', { kind: 'x' });
  await received(tenant, 1);
  await hold(tenant);
  const ids: string[] = [];
  for (const [name, kind] of [...'xyx'].entries()) {
    ids.push(await alert(tenant, `${name}`, { kind }));
    await collected(tenant, ids.at(-1)!);
  }
  await tenant.sql(`update notifications set active = false where organization_id = ${tenant.id} and name = 'n2'`);
  await close(tenant);
  expect((await received(tenant, 2))[1]).toMatch(/^2 alerts: 0; 2 /);
  expect(await tenant.until(ids[1]!, 'suppressed')).toMatchObject([{ reason: 'notification.inactive' }]);
});

test('the message of a bundle changes when all of its alerts are over, and again when one is open again', {
  tags: ['sweep'],
}, async () => {
  const tenant = await world.tenant({ users: [{ email: 'ann@x.test', addresses: [{ name: 'slack', value: 'U7' }] }] });
  const slack = { use: 'slack', token: 'xoxb-hush-hush-hush', endpoint: `${world.peer.url}/${tenant.slug}/slack` };
  let sent = 0;
  tenant.answer(() => json(200, { ok: true, channel: 'D7', ts: `1503435956.00000${++sent}` }));
  await tenant.apply(
    {
      users: [{ email: 'ann@x.test', addresses: [{ name: 'slack', value: 'U7' }] }],
      channels: [{ slug: 'slack', name: 'Slack', type: 'slack', providers: [slack] }],
      notifications: [{ steps: [{ channels: ['slack'] }, { after: '1h', channels: ['slack'] }], message }],
    },
    true,
  );
  const calls = (method: string) =>
    world.peer.seen.filter(one => one.path === `/${tenant.slug}/slack/${method}`).map(one => JSON.parse(one.body));
  const changed = (count: number) =>
    eventually(async () => expect(calls('chat.update')).toHaveLength(count), 8_000).then(() =>
      calls('chat.update').at(-1),
    );
  await alert(tenant, 'first');
  await eventually(async () => expect(calls('chat.postMessage')).toHaveLength(1), 8_000);
  await hold(tenant);
  const ids = [await alert(tenant, 'a'), await alert(tenant, 'b'), await alert(tenant, 'c')];
  const items = await collected(tenant, ...ids);
  await close(tenant);
  for (const id of ids) await tenant.until(id, 'sent');
  expect(calls('chat.postMessage')).toHaveLength(2);
  expect(JSON.stringify(calls('chat.postMessage')[1])).toContain('3 alerts');

  const act = (i: number, what: string) => tenant.post(`/api/o/${tenant.slug}/occurrence/${ids[i]}/${what}/`);
  const bundleRows = () =>
    tenant.sql(
      `select 1 as one from message_updates where organization_id = ${tenant.id} and occurrence_id = $1`,
      items[0]!.digest,
    );
  const updatesOf = async (i: number) => {
    const path = `/api/o/${tenant.slug}/occurrence/${ids[i]}/deliveries/${items[i]!.id}/updates/`;
    const { body } = await tenant.ask({ path });
    return (body as Record<string, unknown>[]).map(one => `${one.change} by ${one.by}: ${one.outcome}`);
  };
  await act(0, 'acknowledge');
  await act(1, 'resolve');
  await eventually(async () => expect(await bundleRows()).toHaveLength(1), 8_000);
  await eventually(async () => expect(await bundleRows()).toEqual([]), 8_000);
  expect(calls('chat.update')).toEqual([]);
  expect(await updatesOf(1)).toEqual(['resolved by API key test: waiting']);

  await act(2, 'acknowledge');
  const acknowledged = await changed(1);
  expect(acknowledged).toMatchObject({ channel: 'D7', ts: '1503435956.000002' });
  expect(acknowledged.text).toMatch(/3 alerts[\s\S]*Acknowledged by API key test, \d\d:\d\d/);
  for (const i of [0, 1, 2]) {
    await eventually(async () => expect(await updatesOf(i)).toEqual(['acknowledged by API key test: done']), 8_000);
  }
  await act(0, 'unacknowledge');
  expect((await changed(2)).text).toContain('Open again');
  await act(0, 'resolve');
  await act(2, 'resolve');
  expect((await changed(3)).text).toContain('Resolved by API key test');
});
