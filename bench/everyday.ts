/**
 * The most common load: many triggers with one recipient each, from the request until the message is recorded as sent, with a
 * provider that does nothing. The baselines are popular queues on the same PostgreSQL with the same requests: graphile-worker
 * and pg-boss, each behind Fastify with a ledger of its messages.
 */
import type { ChildProcess } from 'node:child_process';
import { lowestUuidAt } from '../src/core/ids.ts';
import { addMembers, sandbox } from './fan-out.ts';
import { alternate, cpuPerItem, type Load, medianRound, openLoad } from './load.ts';
import { createMonths, fillAccepted, people } from './rows.ts';
import type { Row, Scenario } from './scenario.ts';
import { cpuMs, openPeer, openStage, postgresCpuMs, type Stage, until } from './stage.ts';
import { pathOf, triggerBody, triggerJob } from './triggers.ts';

const timeoutMs = 300_000;

/** The shapes of a trigger, and how many messages each one causes. */
const shapes = { named: 1, listed: 1, filtered: 2 };
type Shape = keyof typeof shapes;

const labels: Record<Shape, string> = {
  named: 'named in the trigger',
  listed: 'from a list of one',
  filtered: 'with a filter and two channels',
};

/** A service that accepts triggers and sends their messages. */
export interface Contender extends Ledger {
  stage: Stage;
  origin: string;
  processes: { process: ChildProcess }[];
}

export interface Round {
  /** Messages per second, from the first request until the last one is recorded as sent. */
  perSecond: number;
  /** CPU time per message, in µs. */
  cpu: Record<string, number>;
  /** What PostgreSQL wrote to its log, and by how much the database grew, per message. */
  walBytes: number;
  storedBytes: number;
}

export const everyday: Scenario = {
  name: 'everyday',
  summary:
    '10,000 (quick: 300) triggers with one recipient each until the last message is recorded as sent (vs. graphile-worker and pg-boss)',
  async run({ quick, log }) {
    const [triggers, warmUp, rounds] = quick ? [300, 100, 1] : [10_000, 3_000, 5];
    const load = openLoad();
    const peers: ChildProcess[] = [];
    let stage: Stage | undefined;
    try {
      stage = await openEveryday();
      const belfry = await openBelfry(stage);
      const open = async (file: string, schema: string) => {
        const peer = await openQueue(stage!, file, schema);
        peers.push(...peer.processes.map(({ process }) => process));
        return peer;
      };
      const graphile = await open('./peer-graphile.ts', 'peer_graphile');
      const boss = await open('./peer-pgboss.ts', 'peer_pgboss');
      const rows: Row[] = [];
      for (const shape of Object.keys(shapes) as Shape[]) {
        const contenders = shape === 'named' ? [belfry, graphile, boss] : [belfry, graphile];
        for (const contender of contenders) await endToEnd(load, contender, shape, warmUp);
        // For all contenders, as autovacuum would leave it after the first minutes.
        await stage.sql.query('analyze');
        log(`${labels[shape]}: ${rounds} × ${triggers.toLocaleString('en')} triggers`);
        const [ours, theirs, bossed] = await alternate(
          contenders.map(contender => () => endToEnd(load, contender, shape, triggers)),
          rounds,
        );
        rows.push(...rowsOf(shape, ours!, theirs!, bossed));
      }
      for (const peer of peers.splice(0)) peer.disconnect();
      log('triggers while sending');
      return [...rows, ...(await acceptWhileSending(load, belfry, { triggers, warmUp, rounds }))];
    } finally {
      load.close();
      for (const peer of peers) peer.disconnect();
      await stage?.close();
    }
  },
};

function rowsOf(shape: Shape, ours: Round[], theirs: Round[], bossed?: Round[]): Row[] {
  const measure = `one recipient each, ${labels[shape]}`;
  const { measured, spread } = medianRound(ours, theirs);
  const [own, other] = measured;
  const rows: Row[] = [
    {
      measure: `${measure} (vs. graphile-worker)`,
      value: own.perSecond,
      unit: 'messages/s',
      baseline: other.perSecond,
      limit: { of: 'ratio', min: 4.5 },
      note: spread,
    },
  ];
  if (!bossed) return rows;
  const compared = medianRound(ours, bossed);
  const boss = compared.measured[1];
  const note = 'the baseline is pg-boss';
  return [
    ...rows,
    {
      measure: `${measure} (vs. pg-boss)`,
      value: compared.measured[0].perSecond,
      unit: 'messages/s',
      baseline: compared.measured[1].perSecond,
      limit: { of: 'ratio', min: 1.3 },
      note: compared.spread,
    },
    {
      measure: 'CPU time of PostgreSQL per message',
      value: own.cpu.database!,
      unit: 'µs',
      baseline: boss.cpu.database!,
      limit: { of: 'ratio', max: 0.7 },
      note,
    },
    {
      measure: 'CPU time of the service per message',
      value: own.cpu.service!,
      unit: 'µs',
      baseline: boss.cpu.service!,
      note,
    },
    { measure: 'WAL per message', value: own.walBytes, unit: 'bytes', baseline: boss.walBytes, note },
    {
      measure: 'growth of the database per message',
      value: own.storedBytes,
      unit: 'bytes',
      baseline: boss.storedBytes,
      note,
    },
  ];
}

