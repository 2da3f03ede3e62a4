/** The service has little memory, or may open few files. PostgreSQL and the sink are not limited. */
import { setTimeout as sleep } from 'node:timers/promises';
import { keyOf, type Ledger } from '../ledger.ts';
import { limitMemory } from '../memory-limit.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { startStream, triggerOnce } from '../stream.ts';

const maxMb = 256;
const maxFiles = 256;

export const smallMemory: Scenario = {
  title: `a service with ${maxMb} MB of memory has a stream and a fan-out to 10,000`,
  async run(scenario, scale) {
    const limit = await limitMemory(maxMb);
    try {
      const ledger = await runLimited(scenario, scale, limit.prefix);
      console.log(`  used at most ${await limit.peakMb()} MB`);
      return ledger;
    } finally {
      await limit.remove();
    }
  },
};

export const fewDescriptors: Scenario = {
  title: `a service that may open ${maxFiles} files has a stream and a fan-out to 10,000`,
  run: (scenario, scale) => runLimited(scenario, scale, ['sh', '-c', `ulimit -n ${maxFiles} && exec "$@"`, 'sh']),
};

async function runLimited(scenario: string, scale: number, prefix: string[]): Promise<Ledger> {
  const stage = await Stage.open({ recipients: 1, roles: ['all'], prefix });
  try {
    const faultAt = Date.now();
    const stream = startStream(stage, 50);
    const named = Array.from({ length: 10_000 * scale }, (_, i) => `named${i}@chaos.test`);
    const fanOut = await triggerOnce(stage, 1, { recipients: named }, { event: 'go', key: 'fan-out' });
    await sleep(10_000 * scale);
    await stream.stop();
    const broken = fanOut ? [] : ['the fan-out was not accepted'];
    const accepted = [...stream.accepted, ...(fanOut ? [fanOut] : [])];
    const expectedToo = fanOut ? named.map(recipient => keyOf({ occurrence: fanOut, recipient })) : [];
    const ledger = await stage.settle({ scenario, accepted, expectedToo, faultAt, broken, waitMs: 300_000 });
    if (stage.alive('all').length === 0) ledger.broken.push('the service has ended');
    return { ...ledger, pass: ledger.pass && ledger.broken.length === 0 };
  } finally {
    await stage.close();
  }
}
