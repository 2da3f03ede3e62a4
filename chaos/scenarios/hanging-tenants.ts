import { setTimeout as sleep } from 'node:timers/promises';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { startStream, triggerOnce } from '../stream.ts';

const hanging = Array.from({ length: 13 }, (_, n) => `hanging${n}`);
const healthy = 'healthy';
const timeoutMs = 30_000;
/** How long a message of the healthy organization may take. Behind a message of a hanging one it would take the whole timeout. */
const maxDelayMs = timeoutMs / 2;
const recipients = 100;

export const hangingTenants: Scenario = {
  title: `one host hangs for ${hanging.length} organizations, and works for another one`,
  async run(scenario, scale) {
    const organizations = [...hanging, healthy];
    const stage = await Stage.open({ recipients, timeoutMs, roles: ['api', 'worker'], organizations });
    try {
      for (const organization of hanging) await stage.mode('hang', `/hook/${organization}`);
      const faultAt = Date.now();
      let n = 0;
      for (const organization of hanging) {
        for (let i = 0; i < 4; i++) await triggerOnce(stage, n++, {}, { organization });
      }
      await sleep(1_000);
      const stream = startStream(stage, 2, { organization: healthy });
      await sleep(10_000 * Math.max(scale, 0.5));
      await stream.stop();
      const expected = stream.accepted.length * recipients;
      const receivedByHealthy = async () => (await stage.received()).filter(({ path }) => path === `/hook/${healthy}`);
      const end = Date.now() + maxDelayMs;
      while ((await receivedByHealthy()).length < expected && Date.now() < end) await sleep(200);
      const received = await receivedByHealthy();
      const delays = received.map(({ occurrence, at }) => at - (stream.acceptedAt.get(occurrence) ?? 0));
      const broken: string[] = [];
      const longest = Math.max(...delays);
      if (longest > maxDelayMs) broken.push(`a message of the healthy organization took ${longest} ms`);
      const lost = expected - new Set(received.map(({ id }) => id)).size;
      return {
        scenario,
        accepted: stream.accepted.length,
        expected,
        delivered: expected - lost,
        lost,
        duplicates: received.length - (expected - lost),
        duplicates_explained: 0,
        resumed_s: Math.round((Math.min(...received.map(({ at }) => at)) - faultAt) / 100) / 10,
        recovered_s: Math.round(longest / 100) / 10,
        broken,
        pass: lost === 0 && broken.length === 0 && expected > 0,
      };
    } finally {
      await stage.close();
    }
  },
};
