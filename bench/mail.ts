/**
 * A campaign: one trigger to a long list, as mails of 5 kB over SMTP to a sink in another process. Decided, written for each
 * recipient in the usual layout, sent, and on record. Beside it nodemailer's pool alone, which sends messages that are composed already.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type pg from 'pg';
import { crowd, fan } from './fan-out.ts';
import { byTurns, medianRound, microsecondsEach } from './load.ts';
import type { Order } from './peer-pool.ts';
import type { Row, Scenario } from './scenario.ts';
import { openPeer, openStage, postgresMs, processorMs } from './stage.ts';

/** What the smtp provider takes when its settings name none. */
export const connections = 5;
/** Until most of it has been compiled. */
const warmUp = 1_500;

interface Sent {
  perSecond: number;
  /** For each mail, in µs. */
  processors: Record<string, number>;
  bytes: number;
  sinkMs: number;
}

const message = {
  subject: 'Hello {{ user.first_name }}, order {{ n }} is on its way',
  body: `Hello {{ user.first_name }},

your order **{{ n }}** has left our house and is on its way to you. You will hear from us at {{ user.email }}.

[Follow your parcel](https://shop.x.test/orders/{{ n }}?for={{ user.email }})

Thank you for buying from us!`,
};

export const mail: Scenario = {
  name: 'mail',
  summary:
    'a list of 20,000 (quick: 1,000) as mails of 5 kB over SMTP, beside nodemailer’s pool with finished messages',
  async run({ quick }) {
    const size = quick ? 1_000 : 20_000;
    const [sink, pool] = await Promise.all([openSink(), openPeer('./peer-pool.ts')]);
    const distribution_lists = [{ name: 'all' }, { name: 'few' }];
    const stage = await openStage([channel(sink.port)], [event('all'), event('few')], { distribution_lists });
    try {
      await crowd(stage.sql, 'all', size);
      await crowd(stage.sql, 'few', warmUp);
      await asNew(stage.sql);
      const api = await stage.start('api');
      const worker = await stage.start('worker');
      const used = async () => ({
        service: (await processorMs(api)) + (await processorMs(worker)),
        database: await postgresMs(stage.sql),
      });
      await fan(stage, api.address, 'few', warmUp);
      const { kept: raw } = await sink.tally(warmUp);
      const campaign = async (): Promise<Sent> => {
        const before = await used();
        const perSecond = await fan(stage, api.address, 'all', size);
        const processors = microsecondsEach(await used(), before, size);
        return { perSecond, processors, ...(await sink.tally(size)) };
      };
      const bare = async (mails = size): Promise<Sent> => {
        const order: Order = { port: sink.port, connections, mails, raw };
        const done = await ask<{ perSecond: number; processorMs: number }>(pool.peer, order);
        const processors = microsecondsEach({ service: done.processorMs }, { service: 0 }, mails);
        return { perSecond: done.perSecond, processors, ...(await sink.tally(mails)) };
      };
      await bare(warmUp);
      const [ours, theirs] = await byTurns([campaign, bare], quick ? 1 : 3);
      const { measured, spread } = medianRound(ours!, theirs!);
      const [own, other] = measured;
      const { service, database } = own.processors as { service: number; database: number };
      const rows: Row[] = [
        {
          measure: `mails to ${size.toLocaleString('en')}`,
          value: own.perSecond,
          unit: 'mails/s',
          yardstick: other.perSecond,
          limit: { of: 'ratio', least: 2 },
          note:
            `${spread}; ${Math.round(own.bytes / size).toLocaleString('en')} bytes each, ${connections} connections; ` +
            `the sink takes ${Math.round((own.sinkMs * 1_000) / size)} µs of a processor for each`,
        },
        {
          measure: 'processor time for each mail',
          value: service + database,
          unit: 'µs',
          limit: { of: 'value', most: 160 },
          note: `of the service ${Math.round(service)} µs and of PostgreSQL ${Math.round(database)} µs`,
        },
        {
          measure: 'processor time of the service for each mail',
          value: service,
          unit: 'µs',
          yardstick: other.processors.service!,
        },
      ];
      return rows;
    } finally {
      pool.peer.disconnect();
      await stage.close();
      sink.close();
    }
  },
};

/** Also without statistics, as a service that has just been set up. */
export async function asNew(sql: pg.Client): Promise<void> {
  await sql.query('truncate deliveries');
}

export function channel(port: number) {
  const smtp = { use: 'smtp', host: '127.0.0.1', port, from: 'Acme Shop <bench@x.test>' };
  return { slug: 'mail', name: 'Mail', type: 'email', providers: [smtp] };
}

/** To the list of the same name. */
export function event(slug: string) {
  const notification = { name: slug, recipients: { list: slug }, channels: ['mail'], message };
  return { slug, name: slug, notifications: [notification] };
}

export async function openSink() {
  const { peer, port } = await openPeer('./peer-sink.ts');
  return {
    port,
    /** What came since the last time, which must be one mail for each of so many recipients. */
    async tally(size: number) {
      interface Tally {
        mails: number;
        bytes: number;
        recipients: number;
        kept: string[];
        processorMs: number;
      }
      const { mails, recipients, processorMs: sinkMs, ...rest } = await ask<Tally>(peer, {});
      if (mails !== size || recipients !== size) {
        throw new Error(`the sink got ${mails} mails for ${recipients} of ${size} recipients`);
      }
      return { ...rest, sinkMs };
    },
    close: () => peer.disconnect(),
  };
}

async function ask<Answer>(peer: ChildProcess, question: object): Promise<Answer> {
  peer.send(question);
  const [answer] = await once(peer, 'message');
  return answer as Answer;
}
