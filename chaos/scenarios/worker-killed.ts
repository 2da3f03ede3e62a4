import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../test/support/eventually.ts';
import type { Scenario } from '../scenario.ts';
import { Stage, type StageOptions } from '../stage.ts';
import { startStream } from '../stream.ts';

export const workerKilled = killing({
  title: 'one of two workers is killed with kill -9 while it sends',
  roles: ['api', 'worker', 'worker'],
  victim: 'worker',
});

export const serviceKilled = killing({
  title: 'one of two processes that do everything is killed with kill -9 while it accepts and sends',
  roles: ['all', 'all'],
  victim: 'all',
});

function killing({ title, roles, victim: role }: Pick<StageOptions, 'roles'> & KilledOptions): Scenario {
  return {
    title,
    async run(scenario, scale) {
      const stage = await Stage.open({ recipients: 3, sinkMs: 20, roles });
      try {
        const stream = startStream(stage, 100);
        await sleep(4_000 * scale);
        const [victim] = stage.alive(role);
        await waitFor('messages in flight', async () => (await stage.inFlight()) > 3);
        const faultAt = Date.now();
        await victim!.end('SIGKILL');
        await waitFor('the database to notice', async () => (await stage.livingWorkers()) === 1);
        const leftBehind = await stage.leftBehind();
        await sleep(3_000 * scale);
        await stream.stop();
        return await stage.settle({ scenario, accepted: stream.accepted, faultAt, leftBehind });
      } finally {
        await stage.close();
      }
    },
  };
}

interface KilledOptions {
  title: string;
  victim: StageOptions['roles'][number];
}
