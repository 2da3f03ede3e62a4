/** Measures the cost of an idle service with all roles and defaults, and how long a start takes. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Running } from '../test/support/process.ts';
import { quantile, type Scenario } from './scenario.ts';
import { cpuMs, openPeer, openStage, postgresCpuMs, residentMb, until } from './stage.ts';

export const idle: Scenario = {
  name: 'idle',
  summary: 'the idle service for 20 s (quick: 3 s): CPU time and memory, and the time until it is ready',
  async run({ quick, log }) {
    const seconds = quick ? 3 : 20;
    const stage = await openStage([], []);
    const bare = await openPeer('./peer-durable.ts', { PEER_DATABASE_URL: stage.url });
    try {
      // The first start fills the compile cache and creates the tables.
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
      const idleService = service!;
      log('waits for the service to settle');
      await sleep(quick ? 1_000 : 15_000);
      const read = async () => [await cpuMs(idleService), await postgresCpuMs(stage.sql)] as const;
      log(`measures for ${seconds} s`);
      const began = performance.now();
      const [service0, postgres0] = await read();
      await sleep(seconds * 1_000);
      const [service1, postgres1] = await read();
      const elapsed = (performance.now() - began) / 1_000;
      return [
        {
          measure: 'CPU time of the service per second',
          value: (service1 - service0) / elapsed,
          unit: 'ms',
          limit: { of: 'value', max: 3 },
          note: '10 ms per second are 1 % of a core',
        },
        { measure: 'CPU time of PostgreSQL per second', value: (postgres1 - postgres0) / elapsed, unit: 'ms' },
        {
          measure: 'resident memory of the service',
          value: await residentMb(idleService),
          unit: 'MB',
          baseline: await residentMb({ process: bare.peer }),
          limit: { of: 'ratio', max: 1.5 },
          note: 'the baseline is an idle Fastify that stores triggers (peer-durable.ts)',
        },
        {
          measure: 'time until ready on an existing database',
          value: quantile(starts, 0.5),
          unit: 'ms',
          limit: { of: 'value', max: 1_500 },
          note: `from the start of the process until /readyz succeeds, median of ${starts.length}`,
        },
      ];
    } finally {
      bare.peer.disconnect();
      await stage.close();
    }
  },
};

async function isReady(address: string): Promise<boolean> {
  const answer = await fetch(`${address}/readyz`);
  await answer.text();
  return answer.ok;
}
