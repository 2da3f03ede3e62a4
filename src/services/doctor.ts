/** A thorough look at everything that can be wrong, with what to do about it. */
import { describeServerAcrossTenants } from '../db/health.ts';
import type { Deps } from './deps.ts';
import { checkChannels } from './doctor-channels.ts';
import { type Check, check, checkMigrations } from './health.ts';
import { examineQueue } from './queue.ts';

const clockToleranceMs = 5_000;

export async function examine(deps: Deps, now: number): Promise<Check[]> {
  const { db } = deps;
  const server = await describeServerAcrossTenants(db);
  return [
    { name: 'database', ok: true, detail: `PostgreSQL ${server.version}` },
    await checkMigrations(deps),
    await check('queue', () => examineQueue(db)),
    ...(await checkChannels(deps).catch(unreadable)),
    await check('clock', async () => {
      const offMs = server.now.getTime() - now;
      if (Math.abs(offMs) > clockToleranceMs) {
        throw new Error(`this machine and the database are ${Math.round(offMs / 1_000)} s apart: set the clock (NTP)`);
      }
      return 'agrees with the database';
    }),
  ];
}

/** A database whose migrations are behind has been named as such; the other checks still run. */
function unreadable(error: Error): Check[] {
  return [{ name: 'channels', ok: false, detail: error.message }];
}
