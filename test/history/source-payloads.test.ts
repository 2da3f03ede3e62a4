/** What a source would make of a payload is shown before it is saved; a stored payload can be judged again. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ask, expectProblem } from '../support/api.ts';
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

const rules = {
  slug: 'own',
  mapping: { alerts: 'list', key: 'id', title: 'name', severity: 'level', resolve: 'fine == `true`' },
  routes: [{ when: "severity == 'critical'", event: 'go' }],
  group_by: ['host'],
};

async function openTenant(fields: Fields = {}) {
  const tenant = await world.tenant({ users: ['ann@acme.test'], notifications: [{}] });
  const sources = `${tenant.application}sources/`;
  const made = await tenant.ask({ method: 'POST', path: sources, body: { name: 'Own', ...rules, ...fields } });
  expect(made.status, made.text).toBe(201);
  const path = new URL(made.body.url).pathname;
  const post = (body: unknown) => ask(world.service.address, { method: 'POST', path, body });
  const preview = (source: Fields, more: Fields) =>
    tenant.ask({ method: 'POST', path: `${tenant.application}preview-source/`, body: { source, ...more } });
  const replay = (id: string) => tenant.ask({ method: 'POST', path: `${sources}own/payloads/${id}/replay/` });
  const last = async () => (await tenant.ask({ path: `${sources}own/payloads/?limit=1` })).body[0];
  const count = async () =>
    (
      await tenant.sql<{ n: number }>(`select count(*)::int as n from occurrences where organization_id = ${tenant.id}`)
    )[0]!.n;
  return { tenant, sources, token: made.body.token as string, post, preview, replay, last, count };
}

const bodyOf = (...list: unknown[]) => ({ request: { body: JSON.stringify({ list }) } });

describe('a preview', () => {
  test('returns the alerts with their event and group, and what is wrong with the others', async () => {
    const { preview, count } = await openTenant();
    const { status, body } = await preview(
      rules,
      bodyOf(
        { id: 1, name: 'Disk', level: 'critical', host: 'a' },
        { name: 'No key' },
        { id: 3, level: 'info' },
        { id: 4, level: 'critical', host: 'a', fine: true },
        'text',
      ),
    );
    expect(status).toBe(200);
    expect(body).toMatchObject({ error: null, total: 5 });
    expect(body.alerts).toMatchObject([
      { at: 'alerts/0', outcome: 'routed', key: '1', title: 'Disk', severity: 'critical', event: 'go', state: 'open' },
      { at: 'alerts/1', outcome: 'rejected', error: 'has no value where `mapping.key` looks for it' },
      { at: 'alerts/2', outcome: 'unrouted', key: '3', title: '3', event: null },
      { at: 'alerts/3', outcome: 'routed', state: 'resolved' },
      { at: 'alerts/4', outcome: 'rejected', error: 'is not an object' },
    ]);
    expect(body.alerts[0].dedup_key).toBe(body.alerts[3].dedup_key);
    expect(await count()).toBe(0);
  });

  test('says why the payload as a whole cannot be read', async () => {
    const { preview } = await openTenant();
    for (const [body, error] of [
      ['no', 'the payload is not valid JSON'],
      ['['.repeat(10_000), 'the payload is nested more than 100 levels deep'],
      ['{}', 'the payload has no list where `mapping.alerts` looks for it'],
    ])
      expect((await preview(rules, { request: { body } })).body).toMatchObject({ error, alerts: [] });
  });

  test('names each mistake in the rules, as saving does', async () => {
    const { preview } = await openTenant();
    const wrong = { ...rules, mapping: { key: 'a[', resolve: ')' }, routes: [{ when: '(', event: 'go' }] };
    const fields = ['mapping/key', 'mapping/resolve', 'routes/0/when'];
    expectProblem(await preview(wrong, bodyOf()), 400, 'request.invalid', fields);
  });

  test('reads a stored payload', async () => {
    const { post, preview, last } = await openTenant();
    await post({ list: [{ id: 1, level: 'critical' }] });
    const { id } = await last();
    expect((await preview(rules, { payload: id })).body).toMatchObject({ total: 1, alerts: [{ outcome: 'routed' }] });
    const other = { ...rules, slug: 'other' };
    expectProblem(await preview(other, { payload: id }), 400, 'request.invalid', ['payload']);
    expectProblem(await preview(rules, {}), 400, 'request.invalid', ['request']);
  });
});

describe('a replay', () => {
  test('opens what the rules did not accept before, once', async () => {
    const { tenant, sources, post, replay, last, count } = await openTenant();
    await post({ list: [{ id: 1, level: 'critical' }, { name: 'later', level: 'critical' }, { id: 3 }] });
    expect(await count()).toBe(1);
    const { id, counts } = await last();
    expect(counts).toEqual({ opened: 1, rejected: 1, unrouted: 1 });
    const body = { mapping: { ...rules.mapping, key: 'id || name' }, routes: [{ event: 'go' }], group_by: [] };
    expect((await tenant.ask({ method: 'PATCH', path: `${sources}own/`, body })).status).toBe(200);
    const { status, body: answer } = await replay(id);
    expect(status).toBe(200);
    expect(answer).toMatchObject({ state: 'taken', changed: 2 });
    expect(answer.alerts.map(({ outcome }: Fields) => outcome)).toEqual(['outdated', 'opened', 'opened']);
    expect(await count()).toBe(3);
    expect((await replay(id)).body).toMatchObject({ changed: 0 });
    expect(await count()).toBe(3);
    // What each alert opened is still listed.
    const kept = (await tenant.ask({ path: `${sources}own/payloads/${id}/` })).body;
    expect(kept).toMatchObject({ state: 'taken', counts: { opened: 3 } });
    expect(kept.alerts.every(({ occurrence }: Fields) => typeof occurrence === 'string')).toBe(true);
  });

  test('does not reopen what has ended since', async () => {
    const { post, replay, last, count } = await openTenant();
    await post({ list: [{ id: 1, level: 'critical' }] });
    const { id } = await last();
    await post({ list: [{ id: 1, level: 'critical', fine: true }] });
    expect((await replay(id)).body).toMatchObject({ changed: 0, alerts: [{ outcome: 'outdated' }] });
    expect(await count()).toBe(1);
  });

  test('is refused for what cannot be judged again', async () => {
    const { tenant, sources, token, post, replay, last } = await openTenant();
    await post({ list: [], more: 'x'.repeat(100_000) });
    expectProblem(await replay((await last()).id), 409, 'payload.unusable');
    await post('no');
    expectProblem(await replay((await last()).id), 409, 'payload.unusable');
    const change = { routing_key: token, payload: { summary: 'Deployed' } };
    await ask(world.service.address, { method: 'POST', path: '/v2/change/enqueue', body: change });
    expectProblem(await replay((await last()).id), 409, 'payload.unusable');
    await tenant.ask({ method: 'PATCH', path: `${sources}own/`, body: { secret: 'sesame' } });
    expect((await post({ list: [{ id: 1, level: 'critical' }] })).status).toBe(401);
    expectProblem(await replay((await last()).id), 409, 'payload.unusable');
  });
});

test('the setup of each sender has the address of the source, and the sender of its preset comes first', async () => {
  const { tenant, sources, token } = await openTenant();
  const setup = async () =>
    (await tenant.ask({ path: `${sources}own/setup/` })).body as { name: string; text: string }[];
  const own = await setup();
  expect(own[0]!.name).toBe('json');
  expect(own.map(({ name }) => name)).toEqual(expect.arrayContaining(['pagerduty-v2', 'opsgenie-sdk']));
  for (const { text } of own) expect(text).toContain(token);
  await tenant.ask({
    method: 'PATCH',
    path: `${sources}own/`,
    body: { use: 'alertmanager', mapping: null, secret: 's' },
  });
  // Requests of PagerDuty and Opsgenie cannot prove the secret.
  const names = (await setup()).map(({ name }) => name);
  expect(names).toEqual(['alertmanager', 'grafana-oncall']);
  for (const use of ['opsgenie', 'pagerduty']) {
    await tenant.ask({ method: 'PATCH', path: `${sources}own/`, body: { use, secret: '' } });
    expect((await setup())[0]!.name).toMatch(use);
  }
});
