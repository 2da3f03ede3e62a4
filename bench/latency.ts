/**
 * Measures the time from a client's request until a receiver in another process has the whole message: one at a time on an idle
 * service, and then at steady rates with its CPU time. The baseline is the CPU time of only storing triggers at the same rate
 * (peer-durable.ts), and of a queue that does what Belfry does without deciding anything (quiet.ts).
 */
import type { ChildProcess } from 'node:child_process';
import type pg from 'pg';
import { Agent } from 'undici';
import { compareQuietly } from './quiet.ts';
import { quantile, type Row, type Scenario } from './scenario.ts';
import { cpuMs, openPeer, openStage, postgresCpuMs } from './stage.ts';
import { inBursts, steady, warmUpMessages } from './steady.ts';
import { bodyOf, Stopwatch } from './stopwatch.ts';

/** Triggers per second, and how many times the CPU time of only storing a trigger a message may take. */
const rates = [
  { perSecond: 50, maxRatio: 3 },
  { perSecond: 200, maxRatio: 2.5 },
];
const secret = 'whsec_bWV0YWwgYmVsbHMgcmluZyBjbGVhcmx5';

export const latency: Scenario = {
  name: 'latency',
  summary: 'trigger to provider: one at a time, and at steady rates with one recipient each, by webhook and SMTP',
  async run({ quick }) {
    const [webhook, smtp] = await Promise.all([openPeer('./peer-webhook.ts'), openPeer('./peer-smtp.ts')]);
    let durable: ChildProcess | undefined;
    const hooks = { use: 'standard-webhooks', url: `http://127.0.0.1:${webhook.port}/`, secret };
    const mail = { use: 'smtp', host: '127.0.0.1', port: smtp.port, from: 'bench@x.test' };
    const stage = await openStage(
      [
        { slug: 'webhook', name: 'Webhook', type: 'webhook', providers: [hooks] },
        { slug: 'smtp', name: 'SMTP', type: 'email', providers: [mail] },
      ],
      [event('webhook'), event('smtp')],
    );
    const rows: Row[] = [];
    try {
      const service = await stage.start('all');
      const { address } = service;
      const cpu = async () => (await cpuMs(service)) + (await postgresCpuMs(stage.sql));
      const opened = await openPeer('./peer-durable.ts', { PEER_DATABASE_URL: stage.url });
      durable = opened.peer;
      const bare = await costOfStoring(`http://127.0.0.1:${opened.port}`, opened.peer, stage.sql, quick);
      for (const [name, peer] of [['webhook', webhook.peer] as const, ['smtp', smtp.peer] as const]) {
        const stopwatch = new Stopwatch(`${address}/api/o/bench/p/shop/a/web/e/${name}/trigger/`, stage.key);
        peer.on('message', n => stopwatch.arrived(n as number));
        for (let i = 0; i < 20; i++) await stopwatch.time();
        const alone: number[] = [];
        for (let i = 0; i < (quick ? 20 : 200); i++) alone.push(await stopwatch.time());
        rows.push({
          measure: `${name}, one at a time, median`,
          value: quantile(alone, 0.5),
          unit: 'ms',
          limit: { of: 'value', max: 100 },
        });
        await inBursts(() => stopwatch.time(), quick ? 100 : warmUpMessages);
        for (const { perSecond, maxRatio } of rates) {
          const send = (seconds: number) => steady(() => stopwatch.time(), perSecond, seconds);
          await send(quick ? 0.2 : 3);
          const before = await cpu();
          const times = await send(quick ? 1 : 15);
          const each = ((await cpu()) - before) / times.length;
          const rate = `${name}, ${perSecond}/s`;
          rows.push(
            { measure: `${rate}, p50`, value: quantile(times, 0.5), unit: 'ms' },
            { measure: `${rate}, p99`, value: quantile(times, 0.99), unit: 'ms' },
            {
              measure: `${rate}, CPU time per message`,
              value: each,
              unit: 'ms',
              baseline: bare.get(perSecond)!,
              limit: { of: 'ratio', max: maxRatio },
              note: 'of the service and PostgreSQL together; the baseline only stores the trigger',
            },
          );
        }
      }
    } finally {
      webhook.peer.disconnect();
      smtp.peer.disconnect();
      durable?.disconnect();
      await stage.close();
    }
    return [
      ...rows,
      ...(await compareQuietly(
        rates.map(({ perSecond }) => perSecond),
        quick,
      )),
    ];
  },
};

function event(slug: string) {
  const message = { subject: 'n {{ n }}', body: 'Order {{ n }} is on its way.' };
  const notification = { name: slug, recipients: { trigger: true }, channels: [slug], message };
  return { slug, name: slug, notifications: [notification] };
}

/** Returns the CPU time per stored trigger for each rate, in ms. */
async function costOfStoring(
  origin: string,
  peer: ChildProcess,
  sql: pg.Client,
  quick: boolean,
): Promise<Map<number, number>> {
  const agent = new Agent({ connections: 64 });
  let n = 0;
  const store = async () => {
    const { statusCode, body } = await agent.request({
      origin,
      path: '/api/o/bench/p/shop/a/web/e/webhook/trigger/',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: bodyOf(n++),
    });
    await body.dump();
    if (statusCode !== 201) throw new Error(`the baseline responded with ${statusCode}`);
    return 0;
  };
  const cpu = async () => (await cpuMs({ process: peer })) + (await postgresCpuMs(sql));
  try {
    await inBursts(store, quick ? 100 : warmUpMessages);
    const costs = new Map<number, number>();
    for (const { perSecond } of rates) {
      const before = await cpu();
      const stored = await steady(store, perSecond, quick ? 1 : 10);
      costs.set(perSecond, ((await cpu()) - before) / stored.length);
    }
    return costs;
  } finally {
    await agent.close();
  }
}
