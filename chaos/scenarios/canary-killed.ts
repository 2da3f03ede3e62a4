/** Everything is killed at every stage of an occurrence with a canary. */
import { waitFor } from '../../test/support/eventually.ts';
import { runSql } from '../../test/support/sql.ts';
import type { Scenario } from '../scenario.ts';
import { type LeftBehind, Stage } from '../stage.ts';
import { triggerOnce } from '../stream.ts';

interface State {
  status: string;
  stage: string | null;
  deliveries: number;
}

/** Several pages in each pass. */
const audience = 20_000;
const first = 200;

export const canaryKilled: Scenario = {
  title: 'everything is killed with kill -9 while a canary counts, sends to its sample, waits, and sends to the others',
  async run(scenario, scale) {
    const notification = { canary: { first, wait: '1h' } };
    const stage = await Stage.open({ recipients: Math.round(audience * scale), notification, roles: ['all'] });
    const broken: string[] = [];
    const left: LeftBehind[] = [];
    let faultAt = 0;
    let id = '';
    const read = async () => {
      const [row] = await runSql<State>(
        stage.url,
        `select status, cursor -> 'canary' ->> 'stage' as stage, deliveries from occurrences where id = $1`,
        [id],
      );
      return row!;
    };
    const kill = async () => {
      const [service] = stage.alive('all');
      faultAt = Date.now();
      await service!.end('SIGKILL');
      await waitFor('the database to notice', async () => (await stage.livingWorkers()) === 0);
      left.push(await stage.leftBehind());
      await stage.start('all');
    };
    try {
      id = (await triggerOnce(stage, 1))!;
      await waitFor('the count', async () => (await read()).stage !== null);
      if ((await read()).deliveries > 0) broken.push('it was sent before it was counted');
      await kill();
      await waitFor('the sample', async () => (await read()).stage === 'waiting', 180_000);
      await kill();
      await waitFor('the messages of the sample', async () => (await stage.count()) >= first, 60_000);
      const { deliveries, stage: reached } = await read();
      if (deliveries !== first || reached !== 'waiting')
        broken.push(`${deliveries} deliveries instead of ${first} during the wait, in the stage ${reached}`);
      await waitFor('the outcomes of the sample', async () => {
        const sent = await runSql(stage.url, `select from deliveries where occurrence_id = $1 and status = 'sent'`, [
          id,
        ]);
        return sent.length === first;
      });
      await runSql(stage.url, 'update occurrences set due_at = now() where id = $1', [id]);
      await waitFor('the others', async () => (await read()).deliveries > first, 60_000);
      await kill();
      const leftBehind = { keys: new Set(left.flatMap(one => [...one.keys])), at: left.at(-1)!.at };
      return await stage.settle({ scenario, accepted: [id], faultAt, leftBehind, broken, waitMs: 300_000 });
    } finally {
      await stage.close();
    }
  },
};
