/**
 * A month of generated demo data: consistent with itself and with the statistics, and removed without a trace.
 *
 * @module-tag sweep
 */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Runtime } from '../../src/app.ts';
import type { Terminal } from '../../src/cli/command.ts';
import { demo as command } from '../../src/cli/demo.ts';
import { organizationTables } from '../../src/db/operations/organization-tables.ts';
import { applyConfiguration } from '../../src/services/configuration/declarative/declarative.ts';
import { viewMessage } from '../../src/services/history/messages.ts';
import { describeOrganization, sumStatistics } from '../../src/services/history/stats/stats.ts';
import { explain } from '../../src/services/history/why.ts';
import { removeDemo } from '../../src/services/operations/demo/demo.ts';
import { createDemoHistory, demoMark } from '../../src/services/operations/demo/history.ts';
import { generateHistory } from '../../src/services/operations/demo/occurrences.ts';
import { runDoctorChecks } from '../../src/services/operations/doctor/doctor.ts';
import { runMaintenance } from '../../src/services/operations/maintenance.ts';
import { testDatabase } from '../support/database.ts';

let runtime: Runtime;
let organizationId: number;
const printed: string[] = [];

const run = (args: string[]) =>
  command.run(args, {
    config: {},
    print: (text: string) => void printed.push(text),
    withDeps: (work: (deps: Runtime['deps']) => Promise<unknown>) => work(runtime.deps),
  } as unknown as Terminal);

const rowsOf = async <Row>(text: string) => (await sql.raw<Row>(text).execute(runtime.deps.db)).rows;
/** Occurrences, each with its deliveries `d`. */
const deliveries = `occurrences o join deliveries d on d.organization_id = o.organization_id and d.occurrence_id = o.id`;

beforeAll(async () => {
  runtime = await testDatabase();
  await applyConfiguration(runtime.deps, { organizations: [{ slug: 'acme', name: 'Acme' }] }, { prune: false });
  await run([]);
  organizationId = (await runtime.deps.tenantCache.resolvePath({ org: 'demo' }))!.organization.id;
});
afterAll(() => runtime.close());

test('is the same for the same time', () => {
  const now = Date.UTC(2026, 0, 31, 12);
  expect(generateHistory(now)).toEqual(generateHistory(now));
});

test('says what it did and how to remove it', () => {
  expect(printed[0]).toMatch(/Added 30 days of generated history: \d+ occurrences with \d+ messages/);
  expect(printed[0]).toContain('belfry demo --remove');
});

test('is added once', async () => {
  expect(await createDemoHistory(runtime.deps, Date.now())).toBeUndefined();
});

test('is marked, and spans 30 days up to now in the partitions of its months', async () => {
  const [span] = await rowsOf<Record<string, number>>(`
    select count(*) filter (where correlation_id is distinct from '${demoMark}')::int as unmarked,
      count(distinct created_at::date)::int as days, (select count(*)::int from occurrences_rest) as rest,
      (select count(*)::int from deliveries_rest) as rest_deliveries,
      count(*) filter (where completed_at > now())::int as future from occurrences`);
  expect(span).toMatchObject({ unmarked: 0, rest: 0, rest_deliveries: 0, future: 0 });
  expect(span!.days).toBeGreaterThanOrEqual(30);
});

test('has counts that add up for every occurrence', async () => {
  expect(
    await rowsOf(`
      select o.id from ${deliveries} group by o.organization_id, o.id
      having o.deliveries <> count(*) or o.sent <> count(*) filter (where d.status = 'sent')
        or o.failed <> count(*) filter (where d.status = 'failed')
        or o.suppressed <> count(*) filter (where d.status = 'suppressed')
        or o.deliveries <> o.sent + o.failed + o.suppressed or o.outcome is null`),
  ).toEqual([]);
  expect(await rowsOf(`select id from occurrences where deliveries = 0`)).toEqual([]);
});

test('has times in the order in which things happen', async () => {
  expect(
    await rowsOf(`
      select d.id from ${deliveries}, lateral (
        select min((one ->> 'at')::timestamptz) as first, max((one ->> 'at')::timestamptz) as last
        from jsonb_array_elements(coalesce(nullif(d.failed_attempts, 'null'), '[]')) one) failed
      where not (o.created_at <= d.created_at and d.created_at <= coalesce(failed.first, d.created_at)
        and coalesce(failed.last, d.created_at) <= coalesce(d.sent_at, o.completed_at)
        and coalesce(d.sent_at, d.created_at) <= o.completed_at and o.completed_at <= now()
        and coalesce(d.released_at, d.created_at) <= coalesce(d.sent_at, 'infinity') or d.due_at >= '9999-12-31')`),
  ).toEqual([]);
});