/** Measures accepting triggers while a large backlog is sent, compared with an API that sends nothing, on its own database. */
async function acceptWhileSending(
  load: Load,
  { stage, origin, isSent, countSent }: Contender,
  { triggers, warmUp, rounds }: { triggers: number; warmUp: number; rounds: number },
): Promise<Row[]> {
  const alone = await openEveryday();
  try {
    await createMonths(alone);
    const { address } = await alone.start('api');
    const accept = async (at: Stage, to: string, amount: number, onLastResponse?: () => void) => {
      const job = triggerJob(at, [to], [pathOf('named')], bodiesOf('named'));
      const { stats, perSecond } = await load.run({ ...job, amount }, onLastResponse);
      const created = stats.statusCodeStats['201']?.count ?? 0;
      if (created !== amount) throw new Error(`${created} of ${amount} triggers got a 201`);
      return { perSecond, p99: stats.latency.p99, sentMeanwhile: 0 };
    };
    const whileSending = async () => {
      const since = lowestUuidAt(Date.now());
      await fillAccepted(stage, 3 * triggers);
      let backlogLeft: Promise<{ rows: { left: boolean }[] }> | undefined;
      const began = performance.now();
      const accepted = await accept(stage, origin, triggers, () => {
        backlogLeft = stage.sql.query(`select exists (select from occurrences where status = 'accepted') as left`);
      });
      const sentMeanwhile = (await countSent(since)) / ((performance.now() - began) / 1_000);
      if (!(await backlogLeft)?.rows[0]?.left)
        throw new Error('the backlog was sent before all triggers were accepted');
      await until('everything to be sent', () => isSent(since), timeoutMs);
      return { ...accepted, sentMeanwhile };
    };
    await accept(alone, address, warmUp);
    const [busy, free] = await alternate([whileSending, () => accept(alone, address, triggers)], rounds);
    const { measured, spread } = medianRound(busy!, free!);
    const [own, other] = measured;
    return [
      {
        measure: 'triggers accepted while sending at full speed (vs. API alone)',
        value: own.perSecond,
        unit: '/s',
        baseline: other.perSecond,
        limit: { of: 'ratio', min: 0.5 },
        note: `${spread}; sent ${Math.round(own.sentMeanwhile).toLocaleString('en')} messages/s meanwhile`,
      },
      { measure: 'trigger latency meanwhile, p99', value: own.p99, unit: 'ms', limit: { of: 'value', max: 50 } },
    ];
  } finally {
    await alone.close();
  }
}

/** Opens a stage with the events of every shape, and users that triggers can name. */
export async function openEveryday(): Promise<Stage> {
  const stage = await openStage(
    [sandbox, { ...sandbox, slug: 'second', name: 'Second' }],
    Object.keys(shapes).map(event),
    {
      distribution_lists: [{ name: 'one' }, { name: 'people' }],
    },
  );
  await addMembers(stage.sql, 'one', 1);
  await addMembers(stage.sql, 'people', people);
  return stage;
}

function event(slug: string) {
  const message = { subject: 'Order {{ order }}', body: 'Hello {{ customer.name }}, your order comes to {{ total }}.' };
  const notification = {
    name: slug,
    recipients: slug === 'listed' ? { list: 'one' } : { trigger: true },
    channels: slug === 'filtered' ? ['sandbox', 'second'] : ['sandbox'],
    message,
    ...(slug === 'filtered' && { filter: 'total > `10`' }),
  };
  return { slug, name: slug, notifications: [notification] };
}

/** Reads what is recorded about messages. */
export interface Ledger {
  /** Returns whether everything from `since` up to `before` is sent. */
  isSent(since: string, before?: string): Promise<boolean>;
  countSent(since: string): Promise<number>;
}

