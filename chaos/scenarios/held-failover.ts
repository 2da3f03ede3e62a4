/** Processes are restarted and the database fails over while an occurrence waits for an approval, which two processes get at once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../test/support/eventually.ts';
import { type Running, signalDatabase } from '../../test/support/process.ts';
import { openPair, type Pair } from '../pair.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { triggerOnce } from '../stream.ts';

const audience = 20_000;
/** How long two workers with nothing to do have to do something wrong. */
const idleMs = 3_000;
const approvals = 6;

export const heldFailover: Scenario = {
  title:
    'two processes are restarted and the primary is killed while an occurrence is held, then both approve it at once',
  async run(scenario, scale) {
    let pair: Pair | undefined;
    const openDatabase = async (folder: string) => {
      pair = await openPair(folder, true);
      return pair;
    };
    const recipients = Math.round(audience * scale);
    const roles: ('all' | 'api')[] = ['all', 'all'];
    const stage = await Stage.open({ recipients, guard: { audience: 100 }, roles, openDatabase });
    const broken: string[] = [];
    try {
      const id = (await triggerOnce(stage, 0))!;
      const ask = async ({ address }: Running, path = '', method = 'GET') => {
        const response = await fetch(`${address}/api/o/chaos/occurrence/${id}/hold/${path}`, {
          method,
          headers: { authorization: `Key ${stage.key}`, 'content-type': 'application/json' },
          ...(method === 'POST' && { body: '{}' }),
        });
        return { status: response.status, body: (await response.json()) as { state?: string; recipients?: number } };
      };
      /** Waits until each process answers, and checks what it says. */
      const requireHeld = async (moment: string) => {
        for (const running of stage.alive('all')) {
          const { body } = await waitFor(
            `an answer ${moment}`,
            async () => {
              const answer = await ask(running).catch(() => undefined);
              return answer?.status === 200 ? answer : undefined;
            },
            60_000,
          );
          if (body.state !== 'held' || body.recipients !== recipients)
            broken.push(`${moment}, it was ${body.state} with ${body.recipients} recipients`);
        }
        await sleep(idleMs);
        const sent = await stage.count();
        if (sent > 0) broken.push(`${moment}, ${sent} messages had been sent without an approval`);
      };
      const [first] = stage.alive('all');
      await waitFor('the hold', async () => (await ask(first!)).body.state === 'held', 120_000);
      await requireHeld('before the restart');
      for (const running of stage.alive('all')) {
        await running.end('SIGTERM');
        await stage.start('all');
      }
      await requireHeld('after the restart');
      const faultAt = Date.now();
      await signalDatabase(pair!.primary.dataDir, 'SIGKILL');
      await sleep(2_000);
      await pair!.promote();
      await requireHeld('after the failover');
      const processes = stage.alive('all');
      const decided = await Promise.all(
        Array.from({ length: approvals }, (_, n) => ask(processes[n % processes.length]!, 'approve/', 'POST')),
      );
      const statuses = decided.map(({ status }) => status).sort();
      if (statuses.join() !== [200, ...Array(approvals - 1).fill(409)].join()) broken.push(`approvals: ${statuses}`);
      return await stage.settle({
        scenario,
        accepted: [id],
        faultAt,
        faultOverAt: Date.now(),
        broken,
        waitMs: 300_000,
      });
    } finally {
      await stage.close();
    }
  },
};
