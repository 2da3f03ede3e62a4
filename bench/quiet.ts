/**
 * Everyday messages at rates that leave little to batch: what a message costs Belfry, and what it costs Fastify with graphile-worker and
 * a ledger, by turns. Each has its own PostgreSQL, so that neither pays for what the other does while it waits.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { Agent } from 'undici';
import { lowestUuidAt } from '../src/core/ids.ts';
import { bodiesOf, type Contender, openBelfry, openEveryday, openQueue } from './everyday.ts';
import { alternate } from './load.ts';
import { quantile, type Row } from './scenario.ts';
import { cpuMs, postgresCpuMs, until } from './stage.ts';
import { inBursts, steady, warmUpMessages } from './steady.ts';
import { pathOf } from './triggers.ts';

const maxCpuRatio = 1.2;
const maxLaterMs = 2;
const timeoutMs = 60_000;

interface Round {
  /** CPU time of all processes and of PostgreSQL per message, in ms. */
  cpu: number;
  /** The 99th percentile of the time until the response, in ms. */
  answered: number;
  transactions: number;
  /** How often PostgreSQL waited for the disk. */
  syncs: number;
}

/** `quick` checks only that it works. */
export async function compareQuietly(rates: readonly number[], quick: boolean): Promise<Row[]> {
  const stages = await Promise.all([openEveryday(), openEveryday()]);
  const contenders: Contender[] = [];
  const agent = new Agent({ connections: 64 });
  try {
    contenders.push(await openBelfry(stages[0]));
    contenders.push(await openQueue(stages[1], './peer-graphile.ts', 'peer_graphile'));
    for (const one of contenders) await inBursts(triggerOf(one, agent), quick ? 100 : warmUpMessages);
    const rows: Row[] = [];
    for (const perSecond of rates) {
      const measures = contenders.map(one => () => measure(one, agent, perSecond, quick ? 1 : 10));
      const [ours, theirs] = await alternate(measures, quick ? 1 : 4);
      rows.push(...rowsOf(`one recipient each, ${perSecond}/s`, ours!, theirs!));
    }
    return rows;
  } finally {
    await agent.close();
    for (const { process } of contenders[1]?.processes ?? []) process.disconnect();
    await Promise.all(stages.map(stage => stage.close()));
  }
}

function rowsOf(rate: string, ours: Round[], theirs: Round[]): Row[] {
  const compare = (name: keyof Round) => {
    const [value, baseline] = [ours, theirs].map(rounds =>
      quantile(
        rounds.map(round => round[name]),
        0.5,
      ),
    );
    return { value: value!, baseline: baseline! };
  };
  const answered = compare('answered');
  const note = 'the baseline is graphile-worker; the median of alternating rounds';
  return [
    {
      measure: `${rate}, CPU time per message (vs. graphile-worker)`,
      ...compare('cpu'),
      unit: 'ms',
      limit: { of: 'ratio', max: maxCpuRatio },
      note: `of all processes and PostgreSQL together; ${note}`,
    },
    { measure: `${rate}, transactions per message`, ...compare('transactions'), unit: '', note },
    { measure: `${rate}, WAL syncs per message`, ...compare('syncs'), unit: '', note },
    {
      measure: `${rate}, trigger answered, p99`,
      ...answered,
      unit: 'ms',
      limit: { of: 'value', max: answered.baseline + maxLaterMs },
      note,
    },
  ];
}

async function measure(contender: Contender, agent: Agent, perSecond: number, seconds: number): Promise<Round> {
  const { stage, processes, isSent } = contender;
  const read = async () => {
    const cpu = await Promise.all([...processes.map(cpuMs), postgresCpuMs(stage.sql)]);
    return { cpu: cpu.reduce((sum, ms) => sum + ms, 0), ...(await readCounters(stage.sql)) };
  };
  const trigger = triggerOf(contender, agent);
  await steady(trigger, perSecond, Math.min(2, seconds));
  const since = lowestUuidAt(Date.now());
  const before = await read();
  const times = await steady(trigger, perSecond, seconds);
  await until('everything to be sent', () => isSent(since), timeoutMs, 100);
  const after = await read();
  const each = (name: keyof typeof after) => (after[name] - before[name]) / times.length;
  return {
    cpu: each('cpu'),
    answered: quantile(times, 0.99),
    transactions: each('transactions'),
    syncs: each('syncs'),
  };
}

/** PostgreSQL publishes its counters up to a second late, the same before and after. */
async function readCounters(sql: pg.Client): Promise<{ transactions: number; syncs: number }> {
  await sleep(1_000);
  const { rows } = await sql.query<{ transactions: number; syncs: number }>(
    `select (select xact_commit::float8 from pg_stat_database where datname = current_database()) as transactions,
       (select sum(fsyncs)::float8 from pg_stat_io where object = 'wal') as syncs`,
  );
  return rows[0]!;
}

/** Returns a function that triggers and returns the time until the response, in ms. */
function triggerOf({ origin, stage }: Contender, agent: Agent): () => Promise<number> {
  const bodies = bodiesOf('named');
  let n = 0;
  return async () => {
    const began = performance.now();
    const { statusCode, body } = await agent.request({
      origin,
      path: pathOf('named'),
      method: 'POST',
      headers: { authorization: `Key ${stage.key}`, 'content-type': 'application/json' },
      body: bodies[n++ % bodies.length]!,
    });
    await body.dump();
    if (statusCode !== 201) throw new Error(`the trigger got a ${statusCode}`);
    return performance.now() - began;
  };
}
