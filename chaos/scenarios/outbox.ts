import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Outbox } from '../../src/services/operations/outbox.ts';
import { waitFor } from '../../test/support/eventually.ts';
import { runSql, withDatabase } from '../../test/support/sql.ts';
import { type Receipt, settleLedger } from '../ledger.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';

const producers = 4;
/** Kills that must hit a batch whose triggers are stored, but not yet deleted from the outbox; others do not count. */
const maxHits = 3;
const maxKills = 15;
/** The share of transactions that are rolled back. */
const rolledBack = 1 / 4;

export const outbox: Scenario = {
  title: 'the only worker is killed with kill -9 three times between storing and deleting what applications commit',
  async run(scenario, scale) {
    const stage = await Stage.open({ recipients: 1, channel: 'app', roles: [] });
    const url = withDatabase(stage.url, 'application');
    let committing: ReturnType<typeof startCommitting> | undefined;
    try {
      await runSql(stage.url, 'create database application');
      const box = new Outbox({ organization: 'chaos', url, database: 'application', name: 'chaos@application' });
      await box.install(undefined);
      await box.close();
      stage.environment.BELFRY_OUTBOX_URLS = `chaos=${url}`;
      await stage.start('worker');
      committing = startCommitting(url);
      let faultAt = 0;
      const hits = scale < 1 ? 1 : maxHits;
      let hit = 0;
      const seen = new Set<string>();
      // Rows that an earlier kill has left do not count: the next worker may not have started on them.
      const listNew = async () => (await listUndeleted(stage, url)).filter(id => !seen.has(id));
      for (let kills = 0; hit < hits && kills < maxKills; kills++) {
        await sleep(2_000 * scale);
        await waitFor('triggers that are stored, but not deleted', async () => (await listNew()).length > 0, 60_000);
        const [worker] = stage.alive('worker');
        faultAt = Date.now();
        await worker!.end('SIGKILL');
        // A delete that the worker had sent may still be committed.
        await sleep(100);
        const undeleted = await listNew();
        if (undeleted.length > 0) hit++;
        for (const id of undeleted) seen.add(id);
        await stage.start('worker');
      }
      await sleep(1_000 * scale);
      const { committed, rolledBackIds } = await committing.stop();
      // One row is enough: reading thousands of them all the time would slow the worker down.
      const left = `select from belfry.outbox limit 1`;
      const drained = waitFor('the outbox to be empty', async () => (await runSql(url, left)).length === 0, 180_000);
      const broken = await drained.then(
        () => stage.finish(),
        error => [(error as Error).message, ...stage.lastErrors()],
      );
      if (hit < hits) broken.push(`only ${hit} of ${maxKills} kills hit a batch between storing and deleting it`);
      const stored = await runSql<{ id: string }>(stage.url, 'select id from occurrences');
      const ids = new Set(stored.map(({ id }) => id));
      if (ids.size !== committed.length) broken.push(`${ids.size} occurrences for ${committed.length} commits`);
      const unwanted = rolledBackIds.filter(id => ids.has(id)).length;
      if (unwanted > 0) broken.push(`${unwanted} triggers of rolled-back transactions were accepted`);
      const received = await runSql<Receipt>(
        stage.url,
        `select m.occurrence_id as occurrence, u.email as recipient, m.id::text, extract(epoch from m.created_at)::float8 * 1000 as at,
           true as answered
         from inbox m join users u on u.organization_id = m.organization_id and u.id = m.user_id`,
      );
      const facts = { scenario, accepted: committed, recipients: stage.recipients, received, faultAt, broken };
      return settleLedger({ ...facts, mayRepeat: new Map() });
    } finally {
      await committing?.stop();
      await stage.close();
    }
  },
};

/** Returns the ids of the oldest rows of the outbox that are already stored as occurrences. */
async function listUndeleted(stage: Stage, url: string): Promise<string[]> {
  const waiting = await runSql<{ id: string }>(url, 'select id from belfry.outbox order by seq limit 500');
  const text = 'select id from occurrences where id = any($1::uuid[])';
  const stored = await runSql<{ id: string }>(stage.url, text, [waiting.map(({ id }) => id)]);
  return stored.map(({ id }) => id);
}

/** Runs transactions like applications do; every committed one must become an occurrence. */
function startCommitting(url: string) {
  const [committed, rolledBackIds]: [string[], string[]] = [[], []];
  let isStopping = false;
  const produce = async (producer: number) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    for (let n = 0; !isStopping; n++) {
      await client.query('begin');
      const key = n % 2 === 0 ? `producer ${producer}` : null;
      const { rows } = await client.query("select belfry.notify('shop/web/go', $1, key => $2) as id", [{ n }, key]);
      const commits = Math.random() >= rolledBack;
      await client.query(commits ? 'commit' : 'rollback');
      (commits ? committed : rolledBackIds).push(rows[0].id);
      await sleep(5);
    }
    await client.end();
  };
  const running = Promise.all(Array.from({ length: producers }, (_, i) => produce(i)));
  return {
    async stop() {
      isStopping = true;
      await running;
      return { committed, rolledBackIds };
    },
  };
}
