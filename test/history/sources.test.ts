/** Alerts come in at the address of a source: occurrences open, are counted, acknowledged and resolved. */
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lowestUuidAt, uuidv7 } from '../../src/core/ids.ts';
import { deleteOldPayloadsAcrossTenants } from '../../src/db/history/sources/payloads.ts';
import { judgeOpenPayloads } from '../../src/services/history/sources/ingress.ts';
import { alert, base, group, occurrencesOf, openSource } from '../support/alert-source.ts';
import { expectProblem } from '../support/api.ts';
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

const sourceOf = (fields: Fields = {}, input: Parameters<EngineWorld['tenant']>[0] = {}) =>
  openSource(world, fields, input);

describe('alerts', () => {
  test('each alert opens an occurrence; repetitions are counted; the end resolves it', async () => {
    const { tenant, post, payload } = await sourceOf();
    const first = await post(group(alert('a'), alert('b')));
    expect(first).toMatchObject({ status: 200, body: { state: 'taken', alerts: 2, taken: 2, rejected: [] } });
    await post(group(alert('a'), alert('b')));
    await post(group(alert('a'), alert('b', 'resolved')));
    expect(await occurrencesOf(tenant)).toMatchObject([
      { dedup_key: 'prom/a', triggers: 3, resolved: false },
      { dedup_key: 'prom/b', triggers: 2, resolved: true },
    ]);
    const kept = await payload(first.body.payload);
    expect(kept).toMatchObject({ state: 'taken', counts: { opened: 2 }, url: '/in/…/', method: 'POST' });
    expect(kept.alerts).toMatchObject([
      { at: 'alerts/0', key: 'a', state: 'open', event: 'go', outcome: 'opened', occurrence: expect.any(String) },
      { key: 'b' },
    ]);
    const [row] = await tenant.sql(
      'select count, state from source_alerts where organization_id = $1 and key = $2',
      tenant.id,
      'a',
    );
    expect(row).toMatchObject({ count: 3, state: 'open' });
    // After its end, the next one is another occurrence.
    await post(group(alert('b')));
    expect(await occurrencesOf(tenant)).toHaveLength(3);
  });

  test('the same firing from two senders at once opens one occurrence', async () => {
    const { tenant, post } = await sourceOf();
    const answers = await Promise.all(Array.from({ length: 8 }, () => post(group(alert('a')))));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(await occurrencesOf(tenant)).toMatchObject([{ triggers: 8 }]);
  });

  test('the end of an unknown alert is recorded, nothing else', async () => {
    const { tenant, post, payload } = await sourceOf();
    const answer = await post(group(alert('never', 'resolved')));
    expect(answer.status).toBe(200);
    expect(await payload(answer.body.payload)).toMatchObject({ counts: { unknown: 1 } });
    expect(await occurrencesOf(tenant)).toEqual([]);
  });

  test('nine of ten are taken, and the answer and the payload name the tenth', async () => {
    const { tenant, post, payload } = await sourceOf();
    const nine = Array.from({ length: 9 }, (_, i) => alert(`f${i}`));
    const answer = await post(group(...nine, { status: 'odd', labels: { a: 'b' } }));
    const rejected = { at: 'alerts/9', error: 'has a status other than firing and resolved' };
    expect(answer).toMatchObject({ status: 200, body: { state: 'partly', taken: 9, rejected: [rejected] } });
    expect(await payload(answer.body.payload)).toMatchObject({ state: 'partly', counts: { opened: 9, rejected: 1 } });
    expect(await occurrencesOf(tenant)).toHaveLength(9);
    const none = await post(group({ status: 'odd', labels: { a: 'b' } }));
    expect(none).toMatchObject({ status: 400, body: { state: 'rejected' } });
  });

  test('group_by makes one occurrence of many alerts, which is resolved when all are', async () => {
    const { tenant, post } = await sourceOf({ group_by: ['labels.cluster'] });
    const member = (key: string, status?: string) => alert(key, status, { cluster: 'eu' });
    await post(group(member('a'), member('b'), alert('c', 'firing', { cluster: 'us' })));
    expect(await occurrencesOf(tenant)).toHaveLength(2);
    await post(group(member('a', 'resolved')));
    expect((await occurrencesOf(tenant)).map(({ resolved }) => resolved)).toEqual([false, false]);
    await post(group(member('b', 'resolved')));
    const ended = (await occurrencesOf(tenant)).filter(({ resolved }) => resolved);
    expect(ended).toMatchObject([{ triggers: 2 }]);
  });

  test('the recipients get a message with the context of the alert', async () => {
    const message = {
      subject: '{{ user.email }}',
      body: '{{ title }} {{ severity }} {{ labels.alertname }} {{ source }}',
    };
    const { tenant, post, payload } = await sourceOf({}, { notifications: [{ message }] });
    const answer = await post(group(alert('a')));
    const { alerts } = await payload(answer.body.payload);
    await tenant.outcomes(alerts[0].occurrence);
    expect(tenant.received().map(({ text }) => text.trim())).toEqual(['Full warning Disk prom']);
  });
});

