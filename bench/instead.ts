/**
 * Compares Belfry with a typical home-grown service (peer-express.ts) on the same work and database: emails to a list, and a
 * fan-out to a provider that does nothing. The other service does less: it cannot explain the outcome of a recipient, decides
 * nothing per recipient (preferences, locks, limits, channels), processes a repeated trigger twice, lets one list delay everyone
 * else, and silently resends an email whose response was lost.
 */
import type pg from 'pg';
import * as fanOut from './fan-out.ts';
import * as mails from './mail.ts';
import type { Scenario } from './scenario.ts';
import { openPeer, openStage, until } from './stage.ts';

/** Messages until most of the code has been compiled. */
const warmUp = 1_500;
const { addMembers, runFanOut } = fanOut;

export const instead: Scenario = {
  name: 'instead',
  summary:
    'emails to 20,000 and a fan-out to 100,000 (quick: 1,000 and 5,000), vs. Express with pg-boss and nodemailer',
  async run({ quick }) {
    const [mailed, fanned] = quick ? [1_000, 5_000] : [20_000, 100_000];
    const sink = await mails.openSink();
    const lists = { all: mailed, few: warmUp, many: fanned, some: warmUp };
    const stage = await openStage(
      [mails.channel(sink.port), fanOut.sandbox],
      [mails.event('all'), mails.event('few'), fanOut.event('many'), fanOut.event('some')],
      { distribution_lists: Object.keys(lists).map(name => ({ name })) },
    );
    let peer: Awaited<ReturnType<typeof openPeer>> | undefined;
    try {
      for (const [list, size] of Object.entries(lists)) await addMembers(stage.sql, list, size);
      await mails.clearDeliveries(stage.sql);

      const [api, worker] = [await stage.start('api'), await stage.start('worker')];
      const ours = (list: keyof typeof lists) => runFanOut(stage, api.address, list, lists[list]);
      await ours('few');
      await sink.tally(warmUp);
      const mailsPerSecond = await ours('all');
      await sink.tally(mailed);
      await ours('some');
      const perSecond = await ours('many');
      await Promise.all([api.end('SIGTERM'), worker.end('SIGTERM')]);

      peer = await openPeer('./peer-express.ts', {
        PEER_DATABASE_URL: stage.url,
        PEER_SMTP_PORT: `${sink.port}`,
        PEER_CONNECTIONS: `${mails.connections}`,
      });
      const address = `http://127.0.0.1:${peer.port}`;
      const theirs = (queue: string, list: keyof typeof lists) => work(stage.sql, address, queue, list, lists[list]);
      await theirs('mail', 'few');
      await sink.tally(warmUp);
      await theirs('nothing', 'some');
      // In its favor, as autovacuum would do after a few minutes. Without it, the rate varied from 400 to 6,000 jobs/s.
      await stage.sql.query('analyze pgboss.job');
      const theirMailsPerSecond = await theirs('mail', 'all');
      await sink.tally(mailed);
      const theirPerSecond = await theirs('nothing', 'many');

      const limit = { of: 'ratio' as const, min: 1 };
      return [
        {
          measure: `emails to ${mailed.toLocaleString('en')}`,
          value: mailsPerSecond,
          unit: 'emails/s',
          baseline: theirMailsPerSecond,
          limit,
          note: 'the baseline is Express with pg-boss and nodemailer, without decisions or outcomes per recipient',
        },
        {
          measure: `fan-out to ${fanned.toLocaleString('en')}`,
          value: perSecond,
          unit: 'deliveries/s',
          baseline: theirPerSecond,
          limit,
        },
      ];
    } finally {
      peer?.peer.disconnect();
      await stage.close();
      sink.close();
    }
  },
};

/** Returns jobs per second, from the trigger until the last job is completed. */
async function work(sql: pg.Client, address: string, queue: string, list: string, size: number): Promise<number> {
  const { rows: before } = await sql.query<{ n: number }>(countCompleted, [queue]);
  const began = performance.now();
  const answer = await fetch(`${address}/trigger/${queue}/${list}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ n: 7 }),
  });
  if (answer.status !== 201) throw new Error(`${answer.status}: ${await answer.text()}`);
  // Only checks whether something is left, with an index: counting all jobs would slow the queue down.
  const completed = async () => {
    const text = `select exists (select from pgboss.job where name = $1 and state < 'completed') as "left"`;
    const { rows } = await sql.query<{ left: boolean }>(text, [queue]);
    return rows[0]?.left === false;
  };
  await until(`${size} jobs`, completed, 120_000);
  const perSecond = size / ((performance.now() - began) / 1_000);
  const { rows: after } = await sql.query<{ n: number }>(countCompleted, [queue]);
  if (after[0]!.n - before[0]!.n !== size) throw new Error(`${after[0]!.n - before[0]!.n} of ${size} jobs completed`);
  return perSecond;
}

const countCompleted = `select count(*)::int as n from pgboss.job where name = $1 and state = 'completed'`;
