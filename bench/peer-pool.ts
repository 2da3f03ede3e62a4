/** The least that sends mails: nodemailer's pool with messages that are composed already. Nothing is on record. */
import { createTransport } from 'nodemailer';

export interface Order {
  port: number;
  connections: number;
  mails: number;
  /** Whole messages, which take turns. */
  raw: string[];
}

async function send({ port, connections, mails, raw }: Order): Promise<void> {
  const transport = createTransport({
    pool: true,
    host: '127.0.0.1',
    port,
    ignoreTLS: true,
    maxConnections: connections,
    // As it comes, a connection is closed after 100 messages.
    maxMessages: Number.POSITIVE_INFINITY,
  });
  let next = 0;
  const one = async () => {
    for (let n = next++; n < mails; n = next++) {
      const envelope = { from: 'bench@x.test', to: [`all${n + 1}@x.test`] };
      await transport.sendMail({ envelope, raw: raw[n % raw.length]! });
    }
  };
  // The pool keeps a queue of its own: a few more than there are connections keep it filled.
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
  process.send?.({ perSecond: order.mails / seconds, processorMs: (user + system) / 1_000 });
});
process.on('disconnect', () => process.exit(0));