describe('routes', () => {
  test('an alert that changes to another event ends what it had opened', async () => {
    const { tenant, post, payload, source } = await sourceOf();
    const event = await tenant.ask({
      method: 'POST',
      path: `${tenant.application}e/`,
      body: { slug: 'page', name: 'Page' },
    });
    expect(event.status).toBe(201);
    const routes = [
      { when: "labels.severity == 'critical'", event: 'page' },
      { when: "labels.severity == 'warning'", event: 'go' },
    ];
    expect((await tenant.ask({ method: 'PATCH', path: source, body: { routes } })).status).toBe(200);
    await post(group(alert('a')));
    await post(group(alert('a', 'firing', { severity: 'critical' })));
    expect(await occurrencesOf(tenant)).toMatchObject([{ resolved: true }, { resolved: false }]);
    const other = await post(group(alert('b', 'firing', { severity: 'none' })));
    expect(await payload(other.body.payload)).toMatchObject({ counts: { unrouted: 1 } });
  });

  test('a route to an event that does not exist is refused', async () => {
    const { tenant } = await sourceOf();
    const body = { ...base, slug: 'other', routes: [{ event: 'nowhere' }] };
    const answer = await tenant.ask({ method: 'POST', path: `${tenant.application}sources/`, body });
    expectProblem(answer, 400, 'request.invalid', ['routes/0/event']);
  });
});

describe('requests that cannot be used', () => {
  test.each([
    ['no JSON', 'hello', 400, /not valid JSON/],
    ['nothing', '', 400, /not valid JSON/],
    ['JSON nested 10,000 deep', '['.repeat(10_000), 400, /nested/],
    ['JSON without alerts', '{}', 400, /no list of alerts/],
    ['3 MB', Buffer.alloc(3_000_000, ' '), 413, /larger than/],
  ])('%s is refused, and kept for inspection', async (_, body, status, reason) => {
    const { tenant, post, source } = await sourceOf();
    expectProblem(await post(body), status);
    const [kept] = (await tenant.ask({ path: `${source}payloads/` })).body;
    expect(kept).toMatchObject({ state: 'refused', note: expect.stringMatching(reason) });
    expect(await occurrencesOf(tenant)).toEqual([]);
  });

  test('an unknown token is not found', async () => {
    const { post } = await sourceOf();
    for (const path of [`/in/${'x'.repeat(32)}/`, '/in/x/'])
      expectProblem(await post(group(), {}, path), 404, 'path.not_found');
  });

  test('with a secret, only a sender that has it is accepted', async () => {
    const { tenant, post, source } = await sourceOf({ secret: 'sesame' });
    const body = JSON.stringify(group(alert('a')));
    const hmac = (text: string) => createHmac('sha256', 'sesame').update(text).digest('hex');
    const now = String(Math.floor(Date.now() / 1_000));
    const refused: Record<string, string>[] = [
      {},
      { authorization: 'Bearer wrong' },
      { 'x-grafana-alerting-signature': hmac('other') },
      { 'x-hub-signature-256': `sha256=${hmac('other')}`, authorization: 'Bearer sesame' },
      { 'x-grafana-alerting-signature': hmac(`1:${body}`), 'x-grafana-alerting-timestamp': '1' },
    ];
    for (const headers of refused) expectProblem(await post(body, headers), 401, 'source.refused');
    expect(await occurrencesOf(tenant)).toEqual([]);
    const accepted: Record<string, string>[] = [
      { authorization: 'Bearer sesame' },
      { 'x-grafana-alerting-signature': hmac(body) },
      { 'x-grafana-alerting-signature': hmac(`${now}:${body}`), 'x-grafana-alerting-timestamp': now },
      { 'x-hub-signature-256': `sha256=${hmac(body)}` },
    ];
    for (const headers of accepted) expect((await post(body, headers)).status).toBe(200);
    await tenant.ask({ method: 'PATCH', path: source, body: { secret: 'ann:pass' } });
    const basic = Buffer.from('ann:pass').toString('base64');
    expect((await post(body, { authorization: `Basic ${basic}` })).status).toBe(200);
    await tenant.ask({ method: 'PATCH', path: source, body: { secret: null } });
    expect((await post(body)).status).toBe(200);
  });
});

