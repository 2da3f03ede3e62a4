/** What a service costs that has nothing to do: all roles in one process, after it has settled. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Scenario } from './scenario.ts';
import { openStage, postgresMs, processorMs, residentMb } from './stage.ts';

export const idle: Scenario = {
  name: 'idle',
  summary: 'all roles in one process at rest for 20 s (quick: 3 s): processor time and memory',
  async run({ quick, log }) {
    const seconds = quick ? 3 : 20;
    const stage = await openStage([], []);
    try {
      // What the first start compiled is kept for all that come after.
      await (await stage.start('all')).end('SIGTERM');
      const service = await stage.start('all');
      log('settles');
      await sleep(quick ? 1_000 : 15_000);
      const read = async () => [await processorMs(service), await postgresMs(stage.sql)] as const;
      log(`rests for ${seconds} s`);
      const began = performance.now();
      const [service0, postgres0] = await read();
      await sleep(seconds * 1_000);
      const [service1, postgres1] = await read();
      const elapsed = (performance.now() - began) / 1_000;
      return [
        {
          measure: 'processor time of the service in a second',
          value: (service1 - service0) / elapsed,
          unit: 'ms',
          limit: { of: 'value', most: 10 },
          note: '10 ms of a second are 1 % of a core',
        },
        { measure: 'processor time of PostgreSQL in a second', value: (postgres1 - postgres0) / elapsed, unit: 'ms' },
        {
          measure: 'resident memory of the service',
          value: await residentMb(service),
          unit: 'MB',
          limit: { of: 'value', most: 150 },
        },
      ];
    } finally {
      await stage.close();
    }
  },
};
