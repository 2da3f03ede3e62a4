/**
 * How long the small triggers of one organization take while another one sends triggers of 1 MiB as fast as they are
 * answered: beside the same small triggers on a quiet service, in the same run.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'undici';
import { sandbox } from './fan-out.ts';
import { type Load, openLoad } from './load.ts';
import { quantile, type Row, type Scenario } from './scenario.ts';
import { openStage, type Stage, until } from './stage.ts';
import { event, triggerBody } from './triggers.ts';

const perSecond = 50;
const connections = [4, 64];
const neighbour = 'neighbour';
const mebibyte = 2 ** 20;

export const fairness: Scenario = {
  name: 'fairness',
  summary: `${perSecond} small triggers/s beside another organization's triggers of 1 MiB from ${connections.join(' and ')} connections`,
  async run({ quick, log }) {
    const stage = await openStage([sandbox], [event('order')]);
    try {
      const key = await stage.addOrganization(neighbour);
      const { address } = await stage.start('all');
      const measure = (seconds: number) => steady(address, stage.key, seconds);
      const seconds = quick ? 2 : 20;
      await measure(quick ? 2 : 10);
      const rows: Row[] = [];
      const quiet = await measure(seconds);
      for (const count of connections) {
        const stored = await countLarge(stage);
        const load = openLoad();
        const began = performance.now();
        let times: number[];
        try {
          sendLarge(load, address, key, count);
          await until('triggers of 1 MiB', async () => (await countLarge(stage)) > stored + 2, 30_000);
          times = await measure(seconds);
        } finally {
          load.close();
        }
        const accepted = ((await countLarge(stage)) - stored) / ((performance.now() - began) / 1_000);
        if (accepted === 0) throw new Error('no trigger of 1 MiB was stored');
        log(`${count} connections: ${accepted.toFixed(1)} triggers of 1 MiB/s`);
        rows.push(...rowsOf(`beside ${count} connections`, times, quiet));
        rows.push({ measure: `triggers of 1 MiB from ${count} connections`, value: accepted, unit: '/s' });
        // What the neighbour left to send does not count for the next round.
        await until('the occurrences to be expanded', async () => !(await hasOpen(stage)), 60_000);
      }
      return rows;
    } finally {
      await stage.close();
    }
  },
};

function rowsOf(measure: string, times: number[], quiet: number[]): Row[] {
  return [0.5, 0.99].map(part => ({
    measure: `a small trigger ${measure}, ${part === 0.5 ? 'p50' : 'p99'}`,
    value: quantile(times, part),
    unit: 'ms',
    baseline: quantile(quiet, part),
    ...(part === 0.99 && { limit: { of: 'ratio' as const, max: 4 } }),
  }));
}

/** Goes on until the load is closed: what is refused is sent again, as an attacker would. */
function sendLarge(load: Load, origin: string, key: string, connections: number): void {
  const job = {
    origins: [origin],
    paths: [`/api/o/${neighbour}/p/shop/a/web/e/order/trigger/`],
    headers: { authorization: `Key ${key}`, 'content-type': 'application/json' },
    bodies: [textBody(), tableBody()],
    connections,
    amount: 1_000_000,
  };
  load.run(job).catch(() => {});
}

export function textBody(): string {
  return JSON.stringify({ context: { text: 'Lorem ipsum dolor sit amet. '.repeat(mebibyte / 28 - 2) } });
}

export function tableBody(): string {
  const row = (n: number) => ({ n, name: `Article ${n}`, price: n * 1.1, text: 'x'.repeat(140) });
  return JSON.stringify({ context: { rows: Array.from({ length: 4_950 }, (_, n) => row(n)) } });
}

/** Evenly for so many seconds, whatever becomes of them; the time of each in ms. */
export async function steady(origin: string, key: string, seconds: number): Promise<number[]> {
  const agent = new Agent({ connections: 64 });
  const body = triggerBody({});
  const times: Promise<number>[] = [];
  const time = async () => {
    const began = performance.now();
    const response = await agent.request({
      origin,
      path: '/api/o/bench/p/shop/a/web/e/order/trigger/',
      method: 'POST',
      headers: { authorization: `Key ${key}`, 'content-type': 'application/json' },
      body,
    });
    await response.body.dump();
    if (response.statusCode !== 201) throw new Error(`a small trigger was answered with ${response.statusCode}`);
    return performance.now() - began;
  };
  const began = performance.now();
  for (let i = 0; i < seconds * perSecond; i++) {
    const wait = began + (i * 1_000) / perSecond - performance.now();
    if (wait > 0) await sleep(wait);
    times.push(time());
  }
  return Promise.all(times).finally(() => agent.close());
}

export async function countLarge({ sql }: Stage): Promise<number> {
  const { rows } = await sql.query<{ count: string }>(
    `select count(*) from occurrences where organization_id = (select id from organizations where slug = $1)`,
    [neighbour],
  );
  return Number(rows[0]!.count);
}

async function hasOpen({ sql }: Stage): Promise<boolean> {
  const { rows } = await sql.query<{ open: boolean }>(
    `select exists (select 1 from occurrences where status in ('accepted', 'expanding')) as open`,
  );
  return rows[0]!.open;
}
