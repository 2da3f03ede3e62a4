import { setTimeout as sleep } from 'node:timers/promises';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { startStream } from '../stream.ts';

/** A provider that accepts messages without responding, for a while. */
const silent = (title: string, mode: 'drop' | 'hang'): Scenario => ({
  title,
  async run(scenario, scale) {
    const stage = await Stage.open({ recipients: 3, timeoutMs: 3_000, roles: ['api', 'worker'] });
    try {
      // Few triggers in a quick run: ten failures in a row would open the circuit breaker for half a minute.
      const stream = startStream(stage, scale < 1 ? 2 : 50);
      await sleep(2_000 * scale);
      const faultAt = Date.now();
      await stage.mode(mode);
      await sleep(3_000 * scale);
      await stage.mode('ok');
      const faultOverAt = Date.now();
      await sleep(2_000 * scale);
      await stream.stop();
      return await stage.settle({ scenario, accepted: stream.accepted, faultAt, faultOverAt });
    } finally {
      await stage.close();
    }
  },
});

export const providerDrops = silent(
  'the receiver accepts messages and closes the connection without a response',
  'drop',
);
export const providerHangs = silent('the receiver accepts messages and does not respond for a while', 'hang');
