/** The clocks of hosts are set back and forward. What is scheduled or retried is due by the database's clock. */
import { access, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../test/support/eventually.ts';
import { type Scenario, Skipped } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { triggerOnce } from '../stream.ts';

const library = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1';
const delayMs = 3_000;
/** A message must not be later than this after it is due, on a busy machine. */
const maxLateMs = 20_000;

type Host = 'api' | 'worker';

/** What is set, in each phase: seconds that the clock of each host is ahead. */
const phases: Record<Host, string>[] = [
  { api: '+0', worker: '-3600' },
  { api: '+0', worker: '+86400' },
  { api: '+86400', worker: '+0' },
  { api: '-3600', worker: '-3600' },
];

export const clockSet: Scenario = {
  title: 'the clocks of one host, and of both, are set back by an hour and forward by a day',
  async run(scenario, scale) {
    await access(library).catch(() => {
      throw new Skipped('libfaketime is not installed');
    });
    const stage = await Stage.open({ recipients: 3, roles: [] });
    const set = (host: Host, seconds: string) => writeFile(path.join(stage.folder, `clock-${host}`), seconds);
    const start = async (host: Host) => {
      await set(host, '+0');
      Object.assign(stage.environment, {
        LD_PRELOAD: library,
        FAKETIME_TIMESTAMP_FILE: path.join(stage.folder, `clock-${host}`),
        FAKETIME_NO_CACHE: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      });
      await stage.start(host);
    };
    try {
      await start('api');
      await start('worker');
      const accepted: string[] = [];
      const broken: string[] = [];
      const faultAt = Date.now();
      for (const [n, clocks] of phases.entries()) {
        await set('api', clocks.api);
        await set('worker', clocks.worker);
        // The first attempts fail, so that retries have to be due in time too.
        await stage.mode('error');
        const count = Math.ceil(20 * scale);
        const before = await stage.count();
        const triggers = Array.from({ length: count }, (_, i) =>
          triggerOnce(stage, 100 * n + i, i % 2 === 0 ? { delay: `${delayMs / 1_000}s` } : {}),
        );
        accepted.push(...(await Promise.all(triggers)).filter(one => one !== undefined));
        await sleep(1_000);
        await stage.mode('ok');
        const hasArrived = async () => (await stage.count()) - before >= 3 * count;
        await waitFor('the messages', hasArrived, delayMs + maxLateMs).catch(() =>
          broken.push(`late with the clocks at ${JSON.stringify(clocks)}`),
        );
      }
      return await stage.settle({ scenario, accepted, faultAt, broken });
    } finally {
      await stage.close();
    }
  },
};
