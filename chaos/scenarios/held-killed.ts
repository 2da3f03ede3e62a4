/** Everything is killed at every stage of an occurrence that waits for an approval. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../test/support/eventually.ts';
import { runSql } from '../../test/support/sql.ts';
import type { Scenario } from '../scenario.ts';
import { type LeftBehind, Stage } from '../stage.ts';
import { triggerOnce } from '../stream.ts';

interface Hold {
  state: string;
  cursor: unknown;
}

const usual = 20;
/** Several pages, each of which is counted on its own. */
const audience = 50_000;
/** A claim of a page ends after a minute; a quick run does not wait for it. */
const endClaims = 'update holds set claimed_at = null';

export const heldKilled: Scenario = {
  title: 'everything is killed with kill -9 while an occurrence is counted, held, approved and expanded',
  async run(scenario, scale) {
    const stage = await Stage.open({ recipients: usual, guard: {}, roles: ['all'] });
    const broken: string[] = [];
    const left: LeftBehind[] = [];
    const occurrences: string[] = [];
    let faultAt = 0;
    const read = async (id: string) =>
      (await runSql<Hold>(stage.url, 'select state, cursor from holds where occurrence_id = $1', [id]))[0];
    /** Kills the only process, checks that nothing was sent before the approval, and starts another one. */
    const kill = async (moment: string, isApproved: boolean) => {
      const [service] = stage.alive('all');
      faultAt = Date.now();
      await service!.end('SIGKILL');
      await waitFor('the database to notice', async () => (await stage.livingWorkers()) === 0);
      left.push(await stage.leftBehind());
      const sent = (await stage.received()).filter(({ occurrence }) => occurrence === occurrences[1]).length;
      if (sent > 0 && !isApproved) broken.push(`${sent} messages arrived before the approval, when it was ${moment}`);
      if (scale < 1) await runSql(stage.url, endClaims);
      await stage.start('all');
    };
    try {
      occurrences.push((await triggerOnce(stage, 0))!);
      await waitFor('the usual messages', async () => (await stage.count()) >= usual, 60_000);
      // The audience is stored once a second.
      await waitFor('its history', async () => (await runSql(stage.url, 'select from event_audiences')).length > 0);
      await stage.addRecipients(Math.round(audience * scale));
      const id = (await triggerOnce(stage, 1))!;
      occurrences.push(id);

      await waitFor('some pages to be counted', async () => {
        const hold = await read(id);
        return hold?.cursor || hold?.state === 'held';
      });
      if ((await read(id))!.state === 'held') broken.push('it was counted before the kill');
      await kill('counted', false);
      await waitFor('the count', async () => (await read(id))!.state === 'held', 180_000);
      await kill('held', false);
      await sleep(2_000);
      const [counts] = await runSql<{ recipients: number }>(
        stage.url,
        `select (counts -> 'recipients')::int as recipients from holds where occurrence_id = $1`,
        [id],
      );
      if (counts!.recipients !== stage.recipients.length)
        broken.push(`${counts!.recipients} of ${stage.recipients.length} recipients were counted`);
      if ((await read(id))!.state !== 'held') broken.push('it was not held after a restart');

      const decided = await Promise.all([approve(stage, id), approve(stage, id), approve(stage, id)]);
      if (decided.filter(status => status === 200).length !== 1) broken.push(`approvals: ${decided.join(', ')}`);
      await kill('approved', true);
      await waitFor('messages', async () => (await stage.count()) > usual + 100 * scale, 60_000);
      await kill('expanded', true);
      const keys = new Set(left.flatMap(one => [...one.keys]));
      const leftBehind = { keys, at: left.at(-1)!.at };
      const { recipients } = stage;
      const expectedToo = recipients.slice(0, usual).map(email => `${occurrences[0]}/${email}`);
      return await stage.settle({
        scenario,
        accepted: [id],
        expectedToo,
        faultAt,
        leftBehind,
        broken,
        waitMs: 300_000,
      });
    } finally {
      await stage.close();
    }
  },
};

async function approve(stage: Stage, id: string): Promise<number> {
  const [service] = stage.alive('all');
  const { status } = await fetch(`${service!.address}/api/o/chaos/occurrence/${id}/hold/approve/`, {
    method: 'POST',
    headers: { authorization: `Key ${stage.key}`, 'content-type': 'application/json' },
    body: '{}',
  });
  return status;
}
