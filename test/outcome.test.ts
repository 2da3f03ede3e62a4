/** How an occurrence stands, in one word, as the API tells it. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { uuidv7 } from '../src/core/ids.ts';
import { outcomeOf, outcomes } from '../src/core/outcome.ts';
import { eventually } from './support/api.ts';
import { type EngineWorld, openWorld, type Tenant } from './support/sink.ts';

let world: EngineWorld;

beforeAll(async () => {
  world = await openWorld();
});
afterEach(() => world.checkLedger());
afterAll(() => world.close());

interface Shown {
  status: string;
  outcome: string;
  scheduled_for: string | null;
}

/** Of the detail, of the list and of the list of what stands so, which never disagree. */
async function outcome(tenant: Tenant, id: string, expected: string): Promise<Shown> {
  return eventually(async () => {
    const one = (await tenant.occurrence(id)) as unknown as Shown;
    expect(one.outcome).toBe(expected);
    const listed = (await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/?limit=50` })).body;
    expect(listed.find((row: { identifier: string }) => row.identifier === id)).toMatchObject({ outcome: expected });
    for (const other of outcomes) {
      const { body, status } = await tenant.ask({
        path: `/api/o/${tenant.slug}/occurrence/?limit=50&outcome=${other}`,
      });
      expect(status).toBe(200);
      expect(body.some((row: { identifier: string }) => row.identifier === id)).toBe(other === expected);
    }
    return one;
  });
}

const users = ['ann@x.test', 'ben@x.test'];

test('sent, partly failed and failed are told apart', async () => {
  const tenant = await world.tenant({ users });
  await outcome(tenant, await tenant.trigger(), 'sent');
  tenant.answer(seen => ({ status: seen.body.includes('ann') ? 400 : 200 }));
  await outcome(tenant, await tenant.trigger(), 'partly_failed');
  tenant.answer({ status: 400 });
  await outcome(tenant, await tenant.trigger(), 'failed');
});

test('scheduled says when, and becomes cancelled', async () => {
  const tenant = await world.tenant({ users });
  const send_at = new Date(Date.now() + 3_600_000).toISOString();
  const id = await tenant.trigger({ send_at });
  expect(await outcome(tenant, id, 'scheduled')).toMatchObject({ status: 'accepted', scheduled_for: send_at });
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/cancel/`);
  expect(await outcome(tenant, id, 'cancelled')).toMatchObject({ status: 'completed', scheduled_for: null });
});

test('held by a paused event, application or channel, and sent when that is resumed', async () => {
  const tenant = await world.tenant({ users });
  for (const place of [tenant.event, tenant.application, `/api/o/${tenant.slug}/c/hooks/`]) {
    expect((await tenant.post(`${place}pause/`)).status).toBe(200);
    const id = await tenant.trigger();
    await outcome(tenant, id, 'held');
    expect((await tenant.post(`${place}resume/`)).status).toBe(200);
    await outcome(tenant, id, 'sent');
  }
});

test('nobody is no success, and neither is suppressed', async () => {
  const nobody = await world.tenant({ users: [] });
  await outcome(nobody, await nobody.trigger(), 'nobody');
  const suppressed = await world.tenant({ users });
  await outcome(suppressed, await suppressed.trigger({ limit_to: ['nobody@x.test'] }), 'suppressed');
});

test('every state there can be has a word', async () => {
  const tenant = await world.tenant({ users });
  /** As PostgreSQL tells of a row like this. */
  const of = async (change: Record<string, unknown>) => {
    const row = {
      organization_id: tenant.id,
      id: uuidv7(0),
      project_id: 0,
      application_id: 0,
      event_id: 0,
      context: '{}',
      options: '{}',
      status: 'completed',
      due_at: '2020-01-01T00:00Z',
      created_at: '2020-01-01T00:00Z',
      ...change,
    };
    const [found] = await tenant.sql<{ outcome: string | null }>(
      `insert into occurrences (${Object.keys(row).join()}) values (${Object.keys(row).map((_, i) => `$${i + 1}`)})
       returning outcome`,
      ...Object.values(row),
    );
    await tenant.sql('delete from occurrences where organization_id = $1', tenant.id);
    return found!.outcome;
  };
  expect(await of({ status: 'accepted' })).toBe(null);
  expect(await of({ status: 'accepted', due_at: '2020-01-02T00:00Z' })).toBe('scheduled');
  expect(await of({ status: 'accepted', due_at: 'infinity' })).toBe('held');
  expect(await of({ status: 'expanding', due_at: '2020-01-02T00:00Z' })).toBe('expanding');
  expect(await of({ status: 'sending' })).toBe('sending');
  expect(await of({ sent: 1, suppressed: 5 })).toBe('sent');
  expect(await of({ unknown: 1, suppressed: 5 })).toBe('failed');
  expect(await of({ sent: 1, unknown: 1 })).toBe('partly_failed');
  expect(await of({ expired: 1, suppressed: 5 })).toBe('expired');
  expect(await of({ cancelled: 1, expired: 1 })).toBe('cancelled');
  expect(await of({ reason: 'expired' })).toBe('expired');
  expect(await of({ reason: 'cancelled' })).toBe('cancelled');
  expect(await of({ reason: 'no_recipients' })).toBe('nobody');
  expect(await of({ reason: 'limit.users' })).toBe('nobody');
  expect(await of({ reason: 'occurrence.not_open' })).toBe('nobody');
  expect(await of({ reason: 'crashed' })).toBe('failed');
  expect(await of({ status: 'sending', escalating: 1 })).toBe('escalating');
  expect(await of({ sent: 1, awaits_acknowledgement: true })).toBe('unacknowledged');
  expect(await of({ status: 'sending', acknowledged_at: '2020-01-01T00:00Z' })).toBe('acknowledged');
  expect(await of({ acknowledged_at: '2020-01-01T00:00Z', resolved_at: '2020-01-01T00:00Z' })).toBe('resolved');

  const open = { due_at: new Date(2_000), is_held: false };
  expect(outcomeOf({ ...open, outcome: null }, 1_000)).toBe('expanding');
  expect(outcomeOf({ ...open, outcome: 'scheduled' }, 1_000)).toBe('scheduled');
  expect(outcomeOf({ ...open, outcome: 'scheduled' }, 3_000)).toBe('expanding');
  expect(outcomeOf({ ...open, outcome: 'sending', is_held: true }, 1_000)).toBe('held');
});

test('occurrences that have ended are counted by outcome', async () => {
  const tenant = await world.tenant({ users });
  const read = async () => {
    const { text } = await tenant.ask({ path: '/metrics' });
    const found = text.matchAll(/^belfry_occurrences_total\{outcome="(\w+)"\} (\d+)$/gm);
    return Object.fromEntries([...found].map(([, outcome, count]) => [outcome, Number(count)]));
  };
  const before = await read();
  await outcome(tenant, await tenant.trigger(), 'sent');
  await outcome(tenant, await tenant.trigger({ limit_to: ['nobody@x.test'] }), 'suppressed');
  const later = await tenant.trigger({ delay: '1h' });
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${later}/cancel/`);
  // What a digest leaves out because it has expired meanwhile.
  const gathering = await world.tenant({ users: users.slice(1), notifications: [{ digest: { every: '1h' } }] });
  const first = await gathering.trigger();
  await gathering.until(first, 'pending');
  const stale = await gathering.trigger();
  await gathering.until(stale, 'pending');
  await gathering.sql('update occurrences set expires_at = now() where id = $1', stale);
  await gathering.sql('update digests set closes_at = now() where organization_id = $1', gathering.id);
  await gathering.sql('update deliveries set due_at = now() where occurrence_id = $1', first);
  await gathering.sql('notify belfry_work');
  await outcome(gathering, first, 'sent');
  await outcome(gathering, stale, 'expired');
  await eventually(async () => {
    const now = await read();
    const grown = ['sent', 'suppressed', 'cancelled', 'expired'].map(name => now[name]! - (before[name] ?? 0));
    expect(grown).toEqual([2, 1, 1, 1]);
  });
});

test('deliveries that failed or wait come first, and suppressed ones are counted by reason', async () => {
  const locked = ['cat', 'dan', 'eve'].map(name => ({ email: `${name}@x.test`, locked: true }));
  const tenant = await world.tenant({ users: [...users, ...locked, 'zoe@x.test'] });
  tenant.answer(seen => ({ status: seen.body.includes('zoe') ? 400 : 200 }));
  const id = await tenant.trigger();
  await outcome(tenant, id, 'partly_failed');
  const at = `/api/o/${tenant.slug}/occurrence/${id}`;
  const names = async (path: string) => (await tenant.ask({ path })).body.map((one: { user: string }) => one.user);
  expect(await names(`${at}/deliveries/?order=attention`)).toEqual(['zoe@x.test', ...users]);
  const first = await tenant.ask({ path: `${at}/deliveries/?order=attention&limit=1` });
  expect(first.body).toMatchObject([{ user: 'zoe@x.test', status: 'failed' }]);
  const next = new URL(/<([^>]+)>/.exec(first.headers.link!)![1]!);
  expect(await names(`${next.pathname}${next.search.replace('limit=1', 'limit=5')}`)).toEqual(users);
  expect((await tenant.ask({ path: `${at}/suppressed/` })).body).toEqual([
    { reason: 'user.locked', explanation: 'the user is locked', count: 3, capped: false },
  ]);
  expect(await names(`${at}/deliveries/?status=suppressed&reason=user.locked`)).toHaveLength(3);
  const both = await tenant.ask({ path: `${at}/deliveries/?order=attention&status=sent` });
  expect(both.body).toMatchObject({ status: 400, errors: { order: [expect.stringContaining('status')] } });
});
