/**
 * Ends the pause of a database that was restored or cloned. Until it is ended nothing is sent, so this may be stopped at
 * any moment and begun again.
 */
import { AppError } from '../core/errors.ts';
import { lowestUuidAt } from '../core/ids.ts';
import { findInstancePause, readDatabaseFacts, recordInstance } from '../db/instance.ts';
import { cancelOccurrence, listUnfinishedAcrossTenants } from '../db/occurrence-ends.ts';
import { releaseStepsAcrossTenants } from '../db/steps.ts';
import { discardWebhookMessagesAcrossTenants } from '../db/webhook-queue.ts';
import {
  holdUnknownAcrossTenants,
  listDeadWorkersAcrossTenants,
  releaseOccurrencesAcrossTenants,
} from '../db/workers.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';

/** What it is, and what becomes of that which waited when it was copied. */
export interface Resumption {
  as: 'original' | 'copy';
  /** A copy never sends it. */
  discardPending: boolean;
}

export interface Resumed {
  /** Messages that were being sent when the copy was made: whether they arrived is not on record. */
  unknown: number;
  /** Occurrences that are cancelled, and how many messages of them. */
  cancelled: { occurrences: number; messages: number };
}

const atOnce = 500;

export async function resumeSending(deps: Deps, { as, discardPending }: Resumption): Promise<Resumed> {
  const { db, pool } = deps;
  const pause = await findInstancePause(db);
  if (!pause) throw new AppError('instance.not_paused', 'sending is not paused: there is nothing to resume');
  const unknown = await holdInFlight(deps);
  const cancelled = discardPending
    ? await cancelBefore(deps, lowestUuidAt(pause.since.getTime()), as)
    : { occurrences: 0, messages: 0 };
  // After the cancelling, of which webhooks would be told as well.
  if (discardPending) await discardWebhookMessagesAcrossTenants(pool);
  // By what the processes themselves know of it: whoever runs this may have come by another way.
  const unasked = { addresses: [], name: null, filesMadeAt: null };
  await recordInstance(db, await readDatabaseFacts(db), unasked);
  await pool.query(`select pg_notify('belfry_work', '')`);
  return { unknown, cancelled };
}

/** While sending is paused no worker owns anything: whatever has an owner was being worked on when the copy was made. */
async function holdInFlight({ pool }: Deps): Promise<number> {
  let unknown = 0;
  for (const owner of await listDeadWorkersAcrossTenants(pool)) {
    await releaseOccurrencesAcrossTenants(pool, owner);
    await releaseStepsAcrossTenants(pool, owner);
    unknown += (await holdUnknownAcrossTenants(pool, owner)).settled;
  }
  return unknown;
}

async function cancelBefore(deps: Deps, before: string, as: Resumption['as']): Promise<Resumed['cancelled']> {
  const byOrganization = new Map<number, { occurrences: number; messages: number }>();
  for await (const batch of listUnfinishedAcrossTenants(deps.pool, before, atOnce)) {
    for (const { organization_id, id } of batch) {
      const stopped = await cancelOccurrence(deps.pool, organization_id, id);
      if (!stopped) continue;
      const sum = byOrganization.get(organization_id) ?? { occurrences: 0, messages: 0 };
      byOrganization.set(organization_id, sum);
      sum.occurrences++;
      sum.messages += stopped.stopped;
    }
  }
  for (const [organizationId, after] of byOrganization) {
    await record(deps, deps.db, organizationId, {
      action: 'cancel',
      noun: 'occurrence',
      path: '',
      after: { as, ...after },
    });
  }
  const sums = [...byOrganization.values()];
  return {
    occurrences: sums.reduce((total, one) => total + one.occurrences, 0),
    messages: sums.reduce((total, one) => total + one.messages, 0),
  };
}
