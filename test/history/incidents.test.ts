/** Incidents: occurrences that someone should take care of, in the order of attention. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKey } from '../../src/services/identity/keys.ts';
import { ask, expectProblem } from '../support/api.ts';
import { command } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
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

async function openSource(fields: Fields = {}) {
  const tenant = await world.tenant({ users: ['ann@acme.test'], notifications: [{}] });
  const body = { slug: 'prom', name: 'Prometheus', use: 'alertmanager', routes: [{ event: 'go' }], ...fields };
  const made = await tenant.ask({ method: 'POST', path: `${tenant.application}sources/`, body });
  expect(made.status, made.text).toBe(201);
  const path = new URL(made.body.url).pathname;
  const post = async (...alerts: Fields[]) => {
    const answer = await ask(world.service.address, { method: 'POST', path, body: { alerts } });
    expect(answer.status, answer.text).toBe(200);
  };
  const api = `/api/o/${tenant.slug}/`;
  const list = async (query = '') => (await tenant.ask({ path: `${api}incidents/?${query}` })).body as Incident[];
  const titles = async (query = '') => (await list(query)).map(({ title }) => title);
  return { tenant, api, post, list, titles };
}

interface Incident {
  title: string;
  occurrence: { identifier: string };
}

const alert = (key: string, severity: string, more: Fields = {}) => ({
  status: 'firing',
  fingerprint: key,
  labels: { severity, cluster: 'eu' },
  annotations: { summary: key },
  ...more,
});

test('open ones are listed by severity and time, page by page; answered ones in their own lists', async () => {
  const { tenant, api, post, list, titles } = await openSource();
  expect(await list()).toEqual([]);
  await post(alert('info', 'info'));
  await post(alert('old', 'critical'));
  await post(alert('warn', 'warning'));
  await post(alert('odd', 'whatever'));
  await post(alert('new', 'critical'));
  await post(alert('old', 'critical'));
  expect(await titles()).toEqual(['new', 'old', 'warn', 'odd', 'info']);
  const { body: occurrences } = await tenant.ask({ path: `${api}occurrence/` });
  expect(occurrences.map(({ title }: Incident) => title)).toEqual(['new', 'odd', 'warn', 'old', 'info']);
  const [, old] = await list();
  expect(old).toMatchObject({
    ...{ status: 'open', severity: 'critical', source: { path: 'shop/web/prom', name: 'Prometheus' } },
    ...{ alerts: { open: 1, acknowledged: 0, resolved: 0 }, occurrence: { triggers: 2, event: 'shop/web/go' } },
  });
  // Page by page, the same.
  const paged: string[] = [];
  for (let path: string | undefined = `${api}incidents/?limit=2`; path; ) {
    const { body, headers } = await tenant.ask({ path });
    paged.push(...body.map(({ title }: Incident) => title));
    const next: string | undefined = /<([^>]+)>;\s*rel="next"/.exec(String(headers.link ?? ''))?.[1];
    path = next && new URL(next).pathname + new URL(next).search;
  }
  expect(paged).toEqual(['new', 'old', 'warn', 'odd', 'info']);
  expectProblem(await tenant.ask({ path: `${api}incidents/?cursor=1.x` }), 400, 'request.invalid', ['cursor']);

  await tenant.post(`${api}occurrence/${old!.occurrence.identifier}/acknowledge/`);
  await post(alert('warn', 'warning', { status: 'resolved' }));
  expect(await titles()).toEqual(['new', 'odd', 'info']);
  expect(await titles('status=acknowledged')).toEqual(['old']);
  expect(await titles('status=resolved')).toEqual(['warn']);
  const { body: summary } = await tenant.ask({ path: `${api}incidents/summary/` });
  expect(summary).toEqual({
    ...{ open: 3, silenced: 0, acknowledged: 1, snoozed: 0 },
    ...{ acknowledge_seconds: expect.any(Number), resolve_seconds: expect.any(Number) },
  });
});

test('filters', async () => {
  const { tenant, post, titles } = await openSource();
  await post(alert('a', 'critical'), alert('b', 'info'));
  await tenant.trigger({ dedup_key: 'own' });
  expect(await titles('severity=critical')).toEqual(['a']);
  expect((await titles('source=shop/web/prom')).sort()).toEqual(['a', 'b']);
  expect(await titles('source=shop/web/other')).toEqual([]);
  expect(await titles('project=shop')).toHaveLength(3);
  expect(await titles('project=other')).toEqual([]);
  await post(alert('a', 'critical', { status: 'resolved' }), alert('b', 'info', { status: 'resolved' }));
  expect(await titles('status=resolved&severity=info')).toEqual(['b']);
});

test('the alerts of a group are listed with their states, and its severity is that of the worst', async () => {
  const { tenant, api, post, list } = await openSource({ group_by: ['labels.cluster'] });
  await post(alert('a', 'warning'), alert('b', 'critical'), alert('c', 'info'));
  await post(alert('c', 'info', { status: 'resolved' }));
  const [group, ...others] = await list();
  expect(others).toEqual([]);
  expect(group).toMatchObject({ severity: 'critical', alerts: { open: 2, resolved: 1 } });
  const path = `${api}occurrence/${group!.occurrence.identifier}/alerts/`;
  const { body } = await tenant.ask({ path });
  const found = body.map(({ key, state, severity, source }: Fields) => `${key} ${state} ${severity} ${source}`);
  expect(found.sort()).toEqual(['a open warning prom', 'b open critical prom', 'c resolved info prom']);
  expect((await tenant.ask({ path: `${path}?limit=1` })).body).toHaveLength(1);
});

test('an occurrence with steps is an incident, one without either is not', async () => {
  const steps = [{ channels: ['hooks'] }, { after: '1h', unless: 'acknowledged', channels: ['hooks'] }];
  const tenant = await world.tenant({ users: ['ann@acme.test'], notifications: [{ steps }] });
  const id = await tenant.trigger();
  await tenant.until(id, 'sent');
  const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/incidents/` });
  expect(body).toMatchObject([
    {
      occurrence: { identifier: id },
      title: null,
      source: null,
      steps: [{ step: 1, next_step: 2 }],
      notified: ['ann@acme.test'],
    },
  ]);
  const other = await world.tenant({ users: ['ann@acme.test'], notifications: [{}] });
  await other.outcomes(await other.trigger());
  expect((await other.ask({ path: `/api/o/${other.slug}/incidents/` })).body).toEqual([]);
});

test('what is silenced or snoozed is listed as such, until that ends', async () => {
  const steps = [{ channels: ['hooks'] }, { after: '1h', unless: 'acknowledged', channels: ['hooks'] }];
  const tenant = await world.tenant({ users: ['ann@acme.test'], notifications: [{ steps }] });
  const api = `/api/o/${tenant.slug}/`;
  const list = async (status: string) => (await tenant.ask({ path: `${api}incidents/?status=${status}` })).body;
  const counts = async () => {
    const { body } = await tenant.ask({ path: `${api}incidents/summary/` });
    return [body.open, body.silenced, body.acknowledged, body.snoozed];
  };
  const ids = async (status: string) => (await list(status)).map((one: Incident) => one.occurrence.identifier);
  const matchers = [{ field: 'host', op: '=', value: 'db' }];
  const made = await tenant.post(`${api}silences/`, { matchers, reason: 'upgrade', duration: '1h' });
  expect(made.status, made.text).toBe(201);
  const open = await tenant.trigger({ dedup_key: 'open' }, { host: 'web' });
  await tenant.until(open, 'sent');
  const silenced = await tenant.trigger({ dedup_key: 'silenced' }, { host: 'db' });
  await eventually(async () => expect(await ids('silenced')).toEqual([silenced]));
  expect(await list('silenced')).toMatchObject([{ status: 'silenced', silenced_until: made.body.ends_at }]);
  expect(await ids('open')).toEqual([open]);

  const answer = (what: string, body?: object) => tenant.post(`${api}occurrence/${open}/${what}/`, body);
  await answer('snooze', { for: '1h' });
  expect(await list('snoozed')).toMatchObject([{ status: 'snoozed', occurrence: { identifier: open } }]);
  expect(await ids('acknowledged')).toEqual([]);
  expect(await counts()).toEqual([0, 1, 0, 1]);
  await answer('acknowledge');
  expect(await list('acknowledged')).toMatchObject([{ status: 'acknowledged', silenced_until: null }]);
  expect(await ids('snoozed')).toEqual([]);
  await answer('unacknowledge');
  expect(await ids('open')).toEqual([open]);

  await tenant.post(`${api}silences/${made.body.id}/end/`);
  expect((await ids('open')).sort()).toEqual([open, silenced].sort());
  expect(await counts()).toEqual([2, 0, 0, 0]);
  await answer('resolve');
  await tenant.post(`${api}occurrence/${silenced}/resolve/`);
});

test('the command line lists them and resolves one, with the database and with a server', async () => {
  const { tenant, post, list } = await openSource();
  const { deps, url } = world.service.runtime;
  const { key } = await createKey(deps, tenant.slug, {
    name: 'cli',
    permissions: ['occurrence:read', 'occurrence:write'],
  });
  const near = { DATABASE_URL: url, BELFRY_SECRET_KEY: 'a secret of at least 32 characters' };
  const far = { BELFRY_URL: world.service.address, BELFRY_KEY: key };
  await post(alert('warn', 'warning'), alert('disk', 'critical'), alert('cpu', 'critical'));
  for (const env of [near, far]) {
    const incidents = async (...args: string[]) => {
      const { code, stdout, stderr } = await command(['incidents', tenant.slug, ...args], env);
      expect([code, stderr]).toEqual([0, '']);
      return stdout;
    };
    const [, ...rows] = (await incidents()).trimEnd().split('\n');
    const found = await list();
    expect(rows.map(row => found.findIndex(({ title }) => new RegExp(`\\b${title}\\b`).test(row)))).toEqual(
      found.map((_, i) => i),
    );
    expect(await incidents('--severity', 'warning')).toMatch(/warning +warn/);
    expect(JSON.parse(await incidents('--limit', '1', '--json'))).toMatchObject([
      { title: found[0]!.title, status: 'open', occurrence: { identifier: found[0]!.occurrence.identifier } },
    ]);
    expect(await incidents('--status', 'snoozed')).toBe('No incidents are snoozed.\n');
    const { identifier } = found[0]!.occurrence;
    const resolved = await command(['resolve', tenant.slug, identifier], env);
    expect(resolved).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Resolved by /) });
    expect((await command(['resolve', tenant.slug, identifier], env)).stdout).toMatch(
      /^Nothing changed\. Resolved by /,
    );
    expect(await list()).toHaveLength(found.length - 1);
    expect(await command(['incidents', tenant.slug, '--status', 'gone'], env)).toMatchObject({ code: 2 });
  }
});
