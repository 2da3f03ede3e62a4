/**
 * What one would write instead (peer-express.ts), beside Belfry on the same work and the same database: mails to a list,
 * and a list into something that does nothing. It does less: nobody can ask what became of a recipient and why, nothing
 * is decided for each (preferences, locks, limits, channels), one trigger that comes twice is two, a list may take the
 * turn of everybody else, and a mail whose answer was lost is sent again without a word.
 */
import type pg from 'pg';
import * as fanOut from './fan-out.ts';
import * as mails from './mail.ts';
import type { Scenario } from './scenario.ts';
import { openPeer, openStage, until } from './stage.ts';

/** Until most of it has been compiled. */
const warmUp = 1_500;
const { crowd, fan } = fanOut;

export const instead: Scenario = {
  name: 'instead',
  summary:
    'mails to 20,000 and a fan-out to 100,000 (quick: 1,000 and 5,000), beside Express with pg-boss and nodemailer',
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
      for (const [list, size] of Object.entries(lists)) await crowd(stage.sql, list, size);
      await mails.asNew(stage.sql);

      const [api, worker] = [await stage.start('api'), await stage.start('worker')];
      const ours = (list: keyof typeof lists) => fan(stage, api.address, list, lists[list]);
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
      // In its favour: as autovacuum leaves it after its first minutes. Before, its pace varied from 400 to 6,000 jobs/s.
      await stage.sql.query('analyze pgboss.job');
      const theirMailsPerSecond = await theirs('mail', 'all');
      await sink.tally(mailed);
      const theirPerSecond = await theirs('nothing', 'many');

      const limit = { of: 'ratio' as const, least: 1 };
      return [
        {
          measure: `mails to ${mailed.toLocaleString('en')}`,
          value: mailsPerSecond,
          unit: 'mails/s',
          yardstick: theirMailsPerSecond,
          limit,
          note: 'the yardstick is Express with pg-boss and nodemailer, which decides nothing and tells no outcome by recipient',
        },
        {
          measure: `fan-out to ${fanned.toLocaleString('en')}`,
          value: perSecond,
          unit: 'deliveries/s',
          yardstick: theirPerSecond,
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

/** Jobs a second, from the trigger until the last one is completed. */
async function work(sql: pg.Client, address: string, queue: string, list: string, size: number): Promise<number> {
  const { rows: before } = await sql.query<{ n: number }>(counting, [queue]);
  const began = performance.now();
  const answer = await fetch(`${address}/trigger/${queue}/${list}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ n: 7 }),
  });
  if (answer.status !== 201) throw new Error(`${answer.status}: ${await answer.text()}`);
  // Asks only whether something is left, for which there is an index: to count them all would slow it down.
  const completed = async () => {
    const text = `select exists (select from pgboss.job where name = $1 and state < 'completed') as "left"`;
    const { rows } = await sql.query<{ left: boolean }>(text, [queue]);
    return rows[0]?.left === false;
  };
  await until(`${size} jobs`, completed, 120_000);
  const perSecond = size / ((performance.now() - began) / 1_000);
  const { rows: after } = await sql.query<{ n: number }>(counting, [queue]);
  if (after[0]!.n - before[0]!.n !== size) throw new Error(`${after[0]!.n - before[0]!.n} of ${size} jobs completed`);
  return perSecond;
}

const counting = `select count(*)::int as n from pgboss.job where name = $1 and state = 'completed'`;
