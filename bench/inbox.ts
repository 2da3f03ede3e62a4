/**
 * Inbox streams: the cost of many open streams while nothing happens, and the time from a trigger to an open stream. The clients
 * are plain sockets in this process, which cost little compared with what is measured.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { signRecipientToken } from '../src/core/message/recipient-links.ts';
import { readOpenFilesLimit } from '../src/lib/process/open-files.ts';
import { createSigner } from '../src/lib/secrets/signer.ts';
import { maxStreamsOfProcess } from '../src/services/audience/inbox-streams.ts';
import type { Running } from '../test/support/process.ts';
import { quantile, type Row, type Scenario } from './scenario.ts';
import { cpuMs, openStage, residentMb, secretKey, until } from './stage.ts';

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
  summary: `5,000 open inbox streams (quick: 200): idle, and with ${perSecond} messages per second`,
  async run({ quick, streams, log }) {
    if (streams !== undefined) return holdOpen(streams, log);
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
      // Separate processes, as in an installation of this size: only the one with the streams is measured.
      const service = await stage.start('api');
      await stage.start('worker');
      const idleCpu = async () => {
        // After a burst of work, some of it is done later, such as garbage collection.
        await sleep(quick ? 500 : 30_000);
        const before = await cpuMs(service);
        await sleep(seconds * 1_000);
        return ((await cpuMs(service)) - before) / seconds;
      };
      log('measures without streams');
      const without = await idleCpu();
      const { hostname, port } = new URL(service.address);
      const tally = new Tally();
      log(`opens ${people} streams`);
      for (let i = 0; i < people; i++) {
        sockets.push(follow(hostname, Number(port), stage.key, `p${i}@x.test`, tally));
        // No more at once than a listening socket's queue can hold.
        if (i % 100 === 99) await until('streams to be open', async () => tally.ready > i - 100, 60_000, 10);
      }
      await until('all streams to be open', async () => tally.ready === people, 60_000);
      log('measures with all streams open');
      const withAll = await idleCpu();
      const memory = await residentMb(service);

      const trigger = async (n: number) => {
        tally.sentAt.set(n, performance.now());
        const response = await fetch(`${service.address}/api/o/bench/p/shop/a/web/e/go/trigger/`, {
          method: 'POST',
          headers: { authorization: `Key ${stage.key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ context: { n }, options: { recipients: [`p${n % people}@x.test`] } }),
        });
        if (response.status !== 201) throw new Error(`a trigger got a ${response.status}`);
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
      log(`sends ${perSecond} messages per second`);
      const count = perSecond * (quick ? 2 : 20);
      await send(warmUp, count);
      if (tally.delays.length !== count) throw new Error(`${tally.delays.length} messages arrived instead of ${count}`);
      const max = 300;
      return [
        { measure: 'memory of the API with all streams open', value: memory, unit: 'MB', limit: { of: 'value', max } },
        {
          measure: 'memory of the API after the messages',
          value: await residentMb(service),
          unit: 'MB',
          limit: { of: 'value', max },
        },
        {
          measure: 'CPU time of the API per second, idle',
          value: withAll,
          unit: 'ms',
          baseline: without,
          limit: { of: 'value', max: 15 },
          note: 'the baseline is the same process before the streams; each gets a heartbeat every 30 s; 10 ms are 1 % of a core',
        },
        { measure: 'trigger to open stream, median', value: quantile(tally.delays, 0.5), unit: 'ms' },
        {
          measure: 'trigger to open stream, p99',
          value: quantile(tally.delays, 0.99),
          unit: 'ms',
          limit: { of: 'value', max: 250 },
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
  /** Keyed by the number in the title. */
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
  let buffered = '';
  socket.on('data', (text: string) => {
    const blocks = (buffered + text).split('\n\n');
    buffered = blocks.pop()!;
    for (const block of blocks) {
      if (block.includes('event: ready')) tally.ready++;
      const [, n] = /"title":"Order (\d+)"/.exec(block) ?? [];
      if (n !== undefined) tally.arrived(Number(n));
    }
  });
  // Sockets are destroyed at the end of a run.
  socket.on('error', () => {});
  return socket;
}

/** What a process of clients is asked to open, and what came of it. */
interface Opening {
  port: number;
  requests: string[];
}

interface Opened {
  open: number;
  /** Statuses of refusals, and how many of them had a Retry-After. */
  refused: Record<string, number>;
  withRetryAfter: number;
}

const organizations = 4;
const overLimit = 200;

