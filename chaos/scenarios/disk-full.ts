import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../test/support/eventually.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { startStream } from '../stream.ts';

export const diskFull: Scenario = {
  title: 'the disk of PostgreSQL is full for a while during a stream',
  async run(scenario, scale) {
    const stage = await Stage.open({ recipients: 3, roles: ['api', 'worker'], diskMb: 300 });
    try {
      const stream = startStream(stage, 100);
      await sleep(3_000 * scale);
      const faultAt = Date.now();
      await stage.fillDisk();
      await waitFor('a trigger to be refused', () => (stream.statuses.get(503) ?? 0) > 0, 60_000);
      const broken: string[] = [];
      const isReady = async () => (await fetch(`${stage.alive('api')[0]!.address}/readyz`)).ok;
      await waitFor('the service not to be ready', async () => !(await isReady()), 30_000).catch(error =>
        broken.push((error as Error).message),
      );
      await sleep(5_000 * scale);
      await stage.freeDisk();
      const faultOverAt = Date.now();
      const before = stream.accepted.length;
      await waitFor('triggers to be accepted again', () => stream.accepted.length > before, 60_000);
      await waitFor('the service to be ready again', isReady, 30_000).catch(error =>
        broken.push((error as Error).message),
      );
      await sleep(3_000 * scale);
      await stream.stop();
      const others = [...stream.statuses].filter(([status]) => status !== 201 && status !== 503);
      broken.push(...others.map(([status, times]) => `${times} triggers got a ${status} instead of a 503`));
      return await stage.settle({ scenario, accepted: stream.accepted, faultAt, faultOverAt, broken });
    } finally {
      await stage.close();
    }
  },
};
