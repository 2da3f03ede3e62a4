/**
 * What PostgreSQL spends on the statements of one message: accept as decided, settle, in batches of several sizes. It is the CPU time
 * of the connections themselves, so a busy machine disturbs it little. Compared with databases that differ in one thing: a year of
 * monthly partitions, and no indexes but the keys, which is the most that a separate queue table could save.
 */
import { readFile } from 'node:fs/promises';
import type pg from 'pg';
import { uuidv7 } from '../src/core/ids.ts';
import { type Database, indexScansOnly, openDatabase } from '../src/db/connection/pool.ts';
import { storeDecidedAcrossTenants } from '../src/db/ledger/accept/decided.ts';
import { settleDeliveriesAcrossTenants } from '../src/db/ledger/deliver/deliveries.ts';
import { quantile, type Row, type Scenario } from './scenario.ts';
import { openStage, type Stage } from './stage.ts';

const batches = [1, 20, 300];

/** Databases by how they differ from a new one. */
const variants = {
  new: 'select',
  year: `do $$ declare month int; begin
    for month in 1..12 loop
      execute format('create table occurrences_y%s partition of occurrences for values from (%L) to (%L)', month,
        lpad(to_hex(month), 8, '0') || '-0000-0000-0000-000000000000', lpad(to_hex(month + 1), 8, '0') || '-0000-0000-0000-000000000000');
      execute format('create table deliveries_y%s partition of deliveries for values from (%L) to (%L)', month,
        lpad(to_hex(month), 8, '0') || '-0000-0000-0000-000000000000', lpad(to_hex(month + 1), 8, '0') || '-0000-0000-0000-000000000000');
    end loop; end $$`,
  bare: `do $$ declare name text; begin
    for name in select i.indexrelid::regclass from pg_index i join pg_class c on c.oid = i.indexrelid
      where i.indrelid in ('occurrences'::regclass, 'deliveries'::regclass) and not i.indisunique loop
      execute format('drop index %s', name);
    end loop; end $$`,
};
type Variant = keyof typeof variants;

interface Subject {
  stage: Stage;
  /** As the engine connects. */
  engine: Connection;
}

interface Connection {
  pool: pg.Pool;
  cpuUs(): Promise<number>;
  close: Database['close'];
}

export const ledger: Scenario = {
  name: 'ledger',
  summary:
    'CPU time of PostgreSQL for the statements of one message, in batches of 1, 20 and 300, and with a year of history',
  async run({ quick }) {
    const subjects = new Map<Variant, Subject>();
    try {
      for (const variant of Object.keys(variants) as Variant[]) subjects.set(variant, await open(variant));
      const rows: Row[] = [];
      for (const batch of batches) {
        const spent = new Map<Variant, number[]>([...subjects.keys()].map(variant => [variant, []]));
        const before = await walBytes(subjects.get('new')!);
        const rounds = quick ? 8 : Math.max(40, 4_000 / batch);
        for (let round = 0; round < rounds; round++) {
          for (const [variant, subject] of subjects) spent.get(variant)!.push((await send(subject, batch)) / batch);
        }
        const wal = ((await walBytes(subjects.get('new')!)) - before) / (rounds * batch);
        // The first rounds plan their statements.
        const median = (variant: Variant) => quantile(spent.get(variant)!.slice(rounds / 4), 0.5);
        rows.push(
          {
            measure: `batches of ${batch}, with partitions of a year`,
            value: median('year'),
            unit: 'µs',
            baseline: median('new'),
            limit: { of: 'ratio', max: 1.15 },
            note: 'the baseline is a new database',
          },
          {
            measure: `batches of ${batch}, without indexes`,
            value: median('bare'),
            unit: 'µs',
            baseline: median('new'),
            note: `the baseline has them, and writes ${Math.round(wal).toLocaleString('en')} bytes of WAL per message`,
          },
        );
      }
      return rows;
    } finally {
      for (const { engine, stage } of subjects.values()) {
        await engine.close();
        await stage.close();
      }
    }
  },
};

async function open(variant: Variant): Promise<Subject> {
  const stage = await openStage([], []);
  await stage.sql.query(variants[variant]);
  return { stage, engine: await connect(stage) };
}

async function connect({ url }: Stage): Promise<Connection> {
  const { pool, close } = openDatabase({ url, name: 'bench', connections: 1, settings: indexScansOnly });
  const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid');
  // In ns, while /proc/PID/stat counts in hundredths of a second.
  const cpuUs = async () => Number((await readFile(`/proc/${rows[0]!.pid}/schedstat`, 'utf8')).split(' ')[0]) / 1_000;
  return { pool, cpuUs, close };
}

/** Accepts and settles a batch of messages, and returns the CPU time in µs. */
async function send({ engine }: Subject, batch: number): Promise<number> {
  const created_at = new Date();
  const occurrences = Array.from({ length: batch }, (_, i) => ({
    ...{ organization_id: 1, id: uuidv7(Date.now()), project_id: 1, application_id: 1, event_id: 1, priority: 1 },
    ...{ context: { order: i, customer: 'Ann' }, options: { recipients: ['ann@x.test'] }, created_at },
  }));
  const before = await engine.cpuUs();
  const decided = occurrences.map((trigger, i) => {
    const { organization_id, id } = trigger;
    const deliveries = [
      {
        ...{ notification_id: 1, version: 1, channel_id: 1, user_id: i + 1, address: 'ann@x.test', priority: 1 },
        ...{ status: 'sending' as const, reason: null, detail: null, due_at: null, user_version: 1, digest_id: null },
      },
    ];
    const page = { organization_id, id, event_id: 1, priority: 1, cursor: null, reason: null, deliveries };
    return { trigger, page };
  });
  const { stored } = await storeDecidedAcrossTenants(engine.pool, 1, decided);
  if (stored.length !== batch) throw new Error(`${stored.length} of ${batch} messages were stored`);
  const { settled } = await settleDeliveriesAcrossTenants(
    engine.pool,
    stored.map(({ delivery: { organization_id, occurrence_id, id } }) => ({
      ...{ organization_id, occurrence_id, id, digest_id: null, attempts: 1, tried: true, status: 'sent' as const },
      ...{ reason: null, detail: null, provider: 'smtp', provider_message_id: null, provider_index: 0, due_at: null },
      ...{ provider_attempts: 1, snapshot_id: null, user_version: null, attempt: { began_at: created_at, ms: 1 } },
      ...{ event_id: 1, since: created_at },
    })),
  );
  if (settled !== batch) throw new Error(`${settled} of ${batch} messages were settled`);
  return (await engine.cpuUs()) - before;
}

async function walBytes({ stage }: Subject): Promise<number> {
  const text = `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as bytes`;
  return (await stage.sql.query<{ bytes: number }>(text)).rows[0]!.bytes;
}
