/** Outcomes of occurrences in the API. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type OccurrenceOutcome, outcomeOf, outcomes } from '../../src/core/decision/outcome.ts';
import { endedStatuses } from '../../src/core/history/statuses.ts';
import { uuidv7 } from '../../src/core/ids.ts';
import { type Delivery, settleDeliveriesAcrossTenants } from '../../src/db/ledger/deliver/deliveries.ts';
import { combinations } from '../support/combinations.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;

beforeAll(async () => {
  world = await openWorld();
});
afterEach(() => world.checkLedger());
afterAll(() => world.close());

interface OccurrenceResponse {
  status: string;
  outcome: string;
  scheduled_for: string | null;
}

/** Waits for the outcome, and checks that the detail, the list and the filtered lists agree. */
async function expectOutcome(tenant: Tenant, id: string, expected: string): Promise<OccurrenceResponse> {
  return eventually(async () => {
    const one = (await tenant.occurrence(id)) as unknown as OccurrenceResponse;
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

test('sent, partly failed and failed occurrences have different outcomes', async () => {
  const tenant = await world.tenant({ users });
  await expectOutcome(tenant, await tenant.trigger(), 'sent');
  tenant.answer(seen => ({ status: seen.body.includes('ann') ? 400 : 200 }));
  await expectOutcome(tenant, await tenant.trigger(), 'partly_failed');
  tenant.answer({ status: 400 });
  await expectOutcome(tenant, await tenant.trigger(), 'failed');
});

test('a scheduled occurrence shows its time, and can be cancelled', async () => {
  const tenant = await world.tenant({ users });
  const send_at = new Date(Date.now() + 3_600_000).toISOString();
  const id = await tenant.trigger({ send_at });
  expect(await expectOutcome(tenant, id, 'scheduled')).toMatchObject({ status: 'accepted', scheduled_for: send_at });
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/cancel/`);
  expect(await expectOutcome(tenant, id, 'cancelled')).toMatchObject({ status: 'completed', scheduled_for: null });
});

test('an occurrence that was resolved before it was sent stays resolved while its message waits for a retry', async () => {
  const tenant = await world.tenant({ users: ['ann@x.test'] });
  tenant.answer({ status: 503 });
  const id = await tenant.trigger({ delay: '1h', dedup_key: 'disk' });
  expect((await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/resolve/`)).status).toBe(200);
  await tenant.sql(`update occurrences set due_at = now() where organization_id = $1`, tenant.id);
  await tenant.sql('notify belfry_work');
  await eventually(async () => {
    const waiting = `select status from deliveries where organization_id = $1`;
    expect(await tenant.sql(waiting, tenant.id)).toEqual([{ status: 'retrying' }]);
  });
  await expectOutcome(tenant, id, 'resolved');
});

test('an occurrence is held by a paused event, application or channel, and sent when it is resumed', async () => {
  const tenant = await world.tenant({ users });
  for (const path of [tenant.event, tenant.application, `/api/o/${tenant.slug}/c/hooks/`]) {
    expect((await tenant.post(`${path}pause/`)).status).toBe(200);
    const id = await tenant.trigger();
    await expectOutcome(tenant, id, 'held');
    expect((await tenant.post(`${path}resume/`)).status).toBe(200);
    await expectOutcome(tenant, id, 'sent');
  }
});

test('occurrences without recipients or with only suppressed deliveries do not count as sent', async () => {
  const empty = await world.tenant({ users: [] });
  await expectOutcome(empty, await empty.trigger(), 'no_recipients');
  const suppressed = await world.tenant({ users });
  await expectOutcome(suppressed, await suppressed.trigger({ limit_to: ['empty@x.test'] }), 'suppressed');
});

