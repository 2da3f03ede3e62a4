/** Paused objects show how many messages wait for them, in total and for one occurrence. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKey } from '../../src/services/identity/keys.ts';
import { command } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, sandbox, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(() => world.close());

const waiting = (messages: number, occurrences: number) => ({ messages, occurrences, capped: false });

async function pauses(tenant: Tenant, of = ''): Promise<Record<string, unknown>> {
  const { status, body, text } = await tenant.ask({ path: `/api/o/${tenant.slug}/${of}pauses/` });
  expect(status, text).toBe(200);
  return Object.fromEntries(
    body.map((one: { kind: string; path: string; since: string; waiting: unknown }) => {
      expect(Date.parse(one.since)).toBeGreaterThan(Date.now() - 600_000);
      return [`${one.kind} ${one.path}`, one.waiting];
    }),
  );
}

test('a paused channel counts its held messages, and only occurrences that use it show the pause', async () => {
  const tenant = await world.tenant({
    users: ['a@x.test', 'b@x.test'],
    channels: [{ slug: 'hooks' }, sandbox],
    notifications: [{ channels: ['hooks', 'sandbox'] }],
  });
  expect(await pauses(tenant)).toEqual({});
  await tenant.post(`/api/o/${tenant.slug}/c/hooks/pause/`);
  const held = await tenant.trigger();
  const free = await tenant.trigger({ channels: ['sandbox'] });
  await tenant.outcomes(free);
  await eventually(async () => expect(await pauses(tenant)).toEqual({ 'channel hooks': waiting(2, 0) }));
  expect(await pauses(tenant, `occurrence/${held}/`)).toEqual({ 'channel hooks': waiting(2, 0) });
  expect(await pauses(tenant, `occurrence/${free}/`)).toEqual({});
  await tenant.post(`/api/o/${tenant.slug}/c/hooks/resume/`);
  await tenant.outcomes(held);
  expect(await pauses(tenant)).toEqual({});
});

test('a paused event and its paused application both count the triggers that wait for them', async () => {
  const tenant = await world.tenant({ users: ['a@x.test'] });
  await tenant.post(`${tenant.event}pause/`);
  await tenant.post(`${tenant.application}pause/`);
  const id = await tenant.trigger();
  const both = { 'event shop/web/go': waiting(0, 1), 'application shop/web': waiting(0, 1) };
  await eventually(async () => expect(await pauses(tenant)).toEqual(both));
  expect(await pauses(tenant, `occurrence/${id}/`)).toEqual(both);
  await tenant.post(`${tenant.event}resume/`);
  expect(await pauses(tenant)).toEqual({ 'application shop/web': waiting(0, 1) });
});

test('messages that were decided before the event was paused wait for the event, not for their channel', async () => {
  const tenant = await world.tenant({ users: ['a@x.test'] });
  tenant.answer({ status: 503 });
  const id = await tenant.trigger();
  await tenant.until(id, 'retrying');
  await tenant.post(`${tenant.event}pause/`);
  await tenant.sql(
    `update deliveries set due_at = 'infinity', status = 'pending', owner = null where organization_id = $1`,
    tenant.id,
  );
  expect(await pauses(tenant)).toEqual({ 'event shop/web/go': waiting(1, 0) });
});

test('the reason of a pause is shown wherever the pause is, and cleared on resume', async () => {
  const tenant = await world.tenant({ users: ['a@x.test'] });
  const org = `/api/o/${tenant.slug}`;
  const get = async (path: string) => (await tenant.ask({ path })).body;
  const pausedOf = (path: string) => tenant.ask({ path: `${org}/${path}pauses/` });
  const reason = 'wrong price in the offer.';

  await tenant.post(`${org}/c/hooks/pause/`, { reason: ` ${reason} ` });
  await tenant.post(`${org}/c/hooks/pause/`);
  expect(await get(`${org}/c/hooks/`)).toMatchObject({ paused: true, paused_reason: reason });
  const held = await tenant.trigger();
  const occurrence = () => get(`${org}/occurrence/${held}/`);
  await eventually(async () => expect(await occurrence()).toMatchObject({ outcome: 'held' }));
  const text = 'the channel is paused: wrong price in the offer.';
  expect(await occurrence()).toMatchObject({ summary: `Held, and sent when the pause ends: ${text}` });
  expect(await tenant.deliveries(held)).toMatchObject([{ reason: 'channel.paused', detail: reason }]);
  const why = () => get(`${org}/occurrence/${held}/why/?user=a@x.test`);
  expect((await why()).answers[0].explanation).toContain(`It is waiting: ${text} `);
  for (const of of ['', `occurrence/${held}/`]) expect((await pausedOf(of)).body).toMatchObject([{ reason }]);
  await tenant.post(`${org}/c/hooks/resume/`);
  await tenant.outcomes(held);
  expect(await get(`${org}/c/hooks/`)).toMatchObject({ paused: false, paused_reason: null });
  expect(await tenant.deliveries(held)).toMatchObject([{ detail: null }]);

  for (const [at, path] of [
    [tenant.event, 'event shop/web/go'],
    [tenant.application, 'application shop/web'],
  ] as const) {
    await tenant.post(`${at}pause/`, { reason: path });
    expect(await get(at)).toMatchObject({ paused: true, paused_reason: path });
    const waiting = await tenant.trigger();
    const summary = `Held, and sent when the pause ends: the event, its application, project, organization or API key is paused: ${path}.`;
    await eventually(async () => expect(await get(`${org}/occurrence/${waiting}/`)).toMatchObject({ summary }));
    expect((await get(`${org}/occurrence/${waiting}/why/?user=a@x.test`)).answers).toMatchObject([
      {
        explanation: `It is held, and sent when the pause ends: the event, its application, project, organization or API key is paused: ${path}.`,
      },
    ]);
    expect((await pausedOf('')).body).toMatchObject([{ reason: path }]);
    await tenant.post(`${at}resume/`);
    await tenant.outcomes(waiting);
    expect(await get(at)).toMatchObject({ paused: false, paused_reason: null });
  }
  const log = await get(`${org}/audit/?action=pause`);
  expect(log.map(({ after }: { after: unknown }) => after)).toEqual([
    { reason: 'application shop/web' },
    { reason: 'event shop/web/go' },
    null,
    { reason },
  ]);
  for (const bad of ['x'.repeat(501), 'two\nlines', 5]) {
    const refused = await tenant.post(`${org}/c/hooks/pause/`, { reason: bad });
    expect(refused.status).toBe(400);
    expect(refused.body.errors).toHaveProperty('reason');
  }
});

test('the command line pauses exactly what is named, with the database and with a server', {
  tags: ['sweep'],
}, async () => {
  const tenant = await world.tenant({ users: ['a@x.test'] });
  const { deps, url } = world.service.runtime;
  const { key } = await createKey(deps, tenant.slug, { name: 'cli', permissions: ['*'] });
  const near = { DATABASE_URL: url, BELFRY_SECRET_KEY: 'a secret of at least 32 characters' };
  const far = { BELFRY_URL: world.service.address, BELFRY_KEY: key };
  const targets: [string[], string][] = [
    [[tenant.slug], 'organization '],
    [[`${tenant.slug}/shop`], 'project shop'],
    [[`${tenant.slug}/shop/web`], 'application shop/web'],
    [[`${tenant.slug}/shop/web/go`], 'event shop/web/go'],
    [[tenant.slug, '--channel', 'hooks'], 'channel hooks'],
    [[tenant.slug, '--key', 'cli'], 'key cli'],
  ];
  for (const env of [near, far]) {
    for (const [target, paused] of targets) {
      expect(await command(['pause', ...target], env)).toMatchObject({ code: 0 });
      expect(Object.keys(await pauses(tenant))).toEqual([paused]);
      const { stdout } = await command(['resume', ...target, '--drop', '--json'], env);
      expect(JSON.parse(stdout)).toEqual({ paused: false, released: 0, dropped: 0 });
    }
    for (const target of [
      ['shop/none'],
      ['none'],
      ['shop/web/none'],
      ['', '--channel', 'none'],
      ['', '--key', 'none'],
    ]) {
      const [path, ...options] = target;
      const named = [tenant.slug, path].filter(Boolean).join('/');
      const { code, stderr } = await command(['pause', named, ...options], env);
      expect([code, stderr]).toEqual([1, expect.stringMatching(/none/)]);
    }
    expect(await pauses(tenant)).toEqual({});
  }
});
