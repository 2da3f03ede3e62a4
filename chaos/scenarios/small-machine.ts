/** The service has little memory, or may open few files. PostgreSQL and the sink are not limited. */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../test/support/eventually.ts';
import { keyOf, type Ledger } from '../ledger.ts';
import { limitMemory } from '../memory-limit.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { startStream, triggerOnce } from '../stream.ts';

const maxMb = 256;
const maxFiles = 256;
const withFiles = ['sh', '-c', `ulimit -n ${maxFiles} && exec "$@"`, 'sh'];

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
  run: (scenario, scale) => runLimited(scenario, scale, withFiles),
};

export const descriptorsTaken: Scenario = {
  title: `clients open more connections than the ${maxFiles} files of a service before its first message is sent`,
  async run(scenario, scale) {
    const stage = await Stage.open({ recipients: 500 * scale, roles: ['all'], prefix: withFiles });
    const clients: Socket[] = [];
    try {
      const occurrence = await triggerOnce(stage, 0, { delay: '4s' });
      const { hostname, port } = new URL(stage.alive('all')[0]!.address);
      for (let i = 0; i < 2 * maxFiles; i++) {
        // Those beyond the limit are closed by the service.
        clients.push(connect(Number(port), hostname).on('error', () => {}));
      }
      const faultAt = Date.now();
      const broken: string[] = [];
      await waitFor('the messages', async () => (await stage.count()) === stage.recipients.length, 60_000).catch(() =>
        broken.push('not all messages were sent while the connections were open'),
      );
      for (const client of clients) client.destroy();
      const accepted = occurrence ? [occurrence] : [];
      return await stage.settle({ scenario, accepted, faultAt, faultOverAt: faultAt, broken, waitMs: 120_000 });
    } finally {
      for (const client of clients) client.destroy();
      await stage.close();
    }
  },
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