export async function openLedger({ sql }: Stage): Promise<Ledger> {
  const { rows } = await sql.query<{ id: string }>(`select id from organizations where slug = 'bench'`);
  const organization = rows[0]!.id;
  return {
    async isSent(since, before = lastUuid) {
      // Newest first: as long as something is left, a row is found quickly and the check costs little.
      const { rows } = await sql.query({
        name: 'is_sent',
        text: `
          select from occurrences where organization_id = $1 and id >= $2 and id < $3 and status <> 'completed'
          order by organization_id desc, id desc limit 1`,
        values: [organization, since, before],
      });
      return rows.length === 0;
    },
    async countSent(since) {
      const { rows } = await sql.query<{ count: number }>(
        `select count(*)::int from deliveries where organization_id = $1 and occurrence_id >= $2 and status = 'sent'`,
        [organization, since],
      );
      return rows[0]!.count;
    },
  };
}

const lastUuid = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Starts Belfry with its defaults: all roles in one process. */
export async function openBelfry(stage: Stage, env: Record<string, string> = {}): Promise<Contender> {
  const service = await stage.start('all', env);
  return { stage, origin: service.address, processes: [service], ...(await openLedger(stage)) };
}

/** Starts a queue behind an API, one process each. */
export async function openQueue(stage: Stage, file: string, schema: string): Promise<Contender> {
  const env = { PEER_DATABASE_URL: stage.url, PEER_SCHEMA: schema };
  const api = await openPeer(file, { ...env, PEER_ROLE: 'api' });
  const worker = await openPeer(file, { ...env, PEER_ROLE: 'worker' });
  const query = async <Result>(text: string, since: string) => (await stage.sql.query(text, [since])).rows as Result[];
  return {
    stage,
    origin: `http://127.0.0.1:${api.port}`,
    processes: [{ process: api.peer }, { process: worker.peer }],
    async isSent(since) {
      const text = `
        select from ${schema}.ledger where occurrence >= $1 and sent_at is null
        order by occurrence desc, channel desc limit 1`;
      return (await query(text, since)).length === 0;
    },
    async countSent(since) {
      const text = `select count(*)::int from ${schema}.ledger where occurrence >= $1 and sent_at is not null`;
      const [row] = await query<{ count: number }>(text, since);
      return row!.count;
    },
  };
}

export async function endToEnd(load: Load, contender: Contender, shape: Shape, triggers: number): Promise<Round> {
  const { stage, origin, processes, isSent, countSent } = contender;
  const messages = triggers * shapes[shape];
  const cpu = async () => {
    const each = await Promise.all(processes.map(cpuMs));
    return { service: each.reduce((sum, ms) => sum + ms, 0), database: await postgresCpuMs(stage.sql) };
  };
  const before = await cpu();
  const disk = await readDisk(stage);
  const since = lowestUuidAt(Date.now());
  let sent = Promise.resolve(0);
  const job = { ...triggerJob(stage, [origin], [pathOf(shape)], bodiesOf(shape)), amount: triggers };
  const { stats, beganAt } = await load.run(job, () => {
    sent = until(`${messages} messages`, () => isSent(since), timeoutMs, 20).then(() => Date.now());
    // Awaited below; an early rejection must not end the process.
    sent.catch(() => {});
  });
  const created = stats.statusCodeStats['201']?.count ?? 0;
  if (created !== triggers) throw new Error(`${created} of ${triggers} triggers got a 201`);
  const seconds = ((await sent) - beganAt) / 1_000;
  const used = cpuPerItem(await cpu(), before, messages);
  const counted = await countSent(since);
  if (counted !== messages) throw new Error(`${counted} of ${messages} messages are recorded as sent`);
  const { wal, size } = await readDisk(stage);
  return {
    perSecond: messages / seconds,
    cpu: used,
    walBytes: (wal - disk.wal) / messages,
    storedBytes: (size - disk.size) / messages,
  };
}

async function readDisk({ sql }: Stage): Promise<{ wal: number; size: number }> {
  const { rows } = await sql.query<{ wal: number; size: number }>(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as wal,
       pg_database_size(current_database())::float8 as size`,
  );
  return rows[0]!;
}

export function bodiesOf(shape: Shape): string[] {
  if (shape === 'listed') return [triggerBody({})];
  return Array.from({ length: people }, (_, i) => triggerBody({ recipients: [`people${i + 1}@x.test`] }));
}
