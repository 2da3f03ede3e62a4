/** Statistics of an organization: the counters match what happened. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { latencyBucketText, latencyPercentile } from '../../src/core/history/latency.ts';
import { sumStatistics } from '../../src/services/history/stats/stats.ts';
import { runMaintenance } from '../../src/services/operations/maintenance.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, sandbox, type Tenant } from '../support/sink.ts';
import { runSql } from '../support/sql.ts';

const day = 86_400_000;
let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(() => world.close());

async function stats(tenant: Tenant, query = '') {
  const answer = await tenant.ask({ path: `/api/o/${tenant.slug}/stats/${query}` });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

const total = (rows: { triggers: number }[]) => rows.reduce((sum, row) => sum + row.triggers, 0);

test('dry runs do not count', async () => {
  const tenant = await world.tenant({ users: ['a@x.test', { email: 'c@x.test', locked: true }] });
  await tenant.outcomes(await tenant.trigger({ dry_run: true }));
  expect(await stats(tenant)).toMatchObject({ channels: [], events: [] });
  expect(await tenant.stats()).toEqual({});
  await tenant.outcomes(await tenant.trigger({ dry_run: false }));
  expect((await stats(tenant)).events).toMatchObject([{ triggers: 1, by_status: { sent: 1, suppressed: 1 } }]);
});

test('triggers, outcomes, channels, events and latency match what happened', async () => {
  const tenant = await world.tenant({
    users: ['a@x.test', 'b@x.test', { email: 'c@x.test', locked: true }],
    channels: [{ slug: 'hooks' }, sandbox],
    notifications: [{ channels: ['hooks', 'sandbox'] }],
  });
  const first = await tenant.trigger();
  await tenant.outcomes(first);
  tenant.answer({ status: 400 });
  const second = await tenant.trigger({ channels: ['hooks'] });
  await tenant.outcomes(second);

  const found = await stats(tenant);
  expect(found.hours).toHaveLength(24);
  expect(total(found.hours)).toBe(2);
  const byStatus = { sent: 4, failed: 2, suppressed: 3, cancelled: 0, expired: 0, unknown: 0 };
  expect(found.events).toEqual([{ event: 'shop/web/go', triggers: 2, by_status: byStatus }]);
  expect(found.channels).toEqual([
    expect.objectContaining({ channel: 'hooks', project: null, type: 'webhook' }),
    expect.objectContaining({ channel: 'sandbox', type: 'email' }),
  ]);
  expect(found.channels[0].by_status).toMatchObject({ sent: 2, failed: 2, suppressed: 2 });
  expect(found.latency.p50_ms).toBeGreaterThan(0);
  expect(found.latency.p99_ms).toBeLessThan(8_000);
  expect(found.queue).toEqual({ pending: 0, due: 0, scheduled: 0, held: 0, capped: false, oldest_seconds: null });
  expect(found.attention).toEqual({
    failed: 2,
    unknown: 0,
    unresolved: { failed: 2, unknown: 0, capped: false },
    disabled_addresses: 0,
    disabled_webhooks: 0,
    paused: [],
  });
  const kept = await tenant.sql<{ count: number }>(
    'select sum(count)::int as count from latency_stats where organization_id = $1',
    tenant.id,
  );
  expect(kept).toEqual([{ count: 4 }]);
});

test('latency leaves out pauses, quiet hours, the delay of a step and the time until a replay', async () => {
  const tenant = await world.tenant({ users: ['a@x.test'] });
  /** Moves everything that happened so far into the past, by an hour. */
  const age = () =>
    tenant.sql(
      `with aged as (
         update occurrences set due_at = due_at - interval '1 hour', created_at = created_at - interval '1 hour'
         where organization_id = $1)
       update deliveries set created_at = created_at - interval '1 hour' where organization_id = $1`,
      tenant.id,
    );
  const channel = `/api/o/${tenant.slug}/c/hooks/`;
  await tenant.post(`${channel}pause/`);
  const held = await tenant.trigger();
  await tenant.until(held, 'pending');
  await age();
  tenant.answer({ status: 503 });
  await tenant.post(`${channel}resume/`);
  // A retry does not make the pause count.
  await tenant.until(held, 'retrying');
  tenant.answer({ status: 400 });
  await tenant.hurry();
  await tenant.outcomes(held);
  await age();
  tenant.answer({});
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${held}/replay/`);
  await tenant.outcomes(held);

  const hour = (offset: number) => new Date(Date.now() + offset * 3_600_000).toISOString().slice(11, 16);
  const preferences = { method: 'PATCH', path: `/api/o/${tenant.slug}/u/a@x.test/preferences/` };
  await tenant.ask({ ...preferences, body: { timezone: 'UTC', quiet_hours: { from: hour(-1), to: hour(2) } } });
  const quiet = await tenant.trigger();
  await tenant.until(quiet, 'pending');
  await age();
  await tenant.ask({ ...preferences, body: { quiet_hours: null } });
  await tenant.sql(`update deliveries set due_at = now() where occurrence_id = $1`, quiet);
  await tenant.sql('notify belfry_work');
  await tenant.outcomes(quiet);

  const steps = [{ channels: ['hooks'] }, { after: '2h', channels: ['hooks'] }];
  await tenant.apply({ users: ['a@x.test'], notifications: [{ steps }] });
  const escalating = await tenant.trigger();
  await tenant.until(escalating, 'sent');
  await age();
  // The second step may not be stored yet.
  await eventually(async () => {
    await tenant.sql(`update steps set due_at = now() where occurrence_id = $1 and status = 'waiting'`, escalating);
    await tenant.sql('notify belfry_work');
    expect(await tenant.deliveries(escalating)).toHaveLength(2);
  }, 20_000);
  await tenant.outcomes(escalating);

  const counts = await tenant.sql<{ bucket: number; count: number }>(
    'select bucket, count::int from latency_stats where organization_id = $1',
    tenant.id,
  );
  expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(4);
  // An hour is 3,600,000 ms.
  expect(latencyPercentile(counts, 1)).toBeLessThan(1_800_000);
});

test('everything that is new is also counted in steps of five minutes, until something older is in the period', async () => {
  const tenant = await world.tenant({ users: ['a@x.test', { email: 'c@x.test', locked: true }] });
  expect((await stats(tenant)).recent).toEqual([]);
  await tenant.outcomes(await tenant.trigger({ dry_run: true }));
  await tenant.outcomes(await tenant.trigger());
  tenant.answer({ status: 400 });
  await tenant.outcomes(await tenant.trigger());
  const { recent, hours } = await stats(tenant);
  expect(total(recent)).toBe(total(hours));
  const sumOf = (rows: { by_status: Record<string, number> }[], status: string) =>
    rows.reduce((sum, row) => sum + row.by_status[status]!, 0);
  for (const status of ['sent', 'failed', 'suppressed']) expect(sumOf(recent, status)).toBe(sumOf(hours, status));
  expect(recent.length).toBeLessThanOrEqual(24);
  await tenant.sql(
    `insert into trigger_stats select organization_id, hour - interval '5 hours', event_id, part, count from trigger_stats
     where organization_id = (select id from organizations where slug = $1)`,
    tenant.slug,
  );
  expect((await stats(tenant)).recent).toEqual([]);
});

test('a trigger that is repeated with its idempotency key counts once', async () => {
  const tenant = await world.tenant({ users: ['a@x.test'] });
  for (let i = 0; i < 3; i++) await tenant.trigger({ idempotency_key: 'once' });
  await Promise.all(Array.from({ length: 20 }, () => tenant.trigger()));
  expect(total((await stats(tenant)).hours)).toBe(21);
});

test('the queue and the pauses are reported, and held work does not count as pending', async () => {
  const tenant = await world.tenant({ users: ['a@x.test'] });
  await tenant.post(`${tenant.event}pause/`);
  await tenant.trigger();
  await tenant.trigger({ delay: '1h' });
  await eventually(async () =>
    expect((await stats(tenant)).queue).toMatchObject({ pending: 0, due: 0, scheduled: 1, held: 1 }),
  );
  expect((await stats(tenant)).attention.paused).toEqual([
    {
      kind: 'event',
      path: 'shop/web/go',
      id: null,
      scope: 'all',
      reason: null,
      cause: null,
      since: expect.any(String),
      waiting: { messages: 0, occurrences: 1, capped: false },
    },
  ]);
  const other = await world.tenant({ users: ['a@x.test'] });
  other.answer({ status: 503 });
  await other.until(await other.trigger(), 'retrying');
  expect((await stats(other)).queue).toMatchObject({ pending: 1, capped: false });
  await other.sql(`update deliveries set due_at = now() - interval '90 seconds', owner = null, priority = 2
    where organization_id = ${other.id}`);
  const { oldest_seconds } = (await stats(other)).queue;
  expect(oldest_seconds === null || oldest_seconds >= 90).toBe(true);
});

test('the number of hours can be chosen between 1 and 2160', async () => {
  const tenant = await world.tenant({ users: ['a@x.test'] });
  expect((await stats(tenant, '?hours=3')).hours).toHaveLength(3);
  for (const hours of ['0', '2161', '1e2', 'x', '0x10', '-1', '1.5']) {
    expect((await tenant.ask({ path: `/api/o/${tenant.slug}/stats/?hours=${hours}` })).status).toBe(400);
  }
});

/** Creates different counts for each hour of the last 80 days, for two channels and the events `go` and `also`. */
async function past(): Promise<Tenant> {
  const tenant = await world.tenant({ users: ['a@x.test'], channels: [{ slug: 'hooks' }, sandbox] });
  await tenant.sql(
    `insert into events (organization_id, application_id, slug, name)
     select organization_id, application_id, 'also', 'Also' from events where organization_id = $1`,
    tenant.id,
  );
  const hours = `generate_series(date_trunc('hour', now()) - interval '80 days', date_trunc('hour', now()), interval '1 hour')
    with ordinality h (hour, n)`;
  const known = 'events e on e.organization_id = $1';
  await tenant.sql(
    `insert into trigger_stats (organization_id, hour, event_id, part, count)
     select $1, hour, e.id, part, n * 3 + part from ${hours} join ${known}, generate_series(0, 1) part
     where e.slug = 'go' or n % 5 = 0`,
    tenant.id,
  );
  await tenant.sql(
    `insert into delivery_stats (organization_id, hour, event_id, channel_id, status, count)
     select $1, hour, e.id, c.id, status, n * 7 + length(status)
     from ${hours} join ${known} join channels c on c.organization_id = $1
     join unnest('{sent,failed,suppressed,cancelled,expired,unknown}'::text[]) status on true
     where c.slug = 'hooks' or n % 11 = 0`,
    tenant.id,
  );
  await tenant.sql(
    `insert into latency_stats (organization_id, hour, bucket, count)
     select $1, hour, n % 16, n from ${hours}`,
    tenant.id,
  );
  return tenant;
}

const ranges = [1, 2, 23, 24, 25, 47, 48, 49, 72, 100, 168, 720, 1_900, 2_160];
const ofRanges = (tenant: Tenant) => Promise.all(ranges.map(hours => stats(tenant, `?hours=${hours}`)));

/** Repeats a failed check if a new hour began during it. */
async function withinOneHour(check: () => Promise<void>): Promise<void> {
  const hour = () => new Date().getUTCHours();
  for (let began = hour(); ; began = hour()) {
    const failed = await check().then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    if (!failed) return;
    if (hour() === began) throw failed.error;
  }
}

test('finished days are summed once, and all statistics stay the same for every range', {
  tags: ['sweep'],
}, async () => {
  await withinOneHour(async () => {
    const tenant = await past();
    const before = await ofRanges(tenant);
    expect(before.at(-1).events.map((one: { event: string }) => one.event)).toEqual(['shop/web/go', 'shop/web/also']);
    await Promise.all([1, 2, 3].map(() => runMaintenance(world.service.runtime.deps, Date.now())));
    const [{ until }] = (await tenant.sql('select until from summed_stats where organization_id = $1', tenant.id)) as [
      { until: Date },
    ];
    expect(until.getTime()).toBeGreaterThan(Date.now() - 30 * 3_600_000);
    expect(await ofRanges(tenant)).toEqual(before);
    await runMaintenance(world.service.runtime.deps, Date.now() + 24 * 3_600_000);
    expect(await ofRanges(tenant)).toEqual(before);
  });
});

test('a day is summed six hours after its end', async () => {
  const { deps } = world.service.runtime;
  const tenant = await past();
  const until = async () =>
    (await tenant.sql<{ until: Date }>('select until from summed_stats where organization_id = $1', tenant.id))[0]!
      .until;
  const midnight = Math.floor(Date.now() / day) * day - 10 * day;
  await sumStatistics(deps, midnight + 6 * 3_600_000 - 1);
  expect(await until()).toEqual(new Date(midnight - day));
  await sumStatistics(deps, midnight + 6 * 3_600_000);
  expect(await until()).toEqual(new Date(midnight));
});

test('summed days are read from the sums, and other hours from the counters', { tags: ['sweep'] }, async () => {
  await withinOneHour(async () => {
    const tenant = await past();
    await runMaintenance(world.service.runtime.deps, Date.now());
    const before = await ofRanges(tenant);
    // Keeps the days in which one of the ranges begins.
    const cuts = ranges.map(hours => `date_trunc('hour', now()) - interval '${hours - 1} hours'`);
    for (const table of ['delivery_stats', 'trigger_stats', 'latency_stats']) {
      const gone = await tenant.sql(
        `delete from ${table} s using summed_stats u
         where s.organization_id = $1 and u.organization_id = $1 and s.hour < u.until and not (date_trunc('day', s.hour, 'UTC')
           = any(array[${cuts.map(cut => `date_trunc('day', ${cut}, 'UTC')`).join()}]))
         returning 1`,
        tenant.id,
      );
      expect(gone.length).toBeGreaterThan(1_000);
    }
    expect(await ofRanges(tenant)).toEqual(before);
  });
});

test('deleting an organization deletes all its statistics', { tags: ['sweep'] }, async () => {
  const tenant = await past();
  await runMaintenance(world.service.runtime.deps, Date.now());
  const tables = await tenant.sql<{ name: string }>(`
    select table_name as name from information_schema.tables where table_schema = 'public' and table_name like '%_stats'`);
  const left = async () =>
    Promise.all(
      tables.map(async ({ name }) => {
        const [row] = await tenant.sql(`select count(*)::int from ${name} where organization_id = $1`, tenant.id);
        return row!.count;
      }),
    );
  expect(tables).toHaveLength(8);
  for (const count of await left()) expect(count).toBeGreaterThan(0);
  const deleted = await tenant.ask({ method: 'DELETE', path: `/api/o/${tenant.slug}/?cascade=true` });
  expect(deleted.status, deleted.text).toBeLessThan(300);
  for (const count of await left()) expect(count).toBe(0);
});

test('the 20 busiest events are listed in order, without deleted ones', { tags: ['sweep'] }, async () => {
  const tenant = await past();
  await tenant.sql(
    `with made as (
       insert into events (organization_id, application_id, slug, name)
       select organization_id, application_id, 'e' || lpad(i::text, 2, '0'), 'E' from events, generate_series(1, 25) i
       where organization_id = $1 and slug = 'go' returning id, slug
     )
     insert into trigger_stats (organization_id, hour, event_id, part, count)
     select $1, date_trunc('hour', now()) - interval '9 days', id, 0, 100000000 + substr(slug, 2)::int from made`,
    tenant.id,
  );
  await tenant.sql(`delete from events where organization_id = $1 and slug = 'e24'`, tenant.id);
  const numbers = [25, ...Array.from({ length: 19 }, (_, i) => 23 - i)];
  const expected = numbers.map(number => `shop/web/e${String(number).padStart(2, '0')}`);
  for (const sum of [false, true]) {
    if (sum) await runMaintenance(world.service.runtime.deps, Date.now());
    const { events } = await stats(tenant, '?hours=720');
    expect(events.map((one: { event: string }) => one.event)).toEqual(expected);
  }
});

test('latency percentiles are accurate to 6 percent', async () => {
  // Latencies spread over five orders of magnitude.
  const times = Array.from({ length: 5_000 }, (_, i) => Math.round(2 * 1.0025 ** i)).filter(ms => ms < 200_000);
  const counts = (await runSql(
    world.service.runtime.url,
    `select ${latencyBucketText('ms')} as bucket, count(*)::int as count from unnest($1::float8[]) ms group by 1`,
    [times],
  )) as { bucket: number; count: number }[];
  for (const share of [0.01, 0.5, 0.95, 0.99, 1]) {
    const exact = times[Math.ceil(share * times.length) - 1]!;
    expect(Math.abs(latencyPercentile(counts, share)! - exact) / exact).toBeLessThanOrEqual(0.06);
  }
  expect(latencyPercentile([], 0.5)).toBeNull();
  expect(latencyPercentile([{ bucket: 3, count: 0 }], 0.5)).toBeNull();
});

test('the events of an application are listed with triggers by hour, failures and the last trigger', async () => {
  const tenant = await world.tenant({ users: ['a@x.test'] });
  const events = `${tenant.application}e/`;
  for (const slug of ['old', 'gap', 'never']) {
    expect((await tenant.post(events, { slug, name: slug })).status).toBe(201);
  }
  await withinOneHour(async () => {
    await tenant.sql('delete from trigger_stats where organization_id = $1', tenant.id);
    await tenant.sql('delete from delivery_stats where organization_id = $1', tenant.id);
    tenant.answer({ status: 400 });
    for (let i = 0; i < 2; i++) await tenant.outcomes(await tenant.trigger());
    const ago = (hours: number) => new Date((Math.floor(Date.now() / 3_600_000) - hours) * 3_600_000);
    const store = (slug: string, hours: number) =>
      tenant.sql(
        `insert into trigger_stats (organization_id, hour, event_id, part, count)
         select $1, $2, id, part, 3 from events, generate_series(0, 1) part where organization_id = $1 and slug = $3`,
        tenant.id,
        ago(hours),
        slug,
      );
    await store('go', 23);
    // Neither among the hours shown nor in the sum of a day.
    await store('gap', 25);
    await tenant.sql(
      `insert into event_day_stats (organization_id, day, event_id, triggers, sent, failed, suppressed, cancelled, expired, unknown)
       select $1, day, id, triggers, 0, 0, 0, 0, 0, 0
       from events, (values ($2::timestamptz, 5), ($3, 0)) as days (day, triggers)
       where organization_id = $1 and slug = 'old' on conflict do nothing`,
      tenant.id,
      '2026-01-05T00:00:00Z',
      '2026-01-06T00:00:00Z',
    );
    await tenant.sql(
      `insert into summed_stats values ($1, $2) on conflict (organization_id) do update set until = excluded.until`,
      tenant.id,
      ago(26),
    );
    const { body } = await tenant.ask({ path: `${tenant.application}stats/` });
    const none = Array(24).fill(0);
    expect(body).toEqual([
      {
        event: 'go',
        triggers: [6, ...none.slice(2), 2],
        failures: 2,
        unknown: 0,
        last_triggered_at: ago(0).toISOString(),
      },
      { event: 'old', triggers: none, failures: 0, unknown: 0, last_triggered_at: '2026-01-05T00:00:00.000Z' },
      { event: 'gap', triggers: none, failures: 0, unknown: 0, last_triggered_at: ago(25).toISOString() },
      { event: 'never', triggers: none, failures: 0, unknown: 0, last_triggered_at: null },
    ]);
  });
});
