import { setTimeout as sleep } from 'node:timers/promises';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { startStream } from '../stream.ts';

/** How long a message of the other organization may take. Those of the slow receiver take at least as long as the timeout. */
const maxDelayMs = 5_000;

export const slowReceiver: Scenario = {
  title: 'the receiver of one organization sends its responses at one byte per second',
  async run(scenario, scale) {
    const timeoutMs = 6_000;
    const stage = await Stage.open({ recipients: 3, timeoutMs, roles: ['api', 'worker'], organizations: ['other'] });
    try {
      const slow = startStream(stage, scale < 1 ? 10 : 50);
      const other = startStream(stage, 30, { organization: 'other' });
      await sleep(2_000 * scale);
      const faultAt = Date.now();
      await stage.mode('trickle');
      await sleep(Math.max(10_000 * scale, 3_000));
      await other.stop();
      await stage.mode('ok');
      const faultOverAt = Date.now();
      await sleep(2_000 * scale);
      await slow.stop();
      const accepted = [...slow.accepted, ...other.accepted];
      const ledger = await stage.settle({ scenario, accepted, faultAt, faultOverAt });
      const received = await stage.received();
      const delays = received.flatMap(({ occurrence, at }) => {
        const acceptedAt = other.acceptedAt.get(occurrence);
        return acceptedAt === undefined ? [] : [at - acceptedAt];
      });
      const longest = Math.max(...delays);
      if (longest > maxDelayMs) ledger.broken.push(`a message of the other organization took ${longest} ms`);
      return { ...ledger, pass: ledger.pass && ledger.broken.length === 0 };
    } finally {
      await stage.close();
    }
  },
};