/** So many streams in as few processes as hold them; then one of the processes is filled up, and more are tried. */
async function holdOpen(streams: number, log: (words: string) => void): Promise<Row[]> {
  const capacity = maxStreamsOfProcess(readOpenFilesLimit());
  const processes = Math.ceil(streams / capacity);
  const perProcess = Math.ceil(streams / processes);
  const stage = await openStage([app], [event]);
  const clients: ChildProcess[] = [];
  try {
    await stage.sql.query(
      `insert into organizations (slug, name) select 'many' || i, 'Many' from generate_series(1, $1::int) i`,
      [organizations],
    );
    const people = Math.ceil((perProcess * processes + capacity + overLimit) / organizations);
    const { rows } = await stage.sql.query<{ organization: number; slug: string; id: number; username: string }>(
      `with people as (
         insert into users (organization_id, username, email)
         select o.id, 'p' || i || '@x.test', 'p' || i || '@x.test'
         from organizations o, generate_series(1, $1::int) i where o.slug like 'many%'
         returning organization_id, id, username)
       select p.organization_id::int as organization, o.slug, p.id::int, p.username
       from people p join organizations o on o.id = p.organization_id order by p.username, p.organization_id`,
      [people],
    );
    const { sign } = createSigner(secretKey);
    const expiresAt = Math.floor(Date.now() / 1_000) + 3_600;
    const requests = rows.map(({ organization, slug, id, username }) => {
      const holder = { organizationId: organization, userId: id, generation: 0, expiresAt };
      const token = signRecipientToken(holder, sign);
      return `GET /api/o/${slug}/u/${username}/inbox/stream/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    });
    const open = async (service: Running, count: number): Promise<Opened> => {
      const client = fork(fileURLToPath(import.meta.url), ['follow']);
      clients.push(client);
      client.send({
        port: Number(new URL(service.address).port),
        requests: requests.splice(0, count),
      } satisfies Opening);
      const [opened] = await once(client, 'message');
      return opened as Opened;
    };
    const services: Running[] = [];
    for (let i = 0; i < processes; i++) services.push(await stage.start('api'));
    const [first] = services as [Running];
    const memory = async () => (await Promise.all(services.map(residentMb))).reduce((sum, mb) => sum + mb, 0);
    const before = await memory();
    const alone = await timeRequests(first, stage.key);
    log(`opens ${streams} streams in ${processes} processes`);
    const began = performance.now();
    let held = 0;
    for (const service of services) held += (await open(service, perProcess)).open;
    const seconds = (performance.now() - began) / 1_000;
    if (held !== perProcess * processes)
      throw new Error(`${held} streams are open instead of ${perProcess * processes}`);
    const withAll = await memory();
    const crowded = await timeRequests(first, stage.key);
    log('fills the first process up');
    const more = await open(first, capacity - perProcess + overLimit);
    const refused = more.refused['503'] ?? 0;
    if (refused !== overLimit || more.withRetryAfter !== overLimit) {
      throw new Error(`${JSON.stringify(more)} instead of ${overLimit} refusals with Retry-After`);
    }
    const full = await timeRequests(first, stage.key);
    log('closes all of them');
    for (const client of clients.splice(0)) client.kill('SIGKILL');
    await until('no stream to be open', async () => (await countStreams(services)) === 0, 60_000);
    return [
      { measure: 'streams open at once', value: held, unit: '', note: `in ${processes} processes` },
      { measure: 'opened in', value: seconds, unit: 's' },
      { measure: 'memory of a stream', value: ((withAll - before) * 1_024) / held, unit: 'KB' },
      { measure: 'memory of all API processes', value: withAll, unit: 'MB', baseline: before },
      { measure: 'memory right after all are closed', value: await memory(), unit: 'MB', baseline: before },
      { measure: 'another request, p99, with all open', value: crowded, unit: 'ms', baseline: alone },
      { measure: 'another request, p99, with a full process', value: full, unit: 'ms', baseline: alone },
      { measure: 'refused beyond the limit of a process', value: refused, unit: '', note: `at ${capacity} streams` },
    ];
  } finally {
    for (const client of clients) client.kill('SIGKILL');
    await stage.close();
  }
}

async function timeRequests({ address }: Running, key: string): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 500; i++) {
    const began = performance.now();
    const response = await fetch(`${address}/api/o/bench/`, { headers: { authorization: `Key ${key}` } });
    await response.text();
    if (response.status !== 200) throw new Error(`another request was answered with ${response.status}`);
    times.push(performance.now() - began);
  }
  return quantile(times, 0.99);
}

async function countStreams(services: Running[]): Promise<number> {
  let sum = 0;
  for (const { address } of services) {
    const text = await (await fetch(`${address}/metrics`)).text();
    sum += Number(/^belfry_inbox_streams (\d+)/m.exec(text)![1]);
  }
  return sum;
}

/** In a process of clients: one process may not have enough sockets for all. */
async function openAll({ port, requests }: Opening): Promise<Opened> {
  const opened: Opened = { open: 0, refused: {}, withRetryAfter: 0 };
  const openOne = (request: string) =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(request));
      let text = '';
      socket.setEncoding('latin1').on('error', reject);
      const read = (chunk: string) => {
        text += chunk;
        const [, status = ''] = /^HTTP\/1\.1 (\d+)/.exec(text) ?? [];
        if (status === '200' ? !text.includes('event: ready') : !text.includes('\r\n\r\n')) return;
        socket.off('data', read).resume();
        if (status === '200') opened.open++;
        else opened.refused[status] = (opened.refused[status] ?? 0) + 1;
        if (/^retry-after: \d+\r$/im.test(text)) opened.withRetryAfter++;
        resolve();
      };
      socket.on('data', read);
    });
  // As many at once as a listening socket keeps waiting.
  for (let i = 0; i < requests.length; i += 100) await Promise.all(requests.slice(i, i + 100).map(openOne));
  return opened;
}

if (process.argv[2] === 'follow') {
  process.once('message', (opening: Opening) => void openAll(opening).then(opened => process.send!(opened)));
  process.once('disconnect', () => process.exit(0));
}
