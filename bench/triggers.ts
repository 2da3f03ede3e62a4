/**
 * Triggers, each on disk before it is answered, as fast as 64 clients send them: beside the same framework checking the
 * same body and answering a constant, which stores nothing.
 */
import type pg from 'pg';
import { sandbox } from './fan-out.ts';
import { compare, openLoad, type Subject } from './load.ts';
import type { Scenario } from './scenario.ts';
import { openPeer, openStage, postgresMs, processorMs, type Stage } from './stage.ts';

const connections = 64;

export const triggers: Scenario = {
  name: 'triggers',
  summary: `triggers stored for good from ${connections} connections, beside the same framework answering a constant`,
  async run({ quick }) {
    const constant = await openPeer('./peer-constant.ts');
    const load = openLoad();
    const stage = await openStage([sandbox], [event('order')]).catch(error => {
      load.close();
      constant.peer.disconnect();
      throw error;
    });
    try {
      const api = await stage.start('api');
      const belfry: Subject = {
        job: triggerJob(stage, [api.address], [pathOf('order')]),
        processors: async () => ({
          api: await processorMs(api),
          database: await postgresMs(stage.sql),
        }),
      };
      const yardstick: Subject = {
        job: triggerJob(stage, [`http://127.0.0.1:${constant.port}`], [pathOf('order')]),
        processors: async () => ({ api: await processorMs({ process: constant.peer }) }),
      };
      const settings = quick ? { rounds: 2, seconds: 1, warmUp: 4_000 } : { rounds: 9, seconds: 3, warmUp: 20_000 };
      const { measured, spread } = await compare(load, [belfry, yardstick], settings);
      const [stored, bare] = measured;
      const failed = stored.failed + bare.failed;
      await requireStored(stage.sql, stored.created);
      return [
        {
          measure: 'triggers stored for good',
          value: stored.perSecond,
          unit: '/s',
          yardstick: bare.perSecond,
          limit: { of: 'ratio', least: 0.85 },
          note: `${spread}; as many occurrences as answers of 201`,
        },
        { measure: 'triggers that failed', value: failed, unit: '', limit: { of: 'value', most: 0 } },
        { measure: 'a trigger, p99', value: stored.p99, unit: 'ms', limit: { of: 'value', most: 50 } },
        {
          measure: 'processor time of the API for each',
          value: stored.processors.api!,
          unit: 'µs',
          yardstick: bare.processors.api!,
        },
        { measure: 'processor time of PostgreSQL for each', value: stored.processors.database!, unit: 'µs' },
      ];
    } finally {
      load.close();
      constant.peer.disconnect();
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

/** Neither more nor fewer than were promised. */
export async function requireStored(sql: pg.Client, answered: number, before = 0): Promise<void> {
  const stored = (await countOccurrences(sql)) - before;
  if (stored !== answered) throw new Error(`${answered} triggers were answered with 201, and ${stored} are stored`);
}

export async function countOccurrences(sql: pg.Client): Promise<number> {
  const { rows } = await sql.query<{ count: string }>('select count(*) from occurrences');
  return Number(rows[0]!.count);
}