test('has retries, bounces, a complaint, a digest, preferences and acknowledged escalations', async () => {
  const [found] = await rowsOf<Record<string, number>>(`
    select count(*) filter (where d.status = 'sent' and d.attempts > 1)::int as retried,
      count(*) filter (where d.reason = 'bounced')::int as bounced,
      count(*) filter (where d.attempts > 8 and d.status = 'failed')::int as exhausted,
      count(distinct d.digest_id)::int as digests,
      count(*) filter (where d.reason = 'preference.off')::int as unsubscribed,
      count(*) filter (where d.reason = 'address.suppressed')::int as suppressed,
      count(distinct o.id) filter (where o.acknowledged_at is not null)::int as acknowledged,
      (select count(*)::int from responses r join users u on u.organization_id = r.organization_id and u.username = r.by
        where r.kind = 'acknowledged') as responses,
      (select count(*)::int from feedback where type = 'complained') as complained from ${deliveries}`);
  expect(Object.entries(found!).filter(([, count]) => count === 0)).toEqual([]);
  expect(found).toMatchObject({ bounced: 2, complained: 1, acknowledged: 3, responses: 3 });
});

test('matches the statistics, before and after days are summed', async () => {
  const [rows] = await rowsOf<Record<string, number>>(`
    select (select sum(triggers)::int from occurrences) as triggers,
      count(*) filter (where status = 'sent')::int as sent, count(*) filter (where status = 'failed')::int as failed,
      count(*) filter (where status = 'suppressed')::int as suppressed from deliveries`);
  const totals = async () => {
    const { hours } = await describeOrganization(runtime.deps, organizationId, 744);
    const sum = (of: (hour: (typeof hours)[number]) => number) => hours.reduce((total, hour) => total + of(hour), 0);
    return {
      triggers: sum(hour => hour.triggers),
      sent: sum(hour => hour.by_status.sent),
      failed: sum(hour => hour.by_status.failed),
      suppressed: sum(hour => hour.by_status.suppressed),
    };
  };
  expect(await totals()).toEqual(rows);
  await sumStatistics(runtime.deps, Date.now());
  expect(await totals()).toEqual(rows);
  await runMaintenance(runtime.deps, Date.now());
  expect(await totals()).toEqual(rows);
});

test('shows the message and the reason of each kind of delivery', async () => {
  const kinds = await rowsOf<{ occurrence_id: string; id: number; address: string; status: string }>(`
    select distinct on (o.event_id, d.channel_id, d.status, d.reason, d.attempts > 0) d.occurrence_id, d.id, d.address, d.status
    from ${deliveries} order by o.event_id, d.channel_id, d.status, d.reason, d.attempts > 0, d.id`);
  expect(kinds.length).toBeGreaterThan(10);
  for (const { occurrence_id, id, address, status } of kinds) {
    const { title, missing } = await viewMessage(runtime.deps, organizationId, occurrence_id, id);
    expect(title).not.toBe('');
    expect(missing).toEqual([]);
    const { answers, summary } = await explain(runtime.deps, organizationId, occurrence_id, address);
    expect(summary).not.toBe('');
    expect(answers.map(answer => answer.outcome)).toContain(status);
  }
});

test('has inboxes whose counts match', async () => {
  const differing = await rowsOf(`
    select i.user_id from inboxes i join inbox m using (organization_id, user_id) group by 1, i.unread, i.sequence
    having i.unread <> count(*) filter (where m.read_at is null) or i.sequence < max(m.sequence)`);
  expect(differing).toEqual([]);
});

test('passes the checks of doctor', async () => {
  const checks = await runDoctorChecks(runtime.deps, Date.now(), { linkUrl: 'http://127.0.0.1:8000' });
  expect(checks.filter(({ ok }) => !ok)).toEqual([]);
});

test('is removed without a trace, and nothing else is', async () => {
  await run(['--remove']);
  expect(printed.at(-1)).toBe('Removed the organization demo and the account admin@demo.test.');
  for (const { name } of organizationTables) {
    const column = name === 'organizations' ? 'id' : 'organization_id';
    expect(await rowsOf(`select from ${name} where ${column} = ${organizationId} limit 1`), name).toEqual([]);
  }
  expect(await rowsOf(`select slug from organizations`)).toEqual([{ slug: 'acme' }]);
  expect(await rowsOf(`select email from accounts`)).toEqual([]);
  await run(['--remove', '--json']);
  expect(JSON.parse(printed.at(-1)!)).toEqual({ removed: false, account: false });
});

test('leaves an organization demo that is something else unchanged', async () => {
  await applyConfiguration(runtime.deps, { organizations: [{ slug: 'demo', name: 'Mine' }] }, { prune: false });
  await expect(run([])).rejects.toThrow('is not the demo of Belfry');
  await expect(removeDemo(runtime.deps)).rejects.toThrow('is not the demo of Belfry');
});
