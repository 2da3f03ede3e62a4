/**
 * A campaign: one trigger to a long list, as 5 kB emails over SMTP to a sink in another process. Each is decided, rendered in the
 * default layout, sent and recorded. The baseline is nodemailer's pool alone, which sends prebuilt messages.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type pg from 'pg';
import { addMembers, runFanOut } from './fan-out.ts';
import { alternate, cpuPerItem, medianRound } from './load.ts';
import type { Order } from './peer-pool.ts';
import type { Row, Scenario } from './scenario.ts';
import { cpuMs, openPeer, openStage, postgresCpuMs } from './stage.ts';

/** The default of the smtp provider. */
export const connections = 5;
/** Messages until most of the code has been compiled. */
const warmUp = 1_500;

interface Sent {
  perSecond: number;
  /** CPU time per email, in µs. */
  cpu: Record<string, number>;
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
  summary: '5 kB emails to a list of 20,000 (quick: 1,000) over SMTP, vs. nodemailer’s pool with prebuilt messages',
  async run({ quick }) {
    const size = quick ? 1_000 : 20_000;
    const [sink, pool] = await Promise.all([openSink(), openPeer('./peer-pool.ts')]);
    const distribution_lists = [{ name: 'all' }, { name: 'few' }];
    const stage = await openStage([channel(sink.port)], [event('all'), event('few')], { distribution_lists });
    try {
      await addMembers(stage.sql, 'all', size);
      await addMembers(stage.sql, 'few', warmUp);
      await clearDeliveries(stage.sql);
      const api = await stage.start('api');
      const worker = await stage.start('worker');
      const used = async () => ({
        service: (await cpuMs(api)) + (await cpuMs(worker)),
        database: await postgresCpuMs(stage.sql),
      });
      await runFanOut(stage, api.address, 'few', warmUp);
      const { kept: raw } = await sink.tally(warmUp);
      const campaign = async (): Promise<Sent> => {
        const before = await used();
        const perSecond = await runFanOut(stage, api.address, 'all', size);
        const cpu = cpuPerItem(await used(), before, size);
        return { perSecond, cpu, ...(await sink.tally(size)) };
      };
      const bare = async (mails = size): Promise<Sent> => {
        const order: Order = { port: sink.port, connections, mails, raw };
        const done = await request<{ perSecond: number; cpuMs: number }>(pool.peer, order);
        const cpu = cpuPerItem({ service: done.cpuMs }, { service: 0 }, mails);
        return { perSecond: done.perSecond, cpu, ...(await sink.tally(mails)) };
      };
      await bare(warmUp);
      const [ours, theirs] = await alternate([campaign, bare], quick ? 1 : 3);
      const { measured, spread } = medianRound(ours!, theirs!);
      const [own, other] = measured;
      const { service, database } = own.cpu as { service: number; database: number };
      const rows: Row[] = [
        {
          measure: `emails to ${size.toLocaleString('en')}`,
          value: own.perSecond,
          unit: 'emails/s',
          baseline: other.perSecond,
          limit: { of: 'ratio', min: 2 },
          note:
            `${spread}; ${Math.round(own.bytes / size).toLocaleString('en')} bytes each, ${connections} connections; ` +
            `the sink uses ${Math.round((own.sinkMs * 1_000) / size)} µs of CPU time each`,
        },
        {
          measure: 'CPU time per email',
          value: service + database,
          unit: 'µs',
          note: `service ${Math.round(service)} µs, PostgreSQL ${Math.round(database)} µs`,
        },
        {
          measure: 'CPU time of the service per email',
          value: service,
          unit: 'µs',
          baseline: other.cpu.service!,
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

/** Leaves the table as in a new installation, without statistics. */
export async function clearDeliveries(sql: pg.Client): Promise<void> {
  await sql.query('truncate deliveries');
}

export function channel(port: number) {
  const smtp = { use: 'smtp', host: '127.0.0.1', port, from: 'Acme Shop <bench@x.test>' };
  return { slug: 'mail', name: 'Mail', type: 'email', providers: [smtp] };
}

/** An event that notifies the list of the same name. */
export function event(slug: string) {
  const notification = { name: slug, recipients: { list: slug }, channels: ['mail'], message };
  return { slug, name: slug, notifications: [notification] };
}

export async function openSink() {
  const { peer, port } = await openPeer('./peer-sink.ts');
  return {
    port,
    /** Returns what arrived since the last call, which must be one email for each recipient. */
    async tally(size: number) {
      interface Tally {
        mails: number;
        bytes: number;
        recipients: number;
        kept: string[];
        cpuMs: number;
      }
      const { mails, recipients, cpuMs: sinkMs, ...rest } = await request<Tally>(peer, {});
      if (mails !== size || recipients !== size) {
        throw new Error(`the sink received ${mails} emails for ${recipients} of ${size} recipients`);
      }
      return { ...rest, sinkMs };
    },
    close: () => peer.disconnect(),
  };
}

async function request<Response>(peer: ChildProcess, message: object): Promise<Response> {
  peer.send(message);
  const [response] = await once(peer, 'message');
  return response as Response;
}
