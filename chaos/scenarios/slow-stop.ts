import { setTimeout as sleep } from 'node:timers/promises';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { startStream } from '../stream.ts';

/** Shorter than the ten seconds that a stop may take. */
const sinkMs = 3_000;
/** A stop ends within the documented ten seconds; the rest is for a busy machine. */
const maxStopMs = 15_000;

export const slowStop: Scenario = {
  title: `a worker is stopped with SIGTERM while its receiver takes ${sinkMs / 1_000} s for each message`,
  async run(scenario, scale) {
    const stage = await Stage.open({ recipients: 10, sinkMs, roles: ['api', 'worker'] });
    try {
      const stream = startStream(stage, scale < 1 ? 5 : 20);
      await sleep(4_000);
      await stream.stop();
      const faultAt = Date.now();
      const stopping = stage.alive('worker')[0]!.end('SIGTERM');
      await stage.start('worker');
      await stopping;
      const stopMs = Date.now() - faultAt;
      const ledger = await stage.settle({ scenario, accepted: stream.accepted, faultAt });
      if (stopMs > maxStopMs) ledger.broken.push(`the stop took ${stopMs} ms`);
      return { ...ledger, pass: ledger.pass && ledger.broken.length === 0 };
    } finally {
      await stage.close();
    }
  },
};
