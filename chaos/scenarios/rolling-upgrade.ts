import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { unpackVersions, type Versions } from '../previous.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { startStream } from '../stream.ts';

export const rollingUpgrade: Scenario = {
  title: 'API and workers of the previous version are replaced one by one during a stream',
  async run(scenario, scale) {
    const versions = await unpackVersions();
    try {
      return await upgrade(scenario, scale, versions);
    } finally {
      await versions.remove();
    }
  },
};

async function upgrade(scenario: string, scale: number, { previous, next }: Versions) {
  const stage = await Stage.open({ recipients: 3, sinkMs: 20, roles: ['api', 'worker', 'worker'], program: previous });
  const pause = () => sleep(3_000 * scale);
  try {
    const [oldApi, ...oldWorkers] = [...stage.alive('api'), ...stage.alive('worker')];
    const stream = startStream(stage, 50);
    await pause();
    const faultAt = Date.now();
    // Like a deployment: the migration first, then each new process next to the old ones.
    await stage.belfry(['migrate'], next);
    await pause();
    for (const old of oldWorkers) {
      await stage.start('worker', next);
      await pause();
      await old.end('SIGTERM');
    }
    await stage.start('api', next);
    await pause();
    await oldApi!.end('SIGTERM');
    await pause();
    await stream.stop();
    const refusal = await tryPrevious(stage, { previous, next });
    const ledger = await stage.settle({ scenario, accepted: stream.accepted, faultAt });
    return refusal ? { ...ledger, broken: [...ledger.broken, refusal], pass: false } : ledger;
  } finally {
    await stage.close();
  }
}

/** Checks that the previous version refuses to start on the migrated database; returns the problem, if any. */
async function tryPrevious(stage: Stage, { previous, next }: Omit<Versions, 'remove'>): Promise<string | undefined> {
  const [old, current] = await Promise.all([previous, next].map(from => readdir(path.join(from, 'migrations'))));
  if (current!.every(file => old!.includes(file))) return undefined;
  const message = await stage.start('worker', previous).then(
    () => 'it started',
    (error: Error) => error.message,
  );
  return message.includes('by a newer Belfry') ? undefined : `the previous version did not refuse to start: ${message}`;
}