test('every state of an occurrence has an outcome', async () => {
  const tenant = await world.tenant({ users });
  /** Returns the outcome that the database computes for such a row. */
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
  expect(await of({ unknown: 1, suppressed: 5 })).toBe('unknown');
  expect(await of({ failed: 1, suppressed: 5 })).toBe('failed');
  // Whether nothing arrived is not known.
  expect(await of({ failed: 1, unknown: 1 })).toBe('partly_failed');
  expect(await of({ reason: 'crashed', unknown: 1 })).toBe('partly_failed');
  expect(await of({ expired: 1, suppressed: 5 })).toBe('expired');
  expect(await of({ cancelled: 1, expired: 1 })).toBe('cancelled');
  expect(await of({ reason: 'expired' })).toBe('expired');
  expect(await of({ reason: 'cancelled' })).toBe('cancelled');
  expect(await of({ reason: 'no_recipients' })).toBe('no_recipients');
  expect(await of({ reason: 'limit.users' })).toBe('no_recipients');
  expect(await of({ reason: 'occurrence.not_open' })).toBe('no_recipients');
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

test('the outcome of an ended occurrence fits every combination of up to three kinds of deliveries', async () => {
  const tenant = await world.tenant({ users });
  const none = { sent: 0, failed: 0, unknown: 0, suppressed: 0, cancelled: 0, expired: 0 };
  const cases = [...combinations(endedStatuses, 3, [1, 5])].flatMap(counts => [
    { counts, cancelled_at: null },
    { counts, cancelled_at: '2020-01-01T00:00Z' },
  ]);
  const rows = cases.map(({ counts, cancelled_at }) => ({
    ...{
      ...none,
      ...counts,
      cancelled_at,
      status: 'completed',
      due_at: '2020-01-01T00:00Z',
      created_at: '2020-01-01T00:00Z',
    },
    ...{ awaits_acknowledgement: false, escalating: 0 },
  }));
  const found = await tenant.sql<{ outcome: OccurrenceOutcome }>(
    `select occurrence_outcome(jsonb_populate_record(null::occurrences, row)) as outcome
     from jsonb_array_elements($1::jsonb) with ordinality as given (row, number) order by number`,
    JSON.stringify(rows),
  );
  for (const [i, { counts, cancelled_at }] of cases.entries()) {
    const { outcome } = found[i]!;
    const { sent = 0, failed = 0, unknown = 0, suppressed = 0, cancelled = 0, expired = 0 } = counts;
    const about = `${outcome}: ${JSON.stringify({ counts, cancelled_at })}`;
    expect(/failed/.test(outcome), about).toBe(failed > 0);
    expect(outcome === 'partly_failed', about).toBe(failed > 0 && sent + unknown > 0);
    if (failed > 0) continue;
    expect(outcome === 'unknown', about).toBe(unknown > 0);
    if (unknown > 0) continue;
    const isCancelled = cancelled > 0 && (sent === 0 || cancelled_at !== null);
    expect(outcome === 'cancelled', about).toBe(isCancelled);
    expect(outcome === 'expired', about).toBe(!isCancelled && expired > 0);
    expect(outcome === 'suppressed', about).toBe(sent + cancelled + expired === 0 && suppressed > 0);
  }
});

test('an escalation that is cancelled does not count as sent, and the summary says by whom', async () => {
  const step = { channels: ['hooks'] };
  const tenant = await world.tenant({
    users,
    notifications: [{ name: 'page', steps: [step, { after: '1h', ...step }] }],
  });
  const id = await tenant.trigger();
  await expectOutcome(tenant, id, 'escalating');
  await tenant.until(id, 'sent');
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/cancel/`);
  expect(await expectOutcome(tenant, id, 'cancelled')).toMatchObject({
    cancelled_by: 'API key test',
    summary: 'Cancelled by API key test. All 2 messages were sent.',
  });
});

test('the last message that is sent does not end an occurrence as sent if it has another outcome', async () => {
  const tenant = await world.tenant({ users: users.slice(1) });
  const { pool } = world.service.runtime.deps;
  const after = async (columns: string) => {
    const id = await tenant.trigger();
    await tenant.until(id, 'sent');
    await tenant.sql(
      `update occurrences set status = 'sending', sent = 0, completed_at = null, ${columns} where id = $1`,
      id,
    );
    const [delivery] = (await tenant.sql(
      `update deliveries set status = 'sending', attempts = 1 where occurrence_id = $1 and status = 'sent' returning *`,
      id,
    )) as unknown as Delivery[];
    await settleDeliveriesAcrossTenants(pool, [
      {
        ...{ ...delivery!, id: Number(delivery!.id), status: 'sent', tried: true, reason: null, detail: null },
        ...{ provider: null, provider_message_id: null, due_at: null, snapshot_id: null, user_version: null },
        ...{ attempt: null, event_id: null, since: null },
      },
    ]);
    const [stored] = await tenant.sql<{ outcome: string }>('select outcome from occurrences where id = $1', id);
    await tenant.sql('delete from deliveries where occurrence_id = $1', id);
    await tenant.sql('delete from occurrences where id = $1', id);
    await tenant.sql('delete from delivery_stats where organization_id = $1', tenant.id);
    return stored?.outcome;
  };
  expect(await after('reason = null')).toBe('sent');
  expect(await after('awaits_acknowledgement = true')).toBe('unacknowledged');
  expect(await after('acknowledged_at = now()')).toBe('acknowledged');
  expect(await after('resolved_at = now()')).toBe('resolved');
  expect(await after("reason = 'crashed'")).toBe('partly_failed');
  expect(await after('deliveries = 2, failed = 1')).toBe('partly_failed');
  expect(await after('deliveries = 2')).toBe('sending');
  expect(await after('escalating = 1')).toBe('escalating');
});

test('ended occurrences are counted by outcome', async () => {
  const tenant = await world.tenant({ users });
  const read = async () => {
    const { text } = await tenant.ask({ path: '/metrics' });
    const found = text.matchAll(/^belfry_occurrences_total\{outcome="(\w+)"\} (\d+)$/gm);
    return Object.fromEntries([...found].map(([, outcome, count]) => [outcome, Number(count)]));
  };
  const before = await read();
  await expectOutcome(tenant, await tenant.trigger(), 'sent');
  await expectOutcome(tenant, await tenant.trigger({ limit_to: ['empty@x.test'] }), 'suppressed');
  const later = await tenant.trigger({ delay: '1h' });
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${later}/cancel/`);
  // An item that a digest leaves out because it has expired.
  const digesting = await world.tenant({ users: users.slice(1), notifications: [{ digest: { every: '1h' } }] });
  const first = await digesting.trigger();
  await digesting.until(first, 'pending');
  const stale = await digesting.trigger();
  await digesting.until(stale, 'pending');
  await digesting.sql('update occurrences set expires_at = now() where id = $1', stale);
  await digesting.sql('update digests set closes_at = now() where organization_id = $1', digesting.id);
  await digesting.sql('update deliveries set due_at = now() where occurrence_id = $1', first);
  await digesting.sql('notify belfry_work');
  await expectOutcome(digesting, first, 'sent');
  await expectOutcome(digesting, stale, 'expired');
  await eventually(async () => {
    const now = await read();
    const grown = ['sent', 'suppressed', 'cancelled', 'expired'].map(name => now[name]! - (before[name] ?? 0));
    expect(grown).toEqual([2, 1, 1, 1]);
  });
});

test('failed and waiting deliveries come first, and suppressed ones are counted by reason', async () => {
  const locked = ['cat', 'dan', 'eve'].map(name => ({ email: `${name}@x.test`, locked: true }));
  const tenant = await world.tenant({ users: [...users, ...locked, 'zoe@x.test'] });
  tenant.answer(seen => ({ status: seen.body.includes('zoe') ? 400 : 200 }));
  const id = await tenant.trigger();
  await expectOutcome(tenant, id, 'partly_failed');
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
