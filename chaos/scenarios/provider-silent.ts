import { setTimeout as sleep } from 'node:timers/promises';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { startStream } from '../stream.ts';

/** A provider that takes messages and says nothing, in one way or the other, for a while. */
const silent = (title: string, mode: 'drop' | 'hang'): Scenario => ({
  title,
  async run(scenario, scale) {
    const stage = await Stage.open({ recipients: 3, timeoutMs: 1_000, roles: ['api', 'worker'] });
    try {
      const stream = startStream(stage, 50);
      await sleep(2_000 * scale);
      const faultAt = Date.now();
      await stage.mode(mode);
      await sleep(3_000 * scale);
      await stage.mode('ok');
      const faultOverAt = Date.now();
      await sleep(2_000 * scale);
      await stream.stop();
      // Whose answer was lost may come once more; nobody else may.
      const unanswered = async () => (await stage.received()).filter(({ answered }) => !answered).length;
      const facts = { scenario, accepted: stream.accepted, faultAt, faultOverAt, inFlight: await unanswered() };
      return await stage.settle(facts);
    } finally {
      await stage.close();
    }
  },
});

export const providerDrops = silent('a provider takes messages and closes the connection without an answer', 'drop');
export const providerHangs = silent('a provider takes messages and never answers, for a while', 'hang');
