/**
 * Retention of history, inboxes and statistics, tested on rows with old ids.
 *
 * @module-tag sweep
 */
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Runtime } from '../../src/app.ts';
import { lowestUuidAt, uuidv7 } from '../../src/core/ids.ts';
import { createPartitions, dropOldPartitions } from '../../src/db/connection/partitions.ts';
import { findOccurrence } from '../../src/db/history/occurrences.ts';
import { sumStatistics } from '../../src/services/history/stats/stats.ts';
import { runMaintenance } from '../../src/services/operations/maintenance.ts';
import { testDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { fairNow } from '../support/fair-clock.ts';
import { runSql } from '../support/sql.ts';

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testDatabase();
});
afterAll(() => runtime.close());

const day = 86_400_000;
const now = Date.UTC(2026, 6, 15, 12);
const at = (year: number, month: number, date: number) => Date.UTC(year, month - 1, date, 8);

beforeEach(async () => {
  const { db } = runtime.deps;
  for (const name of await partitions()) if (!name.endsWith('_rest')) await sql.raw(`drop table ${name}`).execute(db);
  await sql`truncate organizations, occurrences, deliveries cascade`.execute(db);
});

async function partitions(): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select inhrelid::regclass::text as name from pg_inherits
    where inhparent in ('occurrences'::regclass, 'deliveries'::regclass) order by 1`.execute(runtime.deps.db);
  return rows.map(row => row.name);
}

async function organization(slug: string, days: number): Promise<number> {
  const { id } = await runtime.deps.db
    .insertInto('organizations')
    .values({ slug, name: slug, retention_days: days })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/** An occurrence of that time with two deliveries. */
async function occur(organizationId: number, ms: number, status = 'completed', delivery = 'sent'): Promise<string> {
  const id = uuidv7(ms);
  const common = { organization_id: organizationId, created_at: new Date(ms), due_at: new Date(ms) };
  await runtime.deps.db
    .insertInto('occurrences')
    .values({ ...common, id, project_id: 1, application_id: 1, event_id: 1, status, context: '{}', options: '{}' })
    .execute();
  const row = { ...common, occurrence_id: id, notification_id: 1, version: 1, channel_id: 1, priority: 1 };
  await runtime.deps.db
    .insertInto('deliveries')
    .values([
      { ...row, user_id: 1, status: delivery },
      { ...row, user_id: 2, status: 'suppressed' },
    ])
    .execute();
  return id;
}

async function stored(table: 'occurrences' | 'deliveries', organizationId?: number): Promise<number> {
  let query = runtime.deps.db.selectFrom(table).select(({ fn }) => fn.countAll<number>().as('count'));
  if (organizationId !== undefined) query = query.where('organization_id', '=', organizationId);
  return (await query.executeTakeFirstOrThrow()).count;
}

describe('dropping partitions', () => {
  test('drops a month when its last day is past the retention, and not a day earlier', async () => {
    const { db } = runtime.deps;
    const acme = await organization('acme', 90);
    await createPartitions(db, at(2026, 3, 5));
    await occur(acme, at(2026, 3, 5));
    await occur(acme, at(2026, 4, 5));
    const end = Date.UTC(2026, 3, 1);
    expect(await dropOldPartitions(db, end + 90 * day - 1)).toEqual([]);
    expect(await dropOldPartitions(db, end + 90 * day)).toEqual(['2026_03']);
    expect(await partitions()).toEqual([
      'deliveries_2026_04',
      'deliveries_2026_05',
      'deliveries_rest',
      'occurrences_2026_04',
      'occurrences_2026_05',
      'occurrences_rest',
    ]);
    expect([await stored('occurrences'), await stored('deliveries')]).toEqual([1, 2]);
    expect(await dropOldPartitions(db, end + 90 * day)).toEqual([]);
  });

  test('waits for the organization with the longest retention', async () => {
    const { db } = runtime.deps;
    await organization('brief', 7);
    await organization('long', 400);
    await createPartitions(db, at(2026, 1, 5));
    expect(await dropOldPartitions(db, now)).toEqual([]);
    expect(await dropOldPartitions(db, Date.UTC(2026, 1, 1) + 400 * day)).toEqual(['2026_01']);
  });

  test.each(['accepted', 'expanding', 'sending'])('keeps a month with an occurrence that is %s', async status => {
    const { db } = runtime.deps;
    const acme = await organization('acme', 30);
    await createPartitions(db, at(2026, 1, 5));
    const id = await occur(acme, at(2026, 1, 5), status);
    expect(await dropOldPartitions(db, at(2026, 3, 20))).toEqual([]);
    await db.updateTable('occurrences').set({ status: 'completed' }).where('id', '=', id).execute();
    await db.updateTable('deliveries').set({ status: 'retrying' }).where('occurrence_id', '=', id).execute();
    expect(await dropOldPartitions(db, at(2026, 3, 20)), 'a delivery is still waiting').toEqual([]);
    await db.updateTable('deliveries').set({ status: 'sent' }).where('occurrence_id', '=', id).execute();
    expect(await dropOldPartitions(db, at(2026, 3, 20))).toEqual(['2026_01']);
  });

  const waiting = `select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like 'lock table%'`;

  test('locks the tables in the same order as workers, which prevents deadlocks', async () => {
    const { db, pool } = runtime.deps;
    await createPartitions(db, at(2026, 1, 5));
    const worker = await pool.connect();
    await worker.query('begin');
    await worker.query('lock table deliveries in row exclusive mode');
    const attempt = dropOldPartitions(db, now);
    try {
      await eventually(async () => expect((await pool.query(waiting)).rowCount).toBe(1));
      await worker.query('lock table occurrences in row exclusive mode nowait');
    } finally {
      await worker.query('rollback');
      worker.release();
    }
    expect(await attempt).toContain('2026_01');
  });

  test('gives up while the tables are in use, and succeeds later', async () => {
    const { db, pool } = runtime.deps;
    await createPartitions(db, at(2026, 1, 5));
    const reader = await pool.connect();
    await reader.query('begin');
    await reader.query('select count(*) from deliveries');
    const began = fairNow();
    const attempt = dropOldPartitions(db, now);
    // Queries that arrive while it waits are delayed only briefly.
    await eventually(async () => expect((await pool.query(waiting)).rowCount).toBe(1));
    const asked = fairNow();
    await db.selectFrom('deliveries').select('id').limit(1).execute();
    expect(fairNow() - asked).toBeLessThan(1_500);
    expect(await attempt).toEqual([]);
    expect(fairNow() - began).toBeLessThan(15_000);
    await reader.query('rollback');
    reader.release();
    expect(await dropOldPartitions(db, now)).toContain('2026_01');
  });

  // 1.2 million rows took 0.55 s on two busy cores. A vacuum may block it briefly.
  test('drops 200,000 rows quickly', { tags: ['sweep'] }, async () => {
    const { db } = runtime.deps;
    const acme = await organization('acme', 30);
    await createPartitions(db, at(2026, 1, 5));
    const prefix = lowestUuidAt(at(2026, 1, 9)).slice(0, 14);
    await runSql(
      runtime.url,
      `with ids as (
        select ('${prefix}7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as id from generate_series(1, 100000) n
      ), occurred as (
        insert into occurrences (organization_id, id, project_id, application_id, event_id, status, context, options,
          due_at, created_at)
        select ${acme}, id, 1, 1, 1, 'completed', '{}', '{}', now(), now() from ids
      )
      insert into deliveries (organization_id, occurrence_id, notification_id, version, channel_id, user_id, status,
        priority, due_at)
      select ${acme}, id, 1, 1, 1, 1, 'sent', 1, now() from ids`,
    );
    expect(await stored('deliveries')).toBe(100_000);
    const began = fairNow();
    expect(await dropOldPartitions(db, at(2026, 3, 20))).toEqual(['2026_01']);
    expect(fairNow() - began).toBeLessThan(4_000);
    expect([await stored('occurrences'), await stored('deliveries')]).toEqual([0, 0]);
  });
});

describe('maintenance', () => {
  test('deletes completed history of an organization with a shorter retention than others', async () => {
    const { db } = runtime.deps;
    const brief = await organization('brief', 7);
    const long = await organization('long', 90);
    await createPartitions(db, now);
    for (const ms of [now - 6 * day, now - 8 * day, now - 9 * day]) {
      await occur(brief, ms);
      await occur(long, ms);
    }
    const waiting = await occur(brief, now - 10 * day, 'sending', 'retrying');
    await runMaintenance(runtime.deps, now);
    expect([await stored('occurrences', brief), await stored('deliveries', brief)]).toEqual([2, 4]);
    expect([await stored('occurrences', long), await stored('deliveries', long)]).toEqual([3, 6]);
    const left = await db.selectFrom('occurrences').select('id').where('organization_id', '=', brief).execute();
    expect(left.map(row => row.id)).toContain(waiting);
  });

  test('deletes more rows than fit into one batch', async () => {
    const { db } = runtime.deps;
    const brief = await organization('brief', 7);
    await organization('long', 90);
    await createPartitions(db, now);
    const id = await occur(brief, now - 8 * day);
    await runSql(
      runtime.url,
      `insert into deliveries (organization_id, occurrence_id, notification_id, version, channel_id, user_id, status,
        priority, due_at)
      select ${brief}, '${id}', 1, 1, 1, n, 'sent', 1, now() from generate_series(10, 12000) n`,
    );
    await runMaintenance(runtime.deps, now);
    expect([await stored('occurrences', brief), await stored('deliveries', brief)]).toEqual([0, 0]);
  });

  test('deletes statistics past the retention of their organization', async () => {
    const { db } = runtime.deps;
    const brief = await organization('brief', 7);
    const long = await organization('long', 90);
    const stats = (organization_id: number, days: number) => ({
      organization_id,
      hour: new Date(now - days * day),
      event_id: 1,
      channel_id: 1,
      status: 'sent',
      count: days,
    });
    await db
      .insertInto('delivery_stats')
      .values([stats(brief, 6), stats(brief, 8), stats(long, 8), stats(long, 91)])
      .execute();
    const left = async (table: 'delivery_stats' | 'hour_stats' | 'event_day_stats' | 'channel_day_stats') => {
      const rows = await db.selectFrom(table).selectAll().orderBy('organization_id').execute();
      type Row = { organization_id: number; sent?: number; count?: number };
      return (rows as Row[]).map(row => [row.organization_id, row.sent ?? row.count]);
    };
    const sums = ['hour_stats', 'event_day_stats', 'channel_day_stats'] as const;
    // As if they had been summed in time.
    await sumStatistics(runtime.deps, now);
    for (const table of sums) expect(await left(table)).toHaveLength(4);
    await db
      .insertInto('latency_day_stats')
      .values([6, 8].map(days => ({ organization_id: brief, day: new Date(now - days * day), bucket: 1, count: days })))
      .execute();
    await runMaintenance(runtime.deps, now);
    const expected = [
      [brief, 6],
      [long, 8],
    ];
    for (const table of ['delivery_stats', ...sums] as const) expect(await left(table), table).toEqual(expected);
    expect((await db.selectFrom('latency_day_stats').select('count').execute()).map(row => row.count)).toEqual([6]);
  });

  test('deletes inbox messages past the retention of their organization, in several batches', async () => {
    const { db } = runtime.deps;
    for (const [slug, days] of [
      ['brief', 7],
      ['long', 90],
    ] as const) {
      const id = await organization(slug, days);
      const user = await db
        .insertInto('users')
        .values({ organization_id: id, username: 'ann@x.test', email: 'ann@x.test' })
        .returning('id')
        .executeTakeFirstOrThrow();
      await runSql(
        runtime.url,
        `insert into inbox (organization_id, user_id, id, occurrence_id, title, body, created_at)
         select ${id}, ${user.id}, n, '${uuidv7(now)}', 'T', 'B',
           to_timestamp(${now / 1_000}) - make_interval(days => case when n <= 12000 then 8 else 6 end)
         from generate_series(1, 12003) n`,
      );
    }
    await runMaintenance(runtime.deps, now);
    const left = await db
      .selectFrom('inbox')
      .innerJoin('organizations', 'organizations.id', 'inbox.organization_id')
      .select(({ fn }) => ['organizations.slug', fn.countAll<number>().as('count')])
      .groupBy('organizations.slug')
      .orderBy('organizations.slug')
      .execute();
    expect(left).toEqual([
      { slug: 'brief', count: 3 },
      { slug: 'long', count: 12_003 },
    ]);
  });

  test('deletes the updates of messages past the retention of their organization', async () => {
    for (const [slug, days] of [
      ['brief', 7],
      ['long', 90],
    ] as const) {
      const id = await organization(slug, days);
      for (const age of [8, 6]) {
        await runSql(
          runtime.url,
          `insert into message_updates (organization_id, occurrence_id, delivery_id, change, changed_at, status)
           select ${id}, '${uuidv7(now - age * day)}', n, 'resolved', now(), 'done' from generate_series(1, 10) n`,
        );
      }
    }
    await runMaintenance(runtime.deps, now);
    const left = await runSql(
      runtime.url,
      `select slug, count(*)::int from message_updates join organizations o on o.id = organization_id
       group by 1 order by 1`,
    );
    expect(left).toEqual([
      { slug: 'brief', count: 10 },
      { slug: 'long', count: 20 },
    ]);
  });

  test('can run in several processes at once', async () => {
    await organization('acme', 30);
    await createPartitions(runtime.deps.db, at(2026, 1, 5));
    await Promise.all(Array.from({ length: 4 }, () => runMaintenance(runtime.deps, now)));
    const names = await partitions();
    expect(names).toContain('occurrences_2026_07');
    expect(names).not.toContain('occurrences_2026_01');
  });
});

describe('rows in the default partition', () => {
  test('are moved to the partition created for them, for this month and a past one', async () => {
    const { db } = runtime.deps;
    const acme = await organization('acme', 90);
    const ids = [
      await occur(acme, at(2026, 7, 2)),
      await occur(acme, at(2026, 5, 2)),
      await occur(acme, at(2026, 5, 3)),
    ];
    await createPartitions(db, now);
    const counted = async (table: string) =>
      (await runSql<{ count: number }>(runtime.url, `select count(*)::int as count from ${table}`))[0]!.count;
    expect([await counted('occurrences_rest'), await counted('deliveries_rest')]).toEqual([0, 0]);
    expect([await counted('occurrences_2026_07'), await counted('deliveries_2026_07')]).toEqual([1, 2]);
    expect([await counted('occurrences_2026_05'), await counted('deliveries_2026_05')]).toEqual([2, 4]);
    const rows = await db.selectFrom('occurrences').select('id').orderBy('id').execute();
    expect(rows.map(row => row.id)).toEqual(ids.toSorted());
  });

  test('keep a change that is made while they are moved', async () => {
    const { db } = runtime.deps;
    const acme = await organization('acme', 90);
    const ids: string[] = [];
    for (let i = 0; i < 200; i++) ids.push(await occur(acme, now - i));
    const changes = Promise.all(
      ids.map(id => db.updateTable('occurrences').set({ sent: 1 }).where('id', '=', id).executeTakeFirst()),
    );
    await createPartitions(db, now);
    expect((await changes).every(change => change.numUpdatedRows === 1n)).toBe(true);
    const { count } = await db
      .selectFrom('occurrences')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('sent', '=', 1)
      .executeTakeFirstOrThrow();
    expect(count).toBe(200);
  });

  test('a partition has the indexes of its table', async () => {
    await createPartitions(runtime.deps.db, now);
    for (const table of ['occurrences', 'deliveries']) {
      const indexes = await runSql<{ parents: number; own: number }>(
        runtime.url,
        `select (select count(*)::int from pg_index where indrelid = '${table}'::regclass) as parents,
          (select count(*)::int from pg_index i join pg_inherits h on h.inhrelid = i.indexrelid
            where i.indrelid = '${table}_2026_07'::regclass) as own`,
      );
      expect(indexes[0]!.own).toBe(indexes[0]!.parents);
    }
  });
});

test('reading one occurrence opens only the partition of its month', async () => {
  const { db } = runtime.deps;
  for (const month of [5, 6, 7]) await createPartitions(db, at(2026, month, 15));
  const opened = await db.transaction().execute(async trx => {
    await findOccurrence(trx, 1, uuidv7(at(2026, 6, 15)));
    const { rows } = await sql<{ name: string }>`
      select c.relname as name from pg_locks l join pg_class c on c.oid = l.relation
      where l.pid = pg_backend_pid() and c.relkind = 'r' and c.relname ~ '^(occurrences|deliveries)_' order by 1`.execute(
      trx,
    );
    return rows.map(row => row.name);
  });
  expect(opened).toEqual(['deliveries_2026_06', 'occurrences_2026_06']);
});
