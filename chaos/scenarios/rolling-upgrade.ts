import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { root } from '../../test/support/process.ts';
import { type PreviousVersion, unpackPreviousVersion } from '../previous.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { startStream } from '../stream.ts';

export const rollingUpgrade: Scenario = {
  title: 'API and workers of the previous version are replaced one by one during a stream',
  async run(scenario, scale) {
    const previous = await unpackPreviousVersion();
    try {
      return await upgrade(scenario, scale, previous);
    } finally {
      await previous.remove();
    }
  },
};

async function upgrade(scenario: string, scale: number, { folder }: PreviousVersion) {
  const stage = await Stage.open({ recipients: 3, sinkMs: 20, roles: ['api', 'worker', 'worker'], program: folder });
  const pause = () => sleep(3_000 * scale);
  try {
    const [oldApi, ...oldWorkers] = [...stage.alive('api'), ...stage.alive('worker')];
    const stream = startStream(stage, 50);
    await pause();
    const faultAt = Date.now();
    // Like a deployment: the migration first, then each new process next to the old ones.
    await stage.belfry(['migrate'], root);
    await pause();
    for (const old of oldWorkers) {
      await stage.start('worker', root);
      await pause();
      await old.end('SIGTERM');
    }
    await stage.start('api', root);
    await pause();
    await oldApi!.end('SIGTERM');
    await pause();
    await stream.stop();
    const refusal = await tryPrevious(stage, folder);
    const ledger = await stage.settle({ scenario, accepted: stream.accepted, faultAt });
    return refusal ? { ...ledger, broken: [...ledger.broken, refusal], pass: false } : ledger;
  } finally {
    await stage.close();
  }
}

/** Checks that the previous version refuses to start on the migrated database; returns the problem, if any. */
async function tryPrevious(stage: Stage, folder: string): Promise<string | undefined> {
  const [previous, current] = await Promise.all([folder, root].map(from => readdir(path.join(from, 'migrations'))));
  if (current!.every(file => previous!.includes(file))) return undefined;
  const message = await stage.start('worker', folder).then(
    () => 'it started',
    (error: Error) => error.message,
  );
  return message.includes('migrated by a newer Belfry')
    ? undefined
    : `the previous version did not refuse to start: ${message}`;
}
