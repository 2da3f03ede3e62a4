/**
 * From a trigger to its provider: the time between the client's request and the moment at which a peer in another process
 * has the whole message. One at a time on an idle service, and then a steady stream, with what it costs: beside what it
 * costs at the same pace to store the triggers and nothing else (peer-durable.ts).
 */
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { Agent } from 'undici';
import { quantile, type Row, type Scenario } from './scenario.ts';
import { openPeer, openStage, postgresMs, processorMs } from './stage.ts';

const perSecond = 200;
const secret = 'whsec_bWV0YWwgYmVsbHMgcmluZyBjbGVhcmx5';
const timeoutMs = 30_000;
/** As many as a service has seen after half a minute: until then much of it is interpreted. */
const warmUp = { messages: 5_000, atOnce: 50 };

export const latency: Scenario = {
  name: 'latency',
  summary: `trigger to provider: one at a time, and ${perSecond} triggers/s with one recipient each, by webhook and by SMTP`,
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
      const processors = async () => (await processorMs(service)) + (await postgresMs(stage.sql));
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
          limit: { of: 'value', most: 100 },
        });
        await inBursts(() => stopwatch.time(), quick ? 100 : warmUp.messages);
        await steady(() => stopwatch.time(), quick ? 0.2 : 3);
        const before = await processors();
        const stream = await steady(() => stopwatch.time(), quick ? 1 : 15);
        const each = ((await processors()) - before) / stream.length;
        const limits = { p50: 8, p99: 40 };
        rows.push(
          ...([0.5, 0.99] as const).map(part => {
            const quantileName = part === 0.5 ? 'p50' : 'p99';
            const limit = { of: 'value' as const, most: limits[quantileName] };
            return {
              measure: `${name}, ${perSecond}/s, ${quantileName}`,
              value: quantile(stream, part),
              unit: 'ms',
              limit,
            };
          }),
          {
            measure: `${name}, ${perSecond}/s, processor time for each message`,
            value: each,
            unit: 'ms',
            yardstick: bare,
            limit: { of: 'value', most: 1 },
            note: 'of the service and PostgreSQL together; the yardstick stores the trigger, and that is all it does',
          },
        );
      }
      return rows;
    } finally {
      webhook.peer.disconnect();
      smtp.peer.disconnect();
      durable?.disconnect();
      await stage.close();
    }
  },
};

function event(slug: string) {
  const message = { subject: 'n {{ n }}', body: 'Order {{ n }} is on its way.' };
  const notification = { name: slug, recipients: { trigger: true }, channels: [slug], message };
  return { slug, name: slug, notifications: [notification] };
}

/** In ms of processor for each trigger that is stored, at the same pace. */
async function costOfStoring(origin: string, peer: ChildProcess, sql: pg.Client, quick: boolean): Promise<number> {
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
    if (statusCode !== 201) throw new Error(`the yardstick answered with ${statusCode}`);
    return 0;
  };
  const processors = async () => (await processorMs({ process: peer })) + (await postgresMs(sql));
  try {
    await inBursts(store, quick ? 100 : warmUp.messages);
    const before = await processors();
    const stored = await steady(store, quick ? 1 : 10);
    return ((await processors()) - before) / stored.length;
  } finally {
    await agent.close();
  }
}

function bodyOf(n: number): string {
  return JSON.stringify({ context: { n }, options: { recipients: ['ann@x.test'] } });
}

async function inBursts(trigger: () => Promise<number>, messages: number): Promise<void> {
  for (let sent = 0; sent < messages; sent += warmUp.atOnce) {
    await Promise.all(Array.from({ length: warmUp.atOnce }, trigger));
  }
}

/** Triggers evenly for so many seconds, whatever becomes of them; then waits for the last. */
async function steady(trigger: () => Promise<number>, seconds: number): Promise<number[]> {
  const times: Promise<number>[] = [];
  const began = performance.now();
  for (let i = 0; i < seconds * perSecond; i++) {
    const wait = began + (i * 1_000) / perSecond - performance.now();
    if (wait > 0) await sleep(wait);
    times.push(trigger());
  }
  return Promise.all(times);
}

class Stopwatch {
  readonly #url: string;
  readonly #key: string;
  readonly #agent = new Agent({ connections: 64 });
  readonly #waiting = new Map<number, (at: number) => void>();
  #next = 0;

  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  arrived(n: number): void {
    this.#waiting.get(n)?.(performance.now());
    this.#waiting.delete(n);
  }

  /** In milliseconds, from the request until the peer has the message. */
  async time(): Promise<number> {
    const n = this.#next++;
    const began = performance.now();
    const arrival = new Promise<number>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`message ${n} did not arrive`)), timeoutMs);
      this.#waiting.set(n, at => {
        clearTimeout(timer);
        resolve(at);
      });
    });
    const { origin, pathname } = new URL(this.#url);
    const [response, at] = await Promise.all([
      this.#agent.request({
        origin,
        path: pathname,
        method: 'POST',
        headers: { authorization: `Key ${this.#key}`, 'content-type': 'application/json' },
        body: bodyOf(n),
      }),
      arrival,
    ]);
    await response.body.dump();
    if (response.statusCode !== 201) throw new Error(`the trigger was answered with ${response.statusCode}`);
    return at - began;
  }
}
