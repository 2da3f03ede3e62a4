/**
 * Drops an expired month of history while triggers arrive: how long it takes, how long a trigger waits for it, and whether
 * anything is left behind.
 */
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type pg from 'pg';
import { createPartitions, dropOldPartitions } from '../src/db/connection/partitions.ts';
import { openDatabase } from '../src/db/connection/pool.ts';
import { runMaintenance } from '../src/services/operations/maintenance.ts';
import { quantile, type Scenario } from './scenario.ts';
import { openStage } from './stage.ts';

const dayMs = 86_400_000;
/** The default of an organization. */
const retentionDays = 90;
const perSecond = 50;
const perOccurrence = 1_000;
const mb = 2 ** 20;

const sandbox = { slug: 'sandbox', name: 'Sandbox', type: 'email', providers: [{ use: 'sandbox' }] };
const notification = {
  name: 'notify',
  recipients: { trigger: true },
  channels: ['sandbox'],
  message: { subject: 'Order', body: 'It is on its way.' },
};

export const retention: Scenario = {
  name: 'retention',
  summary: 'dropping a month of 10,000,000 (quick: 100,000) deliveries while triggers arrive',
  async run({ quick, log }) {
    const size = quick ? 100_000 : 10_000_000;
    const aside = quick ? 1 : 3;
    const month = newestExpired(Date.now());
    const stage = await openStage([sandbox], [{ slug: 'paid', name: 'Paid', notifications: [notification] }]);
    const { db, close } = openDatabase({ url: stage.url, name: 'bench', connections: 1 });
    const { sql } = stage;
    try {
      await createPartitions(db, month.from);
      const service = await stage.start('all');
      const triggers = new Triggers(`${service.address}/api/o/bench/p/shop/a/web/e/paid/trigger/`, stage.key);
      // Warms up, so that later growth is not caused by the first triggers.
      await triggers.run(aside);
      const before = await measure(sql);
      log(`fills a month with ${size.toLocaleString('en')} deliveries`);
      await fillMonth(sql, month, size);
      const filled = await measure(sql);

      log('drops it');
      const stream = triggers.run(3 * aside);
      await sleep(aside * 1_000);
      const began = performance.now();
      const dropped = await dropOldPartitions(db, Date.now());
      const took = performance.now() - began;
      const times = await stream;
      if (dropped.join() !== month.name)
        throw new Error(`dropped ${dropped.join() || 'nothing'} instead of ${month.name}`);
      await runMaintenance({ db }, Date.now());
      const after = await measure(sql);
      const monthMb = (filled.all - before.all) / mb;
      const meanwhile = times
        .filter(({ from, to }) => to >= began && from <= began + took)
        .map(({ from, to }) => to - from);
      const left = after.all - after.history - (before.all - before.history);
      return [
        {
          measure: `dropping ${size.toLocaleString('en')} deliveries`,
          value: took,
          unit: 'ms',
          limit: { of: 'value', max: 1_000 },
          note: `a month of ${Math.round(monthMb).toLocaleString('en')} MB, on ${await fileSystemOf(sql)}`,
        },
        {
          measure: 'slowest trigger meanwhile',
          value: Math.max(...meanwhile),
          unit: 'ms',
          note: `of ${meanwhile.length}; the median before, during and after is ${quantile(
            times.map(({ from, to }) => to - from),
            0.5,
          ).toFixed(1)} ms`,
        },
        {
          measure: 'data of the month left in the database',
          value: left / mb,
          unit: 'MB',
          limit: { of: 'value', max: 10 },
          note: 'the size of everything except this month’s history, compared with the time before the month was filled',
        },
        {
          measure: 'rows deleted individually',
          value: after.deleted - filled.deleted,
          unit: 'rows',
          limit: { of: 'value', max: 0 },
          note: `in occurrences and deliveries; these would have to be vacuumed. Dead rows in all tables: ${after.dead}`,
        },
      ];
    } finally {
      await close();
      await stage.close();
    }
  },
};

interface Month {
  /** Suffix of the partition's name. */
  name: string;
  from: number;
}

/** Returns the newest expired month, so that it is the only one to be dropped. */
function newestExpired(now: number): Month {
  const kept = new Date(now - retentionDays * dayMs);
  const from = Date.UTC(kept.getUTCFullYear(), kept.getUTCMonth() - 1);
  return { name: new Date(from).toISOString().slice(0, 7).replace('-', '_'), from };
}

/**
 * Inserts sent deliveries, spread evenly over four weeks. The partition is filled before it is attached, because building indexes
 * then is much faster than maintaining them.
 */
