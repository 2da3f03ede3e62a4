/**
 * Ends the pause of a restored or cloned database. Nothing is sent before the last step, so it can be interrupted and
 * started again.
 */
import { AppError } from '../../core/errors.ts';
import { actorName } from '../../core/identity/actor.ts';
import { lowestUuidAt } from '../../core/ids.ts';
import { discardUpdatesAcrossTenants } from '../../db/ledger/deliver/message-updates.ts';
import { cancelOccurrence, listUnfinishedAcrossTenants } from '../../db/ledger/expand/occurrence-ends.ts';
import { releaseStepsAcrossTenants } from '../../db/ledger/steps/steps.ts';
import { discardWebhookMessagesAcrossTenants } from '../../db/ledger/webhooks/queue.ts';
import { discardSourceUpdatesAcrossTenants } from '../../db/ledger/webhooks/source-updates.ts';
import {
  holdUnknownAcrossTenants,
  listDeadWorkersAcrossTenants,
  releaseOccurrencesAcrossTenants,
} from '../../db/ledger/workers.ts';
import { findInstancePause, readDatabaseFacts, recordInstance } from '../../db/operations/instance.ts';
import type { Deps } from '../deps.ts';
import { record } from './audit.ts';

/** What the database is, and whether work that was pending when it was copied is discarded. */
interface ResumeOptions {
  as: 'original' | 'copy';
  /** Always true for a copy. */
  discardPending: boolean;
}

export interface ResumeResult {
  /** Messages that were in flight when the copy was made: their outcome is unknown. */
  unknown: number;
  /** Cancelled occurrences, and the number of their messages. */
  cancelled: { occurrences: number; messages: number };
}

const batchSize = 500;

export async function resumeSending(deps: Deps, { as, discardPending }: ResumeOptions): Promise<ResumeResult> {
  const { db, pool } = deps;
  const pause = await findInstancePause(db);
  if (!pause) throw new AppError('instance.not_paused', 'sending is not paused, so there is nothing to resume');
  const unknown = await holdInFlight(deps);
  const cancelled = discardPending
    ? await cancelBefore(deps, lowestUuidAt(pause.since.getTime()), as)
    : { occurrences: 0, messages: 0 };
  // After the cancellations, which queue webhook messages as well.
  if (discardPending) await discardWebhookMessagesAcrossTenants(pool);
  if (discardPending) await discardUpdatesAcrossTenants(pool);
  if (discardPending) await discardSourceUpdatesAcrossTenants(pool);
  // Left empty for the running processes to fill in: this command may reach the database at another address.
  const external = { addresses: [], name: null, filesMadeAt: null };
  await recordInstance(db, await readDatabaseFacts(db), external);
  await pool.query(`select pg_notify('belfry_work', '')`);
  return { unknown, cancelled };
}

/** While sending is paused no worker claims anything, so claimed work was in flight when the copy was made. */
async function holdInFlight({ pool }: Deps): Promise<number> {
  let unknown = 0;
  for (const owner of await listDeadWorkersAcrossTenants(pool)) {
    await releaseOccurrencesAcrossTenants(pool, owner);
    await releaseStepsAcrossTenants(pool, owner);
    unknown += (await holdUnknownAcrossTenants(pool, owner)).settled;
  }
  return unknown;
}

async function cancelBefore(deps: Deps, before: string, as: ResumeOptions['as']): Promise<ResumeResult['cancelled']> {
  const byOrganization = new Map<number, { occurrences: number; messages: number }>();
  for await (const batch of listUnfinishedAcrossTenants(deps.pool, before, batchSize)) {
    for (const { organization_id, id } of batch) {
      const stopped = await cancelOccurrence(deps.pool, organization_id, id, {
        by: actorName(deps.actor),
        updatable: [],
        counts: false,
      });
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