describe('limits', () => {
  test.each([
    ['alertmanager', 503],
    ['formatted', 429],
  ])('of %s are answered with %i, which it retries', async (use, status) => {
    const { tenant, post, source } = await sourceOf({ use });
    await limit(tenant, 1);
    const body = (i: number) =>
      use === 'alertmanager' ? group(alert(`a${i}`)) : { alert_uid: `a${i}`, title: 'A', state: 'alerting' };
    const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => post(body(i))));
    const limited = answers.filter(answer => answer.status !== 200);
    expect(limited.length).toBeGreaterThan(0);
    expect(new Set(limited.map(answer => answer.status))).toEqual(new Set([status]));
    const kept = (await tenant.ask({ path: `${source}payloads/` })).body as { counts: Fields }[];
    expect(kept.some(({ counts }) => counts.limited === 1)).toBe(true);
  });

  test('Grafana never retries, so its payload is accepted and judged later', async () => {
    const { tenant, post, payload } = await sourceOf({ use: 'grafana' });
    await limit(tenant, 1);
    const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => post(group(alert(`a${i}`)))));
    const waiting = answers.filter(answer => answer.status === 202);
    expect(waiting.length).toBeGreaterThan(0);
    await limit(tenant, null);
    await tenant.sql(
      `update source_payloads set retry_at = now() - interval '1 s' where state = 'received' and organization_id = ${tenant.id}`,
    );
    await judgeOpenPayloads(world.service.runtime.deps);
    expect(await occurrencesOf(tenant)).toHaveLength(10);
    expect(await payload(waiting[0]!.body.payload)).toMatchObject({ state: 'taken' });
  });

  async function limit(tenant: Tenant, rate: number | null) {
    await tenant.sql(`update organizations set triggers_per_second = $1 where id = ${tenant.id}`, rate);
    world.service.runtime.deps.tenantCache.invalidate(tenant.id);
  }
});

