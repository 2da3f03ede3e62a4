/**
 * Triggers that are on disk before the response, as fast as 64 clients send them, compared with the minimum for durable triggers on
 * the same PostgreSQL (peer-durable.ts).
 */
import type { ChildProcess } from 'node:child_process';
import type pg from 'pg';
import { sandbox } from './fan-out.ts';
import { compare, openLoad, type Subject } from './load.ts';
import type { Scenario } from './scenario.ts';
import { cpuMs, openPeer, openStage, postgresCpuMs, type Stage } from './stage.ts';

const connections = 64;

export const triggers: Scenario = {
  name: 'triggers',
  summary: `triggers stored durably from ${connections} connections, vs. the minimum for durable triggers`,
  async run({ quick }) {
    const load = openLoad();
    const stage = await openStage([sandbox], [event('order')]).catch(error => {
      load.close();
      throw error;
    });
    let peer: ChildProcess | undefined;
    try {
      const api = await stage.start('api');
      const durable = await openPeer('./peer-durable.ts', { PEER_DATABASE_URL: stage.url });
      peer = durable.peer;
      const subject = (origin: string, running: { process: ChildProcess }): Subject => ({
        job: triggerJob(stage, [origin], [pathOf('order')]),
        cpu: async () => ({ api: await cpuMs(running), database: await postgresCpuMs(stage.sql) }),
      });
      const belfry = subject(api.address, api);
      const baseline = subject(`http://127.0.0.1:${durable.port}`, { process: peer });
      const settings = quick ? { rounds: 2, seconds: 1, warmUp: 4_000 } : { rounds: 9, seconds: 3, warmUp: 20_000 };
      const { measured, spread } = await compare(load, [belfry, baseline], settings);
      const [stored, bare] = measured;
      const failed = stored.failed + bare.failed;
      await requireStored(stage.sql, stored.created);
      await requireStored(stage.sql, bare.created, 0, 'durable');
      return [
        {
          measure: 'triggers stored durably',
          value: stored.perSecond,
          unit: '/s',
          baseline: bare.perSecond,
          limit: { of: 'ratio', min: 0.65 },
          note: `${spread}; as many occurrences as 201 responses`,
        },
        { measure: 'failed triggers', value: failed, unit: '', limit: { of: 'value', max: 0 } },
        { measure: 'trigger latency, p99', value: stored.p99, unit: 'ms', limit: { of: 'value', max: 50 } },
        {
          measure: 'CPU time of the API per trigger',
          value: stored.cpu.api!,
          unit: 'µs',
          baseline: bare.cpu.api!,
        },
        {
          measure: 'CPU time of PostgreSQL per trigger',
          value: stored.cpu.database!,
          unit: 'µs',
          baseline: bare.cpu.database!,
        },
      ];
    } finally {
      load.close();
      peer?.disconnect();
      await stage.close();
    }
  },
};

export function event(slug: string) {
  const message = { subject: 'Order {{ order }}', body: 'Hello {{ customer.name }}, your order comes to {{ total }}.' };
  const notification = { name: slug, recipients: { trigger: true }, channels: ['sandbox'], message };
  return { slug, name: slug, notifications: [notification] };
}

export function pathOf(event: string, project = 'shop', application = 'web'): string {
  return `/api/o/bench/p/${project}/a/${application}/e/${event}/trigger/`;
}

export function triggerJob(
  { key }: Pick<Stage, 'key'>,
  origins: string[],
  paths: string[],
  bodies = [triggerBody({ recipients: ['ann@x.test'] })],
): Subject['job'] {
  return {
    origins,
    paths,
    headers: { authorization: `Key ${key}`, 'content-type': 'application/json' },
    bodies,
    connections,
  };
}

export function triggerBody(options: { recipients?: string[] }): string {
  const context = { order: 'A-1042', total: 59.9, currency: 'EUR', customer: { name: 'Ann Bell', city: 'Bergen' } };
  return JSON.stringify({ context, options });
}

/** Fails unless exactly as many rows are stored as triggers were accepted. */
export async function requireStored(
  sql: pg.Client,
  answered: number,
  before = 0,
  table = 'occurrences',
): Promise<void> {
  const stored = (await countOccurrences(sql, table)) - before;
  if (stored !== answered) throw new Error(`${answered} triggers got a 201, but ${stored} are stored`);
}

export async function countOccurrences(sql: pg.Client, table = 'occurrences'): Promise<number> {
  const { rows } = await sql.query<{ count: string }>(`select count(*) from ${table}`);
  return Number(rows[0]!.count);
}