async function fillMonth(sql: pg.Client, { name, from }: Month, size: number): Promise<void> {
  const occurrences = size / perOccurrence;
  await sql.query(`set maintenance_work_mem = '512MB'`);
  await sql.query(
    `create temporary table filled as
     select n, at, (lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0') || '70008' || repeat('0', 15))::uuid as id
     from generate_series(1, $1::int) n,
       lateral (select to_timestamp($2::float8 / 1000) + n * interval '28 days' / $1::int) t (at)`,
    [occurrences, from],
  );
  await sql.query(
    `insert into occurrences_${name} (organization_id, id, project_id, application_id, event_id, status, context, options,
       due_at, created_at, completed_at, deliveries, sent)
     select e.organization_id, f.id, 1, e.application_id, e.id, 'completed', '{"order": "A-1"}', '{}', f.at, f.at, f.at,
       $1::int, $1::int
     from filled f, events e`,
    [perOccurrence],
  );
  const partition = `deliveries_${name}`;
  const { rows } = await sql.query<{ bounds: string }>(
    `select pg_get_expr(relpartbound, oid) as bounds from pg_class where oid = $1::regclass`,
    [partition],
  );
  await sql.query(`alter table deliveries detach partition ${partition}`);
  await sql.query(`drop table ${partition}`);
  await sql.query(`create table ${partition} (like deliveries including defaults including constraints)`);
  // Months-old data has been vacuumed long ago.
  await sql.query(`alter table ${partition} set (autovacuum_enabled = false)`);
  await sql.query(
    `insert into ${partition} (organization_id, occurrence_id, notification_id, version, channel_id, user_id, address,
       status, priority, attempts, provider, due_at, created_at, sent_at)
     select e.organization_id, f.id, 1, 1, 1, f.n * $1::int + k, 'ann.' || k || '@bell.example.test', 'sent', 2, 1, 'smtp',
       f.at, f.at, f.at
     from filled f, events e, generate_series(1, $1::int) k`,
    [perOccurrence],
  );
  await sql.query(`alter table deliveries attach partition ${partition} ${rows[0]!.bounds}`);
  await sql.query('drop table filled');
  await sql.query(`analyze occurrences_${name}, deliveries_${name}`);
  // Months-old data is on disk and no longer in memory.
  await sql.query('checkpoint');
  await dropFromPageCache(sql, partition);
}

/** Evicts the table's files from the page cache: freeing it would be more than half of the time of the drop. */
async function dropFromPageCache(sql: pg.Client, table: string): Promise<void> {
  const { rows } = await sql.query<{ file: string }>(
    `select current_setting('data_directory') || '/' || pg_relation_filepath(oid) as file from pg_class
     where oid = $1::regclass or oid in (select indexrelid from pg_index where indrelid = $1::regclass)`,
    [table],
  );
  for (const { file } of rows) {
    const { dir, base } = path.parse(file);
    const segments = (await readdir(dir)).filter(name => name === base || name.startsWith(`${base}.`));
    for (const name of segments) {
      await promisify(execFile)('dd', [`if=${path.join(dir, name)}`, 'iflag=nocache', 'count=0', 'status=none']);
    }
  }
}

/** Returns the file system and whether it is mounted with `discard`, where deleting a file waits for the device. */
async function fileSystemOf(sql: pg.Client): Promise<string> {
  const { rows } = await sql.query<{ folder: string }>(`select current_setting('data_directory') as folder`);
  const folder = `${rows[0]!.folder}/`;
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').map(line => line.split(' '));
  const above = mounts.filter(([, at = '-']) => folder.startsWith(at.endsWith('/') ? at : `${at}/`));
  const [, , kind = 'unknown', options = ''] = above.sort((a, b) => a[1]!.length - b[1]!.length).at(-1) ?? [];
  return options.split(',').includes('discard') ? `${kind} mounted with discard` : kind;
}

/** Returns the size of the database and of its history in bytes, and the history rows deleted individually. */
async function measure(sql: pg.Client): Promise<{ all: number; history: number; deleted: number; dead: number }> {
  await sql.query('select pg_stat_clear_snapshot()');
  const { rows } = await sql.query<Record<'all' | 'history' | 'deleted' | 'dead', string>>(
    `select pg_database_size(current_database()) as all,
       sum(pg_total_relation_size(s.relid)) filter (where i.inhparent is not null) as history,
       coalesce(sum(s.n_tup_del) filter (where i.inhparent is not null), 0) as deleted,
       sum(s.n_dead_tup) as dead
     from pg_stat_user_tables s
     left join pg_inherits i on i.inhrelid = s.relid
       and i.inhparent in ('occurrences'::regclass, 'deliveries'::regclass)`,
  );
  const { all, history, deleted, dead } = rows[0]!;
  return { all: Number(all), history: Number(history), deleted: Number(deleted), dead: Number(dead) };
}

class Triggers {
  readonly #url: string;
  readonly #headers: Record<string, string>;

  constructor(url: string, key: string) {
    this.#url = url;
    this.#headers = { authorization: `Key ${key}`, 'content-type': 'application/json' };
  }

  /** Triggers at a steady rate, without waiting for responses. */
  async run(seconds: number): Promise<{ from: number; to: number }[]> {
    const times: Promise<{ from: number; to: number }>[] = [];
    const began = performance.now();
    for (let i = 0; i < seconds * perSecond; i++) {
      const wait = began + (i * 1_000) / perSecond - performance.now();
      if (wait > 0) await sleep(wait);
      times.push(this.#trigger());
    }
    return Promise.all(times);
  }

  async #trigger(): Promise<{ from: number; to: number }> {
    const from = performance.now();
    const body = JSON.stringify({ options: { recipients: ['ann@x.test'] } });
    const answer = await fetch(this.#url, { method: 'POST', headers: this.#headers, body });
    if (answer.status !== 201) throw new Error(`${answer.status}: ${await answer.text()}`);
    await answer.arrayBuffer();
    return { from, to: performance.now() };
  }
}
