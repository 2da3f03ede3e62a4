import { setTimeout as sleep } from 'node:timers/promises';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { startStream } from '../stream.ts';

export const databaseRestarted: Scenario = {
  title: 'PostgreSQL is shut down and restarted during a stream',
  async run(scenario, scale) {
    const stage = await Stage.open({ recipients: 3, sinkMs: 20, roles: ['all'] });
    try {
      const stream = startStream(stage, 100);
      await sleep(4_000 * scale);
      const faultAt = Date.now();
      await stage.restartDatabase();
      await sleep(3_000 * scale);
      await stream.stop();
      return await stage.settle({ scenario, accepted: stream.accepted, faultAt });
    } finally {
      await stage.close();
    }
  },
};
