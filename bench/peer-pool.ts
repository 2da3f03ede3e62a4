/** The minimum for sending emails: nodemailer's pool with prebuilt messages. Nothing is recorded. */
import { createTransport } from 'nodemailer';

export interface Order {
  port: number;
  connections: number;
  mails: number;
  /** Complete messages, used in rotation. */
  raw: string[];
}

async function send({ port, connections, mails, raw }: Order): Promise<void> {
  const transport = createTransport({
    pool: true,
    host: '127.0.0.1',
    port,
    ignoreTLS: true,
    maxConnections: connections,
    // By default, a connection is closed after 100 messages.
    maxMessages: Number.POSITIVE_INFINITY,
  });
  let next = 0;
  const one = async () => {
    for (let n = next++; n < mails; n = next++) {
      const envelope = { from: 'bench@x.test', to: [`all${n + 1}@x.test`] };
      await transport.sendMail({ envelope, raw: raw[n % raw.length]! });
    }
  };
  // The pool has its own queue: a few more senders than connections keep it filled.
  await Promise.all(Array.from({ length: 4 * connections }, one));
  transport.close();
}

process.stdout.write('0\n');
process.on('message', async (order: Order) => {
  const before = process.cpuUsage();
  const began = performance.now();
  await send(order);
  const seconds = (performance.now() - began) / 1_000;
  const { user, system } = process.cpuUsage(before);
  process.send?.({ perSecond: order.mails / seconds, cpuMs: (user + system) / 1_000 });
});
process.on('disconnect', () => process.exit(0));
