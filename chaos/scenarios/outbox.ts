import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Outbox } from '../../src/services/outbox.ts';
import { waitFor } from '../../test/support/process.ts';
import { runSql, withDatabase } from '../../test/support/sql.ts';
import { type Receipt, settleLedger } from '../ledger.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';

const producers = 4;
const kills = 3;
/** Of the transactions, how many are rolled back. */
const rolledBack = 1 / 4;

export const outbox: Scenario = {
  title: 'kill -9 of the only worker, three times, while applications commit and roll back notifications',
  async run(scenario, scale) {
    const stage = await Stage.open({ recipients: 1, channel: 'app', roles: [] });
    const url = withDatabase(stage.url, 'application');
    try {
      await runSql(stage.url, 'create database application');
      const box = new Outbox({ organization: 'chaos', url, database: 'application', name: 'chaos@application' });
      await box.install(undefined);
      await box.close();
      stage.environment.BELFRY_OUTBOX_URLS = `chaos=${url}`;
      await stage.start('worker');
      const committing = startCommitting(url);
      let faultAt = 0;
      for (let i = 0; i < kills; i++) {
        await sleep(2_000 * scale);
        const [worker] = stage.alive('worker');
        faultAt = Date.now();
        await worker!.end('SIGKILL');
        await stage.start('worker');
      }
      await sleep(1_000 * scale);
      const { committed, refused } = await committing.stop();
      const left = `select from belfry.outbox`;
      const drained = waitFor('the outbox to be empty', async () => (await runSql(url, left)).length === 0, 60_000);
      const broken = await drained.then(
        () => stage.finish(),
        error => [(error as Error).message],
      );
      const stored = await runSql<{ id: string }>(stage.url, 'select id from occurrences');
      const ids = new Set(stored.map(({ id }) => id));
      if (ids.size !== committed.length) broken.push(`${ids.size} occurrences of ${committed.length} commits`);
      const ghosts = refused.filter(id => ids.has(id)).length;
      if (ghosts > 0) broken.push(`${ghosts} notifications of rolled back transactions were sent`);
      const received = await runSql<Receipt>(
        stage.url,
        `select m.occurrence_id as occurrence, u.email as recipient, m.id::text, extract(epoch from m.created_at)::float8 * 1000 as at,
           true as answered
         from inbox m join users u on u.organization_id = m.organization_id and u.id = m.user_id`,
      );
      const facts = { scenario, accepted: committed, recipients: stage.recipients, received, faultAt, broken };
      return settleLedger({ ...facts, mayRepeat: new Map() });
    } finally {
      await stage.close();
    }
  },
};

/** Transactions of applications; what was committed is the promise. */
function startCommitting(url: string) {
  const [committed, refused]: [string[], string[]] = [[], []];
  let isStopping = false;
  const produce = async (producer: number) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    for (let n = 0; !isStopping; n++) {
      await client.query('begin');
      const key = n % 2 === 0 ? `producer ${producer}` : null;
      const { rows } = await client.query("select belfry.notify('shop/web/go', $1, key => $2) as id", [{ n }, key]);
      const keeps = Math.random() >= rolledBack;
      await client.query(keeps ? 'commit' : 'rollback');
      (keeps ? committed : refused).push(rows[0].id);
      await sleep(5);
    }
    await client.end();
  };
  const running = Promise.all(Array.from({ length: producers }, (_, i) => produce(i)));
  return {
    async stop() {
      isStopping = true;
      await running;
      return { committed, refused };
    },
  };
}
