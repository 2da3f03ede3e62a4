/** Messages that are rendered in threads, on a machine whose processors are taken: it may take long, and must not fail. */
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { startStream } from '../stream.ts';

const burnersPerCore = 12;
/** Long enough that it is rendered in a thread. */
const body = Array.from({ length: 400 }, (_, i) => `- item ${i} of *{{ n }}* and [more](https://x.test/${i})`).join(
  '\n',
);

export const busyMachine: Scenario = {
  title: `${burnersPerCore} processes per core compute while long messages are rendered`,
  async run(scenario, scale) {
    const stage = await Stage.open({
      recipients: 3,
      roles: ['api', 'worker'],
      notification: { message: { subject: '{{ user.email }}', body } },
    });
    const burner = fileURLToPath(new URL('../burn.ts', import.meta.url));
    const burners: ReturnType<typeof fork>[] = [];
    try {
      const stream = startStream(stage, 5);
      await sleep(2_000);
      const faultAt = Date.now();
      for (let i = 0; i < burnersPerCore * availableParallelism(); i++) burners.push(fork(burner));
      await sleep(15_000 * Math.max(scale, 0.4));
      for (const one of burners) one.kill('SIGKILL');
      const faultOverAt = Date.now();
      await stream.stop();
      return await stage.settle({ scenario, accepted: stream.accepted, faultAt, faultOverAt });
    } finally {
      for (const one of burners) one.kill('SIGKILL');
      await stage.close();
    }
  },
};