describe('payloads', () => {
  test('a payload whose process died is judged again, unless a newer one has said something else', async () => {
    const { tenant, post } = await sourceOf();
    await post(group(alert('a'), alert('b')));
    await post(group(alert('b', 'resolved')));
    // As if the process had died before it judged a third one, received before the end of b.
    await tenant.sql(
      `with last as (select * from source_payloads where organization_id = ${tenant.id} order by id limit 1)
       update source_payloads p set state = 'received', retry_at = now() - interval '1 s', body = convert_to($1, 'utf8')
       from last where p.id = last.id and p.organization_id = ${tenant.id}`,
      JSON.stringify(group(alert('b'), alert('c'))),
    );
    await judgeOpenPayloads(world.service.runtime.deps);
    expect(await occurrencesOf(tenant)).toMatchObject([
      { dedup_key: 'prom/a', resolved: false },
      { dedup_key: 'prom/b', resolved: true },
      { dedup_key: 'prom/c', resolved: false },
    ]);
  });

  test('a process that died between the end of an alert and that of its occurrence leaves nothing open', async () => {
    const { tenant, post } = await sourceOf();
    await post(group(alert('a')));
    await tenant.sql(`update source_alerts set state = 'resolved' where organization_id = ${tenant.id}`);
    expect(await occurrencesOf(tenant)).toMatchObject([{ resolved: false }]);
    await post(group(alert('a', 'resolved')));
    expect(await occurrencesOf(tenant)).toMatchObject([{ resolved: true }]);
  });

  test('the last 200 of a source are kept', async () => {
    const { tenant, post, source } = await sourceOf();
    for (let i = 0; i < 26; i++) await Promise.all(Array.from({ length: 10 }, () => post('no')));
    const { length } = (await tenant.ask({ path: `${source}payloads/` })).body;
    expect(length).toBeGreaterThanOrEqual(200);
    expect(length).toBeLessThan(260);
  });

  test('maintenance leaves the last 200, what is not judged yet, and nothing older than seven days', async () => {
    const { tenant, post } = await sourceOf();
    await post(group(alert('a')));
    const hourMs = 3_600_000;
    const store = (state: string, ...agesMs: number[]) =>
      tenant.sql(
        `insert into source_payloads (organization_id, source_id, id, state, request, body, bytes, retry_at)
         select organization_id, id, unnest($1::uuid[]), $2, '{}', '', 0, now() + interval '1 hour'
         from sources where organization_id = ${tenant.id}`,
        agesMs.map(age => uuidv7(Date.now() - age)),
        state,
      );
    await store('taken', ...Array.from({ length: 205 }, () => hourMs));
    await store('received', 2 * hourMs, 8 * 24 * hourMs);
    await deleteOldPayloadsAcrossTenants(world.service.runtime.deps.db, lowestUuidAt(Date.now() - 7 * 24 * hourMs));
    const left = await tenant.sql(
      `select state, count(*)::int as n from source_payloads where organization_id = ${tenant.id} group by 1 order by 1`,
    );
    expect(left).toEqual([
      { state: 'received', n: 1 },
      { state: 'taken', n: 200 },
    ]);
  });

  test('a large body is kept in part', async () => {
    const { post, payload } = await sourceOf();
    const large = { ...group(alert('a')), more: 'x'.repeat(100_000) };
    const answer = await post(large);
    const kept = await payload(answer.body.payload);
    expect(kept.body).toHaveLength(64 * 1024);
    expect(kept.bytes).toBeGreaterThan(100_000);
  });
});

describe('tokens', () => {
  test('have 32 characters, can be read again, and be replaced', async () => {
    const { tenant, token, post, source } = await sourceOf();
    expect(token).toMatch(/^[A-Za-z0-9]{32}$/);
    const read = await tenant.ask({ path: `${source}address/` });
    expect(read.body).toEqual({
      token,
      url: expect.stringContaining(`/in/${token}/`),
      has_secret: false,
      has_update_secret: false,
    });
    const rotated = await tenant.ask({ method: 'POST', path: `${source}rotate/` });
    expect(rotated.body.token).not.toBe(token);
    expect((await post(group(alert('a')))).status).toBe(404);
    expect((await post(group(alert('a')), {}, `/in/${rotated.body.token}/`)).status).toBe(200);
    const stored = await tenant.sql(`select s::text as row from sources s where organization_id = ${tenant.id}`);
    expect(JSON.stringify(stored)).not.toContain(rotated.body.token);
  });

  test('of another system are taken over, and of two sources with the same one the older counts', async () => {
    const own = `imported-${Math.random().toString(36).slice(2)}-token-of-oncall`;
    const first = await sourceOf({ token: own });
    const second = await sourceOf({ token: own });
    expect(await first.post(group(alert('a')), {}, `/integrations/v1/alertmanager/${own}/`)).toMatchObject({
      status: 200,
      text: 'Ok.',
    });
    expect(await occurrencesOf(first.tenant)).toHaveLength(1);
    expect(await occurrencesOf(second.tenant)).toHaveLength(0);
  });
});
