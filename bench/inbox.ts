/**
 * Streams of inboxes: what many open ones take while nothing happens, and how long a message takes from its trigger to the person who
 * has one open. The clients are plain sockets of this process: they cost little beside what is measured.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { quantile, type Scenario } from './scenario.ts';
import { openStage, processorMs, residentMb, until } from './stage.ts';

const perSecond = 200;
const app = { slug: 'app', name: 'In the app', type: 'inbox', providers: [{ use: 'inbox' }] };
const event = {
  slug: 'go',
  name: 'Go',
  notifications: [
    {
      name: 'n',
      recipients: { trigger: true },
      channels: ['app'],
      message: { subject: 'Order {{ n }}', body: 'Hello {{ user.first_name }}' },
    },
  ],
};

export const inbox: Scenario = {
  name: 'inbox',
  summary: `5,000 open streams of inboxes (quick: 200): at rest, and with ${perSecond} messages a second`,
  async run({ quick, log }) {
    const people = quick ? 200 : 5_000;
    const seconds = quick ? 2 : 20;
    const stage = await openStage([app], [event]);
    const sockets: Socket[] = [];
    try {
      await stage.sql.query(
        `insert into users (organization_id, username, email)
         select o.id, 'p' || i || '@x.test', 'p' || i || '@x.test'
         from organizations o, generate_series(0, $1::int - 1) i where o.slug = 'bench'`,
        [people],
      );
      // Apart, as whoever has so many would run them: what is measured is the process that has the streams.
      const service = await stage.start('api');
      await stage.start('worker');
      const atRest = async () => {
        // A burst of work leaves some behind that is done later, such as the collection of its memory.
        await sleep(quick ? 500 : 30_000);
        const before = await processorMs(service);
        await sleep(seconds * 1_000);
        return ((await processorMs(service)) - before) / seconds;
      };
      log('rests without a stream');
      const without = await atRest();
      const { hostname, port } = new URL(service.address);
      const tally = new Tally();
      log(`opens ${people} streams`);
      for (let i = 0; i < people; i++) {
        sockets.push(follow(hostname, Number(port), stage.key, `p${i}@x.test`, tally));
        // As many at once as a listening socket keeps waiting.
        if (i % 100 === 99) await until('streams to be open', async () => tally.ready > i - 100, 60_000, 10);
      }
      await until('all streams to be open', async () => tally.ready === people, 60_000);
      log('rests with all of them');
      const withAll = await atRest();
      const memory = await residentMb(service);

      const trigger = async (n: number) => {
        tally.sentAt.set(n, performance.now());
        const response = await fetch(`${service.address}/api/o/bench/p/shop/a/web/e/go/trigger/`, {
          method: 'POST',
          headers: { authorization: `Key ${stage.key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ context: { n }, options: { recipients: [`p${n % people}@x.test`] } }),
        });
        if (response.status !== 201) throw new Error(`a trigger was answered with ${response.status}`);
        await response.text();
      };
      const send = async (first: number, count: number) => {
        const began = performance.now();
        const sent: Promise<void>[] = [];
        for (let i = 0; i < count; i++) {
          const early = began + (i * 1_000) / perSecond - performance.now();
          if (early > 1) await sleep(early);
          sent.push(trigger(first + i));
        }
        await Promise.all(sent);
        await until('every message to arrive', async () => tally.sentAt.size === 0, 60_000);
      };
      const warmUp = perSecond * (quick ? 1 : 10);
      await send(0, warmUp);
      tally.delays.length = 0;
      log(`sends ${perSecond} messages a second`);
      const count = perSecond * (quick ? 2 : 20);
      await send(warmUp, count);
      if (tally.delays.length !== count) throw new Error(`${tally.delays.length} messages arrived instead of ${count}`);
      const most = 300;
      return [
        { measure: 'memory of the API with all streams open', value: memory, unit: 'MB', limit: { of: 'value', most } },
        {
          measure: 'memory of the API after the messages',
          value: await residentMb(service),
          unit: 'MB',
          limit: { of: 'value', most },
        },
        {
          measure: 'processor time of the API in a second, at rest',
          value: withAll,
          unit: 'ms',
          yardstick: without,
          limit: { of: 'value', most: 15 },
          note: 'the yardstick is the same process before the streams; a beat to each every 30 s; 10 ms are 1 % of a core',
        },
        { measure: 'trigger to open stream, median', value: quantile(tally.delays, 0.5), unit: 'ms' },
        {
          measure: 'trigger to open stream, p99',
          value: quantile(tally.delays, 0.99),
          unit: 'ms',
          limit: { of: 'value', most: 250 },
        },
      ];
    } finally {
      for (const socket of sockets) socket.destroy();
      await stage.close();
    }
  },
};

class Tally {
  ready = 0;
  /** By the number in the title. */
  readonly sentAt = new Map<number, number>();
  readonly delays: number[] = [];

  arrived(n: number): void {
    const sentAt = this.sentAt.get(n);
    if (sentAt === undefined) throw new Error(`message ${n} arrived twice`);
    this.sentAt.delete(n);
    this.delays.push(performance.now() - sentAt);
  }
}

function follow(host: string, port: number, key: string, username: string, tally: Tally): Socket {
  const socket = connect(port, host);
  socket.setEncoding('utf8');
  socket.write(
    `GET /api/o/bench/u/${username}/inbox/stream/ HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Key ${key}\r\n\r\n`,
  );
  let rest = '';
  socket.on('data', (text: string) => {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop()!;
    for (const block of blocks) {
      if (block.includes('event: ready')) tally.ready++;
      const [, n] = /"title":"Order (\d+)"/.exec(block) ?? [];
      if (n !== undefined) tally.arrived(Number(n));
    }
  });
  // The end of a run.
  socket.on('error', () => {});
  return socket;
}
