/** What a service costs that has nothing to do, all roles as they come, after it has settled; and how soon it is ready. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Running } from '../test/support/process.ts';
import { quantile, type Scenario } from './scenario.ts';
import { openStage, postgresMs, processorMs, residentMb, until } from './stage.ts';

export const idle: Scenario = {
  name: 'idle',
  summary: 'the whole service at rest for 20 s (quick: 3 s): processor time and memory; and how soon it is ready',
  async run({ quick, log }) {
    const seconds = quick ? 3 : 20;
    const stage = await openStage([], []);
    try {
      // What the first start compiled is kept for all that come after, and so are the tables that it made.
      await (await stage.start('all')).end('SIGTERM');
      const starts: number[] = [];
      let service: Running | undefined;
      for (let i = 0; i < (quick ? 1 : 5); i++) {
        await service?.end('SIGTERM');
        const began = performance.now();
        service = await stage.start('all');
        await until('the service to be ready', () => isReady(service!.address), 30_000, 5);
        starts.push(performance.now() - began);
      }
      const rested = service!;
      log('settles');
      await sleep(quick ? 1_000 : 15_000);
      const read = async () => [await processorMs(rested), await postgresMs(stage.sql)] as const;
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
          limit: { of: 'value', most: 3 },
          note: '10 ms of a second are 1 % of a core',
        },
        { measure: 'processor time of PostgreSQL in a second', value: (postgres1 - postgres0) / elapsed, unit: 'ms' },
        {
          measure: 'resident memory of the service',
          value: await residentMb(rested),
          unit: 'MB',
          limit: { of: 'value', most: 110 },
        },
        {
          measure: 'ready on an existing database',
          value: quantile(starts, 0.5),
          unit: 'ms',
          limit: { of: 'value', most: 1_500 },
          note: `from the start of the process until /readyz says so, the median of ${starts.length}`,
        },
      ];
    } finally {
      await stage.close();
    }
  },
};

async function isReady(address: string): Promise<boolean> {
  const answer = await fetch(`${address}/readyz`);
  await answer.text();
  return answer.ok;
}
