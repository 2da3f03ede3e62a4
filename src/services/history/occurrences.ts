/** Reads, cancels and replays occurrences. */
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../core/errors.ts';
import { actorName } from '../../core/identity/actor.ts';
import * as lists from '../../db/history/delivery-list.ts';
import * as rows from '../../db/history/occurrences.ts';
import * as replays from '../../db/history/replays.ts';
import { cancelOccurrence, countCancelled } from '../../db/ledger/expand/occurrence-ends.ts';
import { listUpdatable } from '../../providers/provider.ts';
import type { Deps } from '../deps.ts';
import { record } from '../operations/audit.ts';

/** Counting stops here. */
export const maxSuppressed = 10_000;

export async function listSuppressedReasons({ db }: Deps, organizationId: number, identifier: string) {
  const found = await lists.listSuppressedReasons(db, organizationId, identifier, maxSuppressed);
  return found.map(one => ({ ...one, capped: one.count >= maxSuppressed }));
}

export async function getOccurrence({ db }: Deps, organizationId: number, identifier: string) {
  const occurrence = await rows.findOccurrence(db, organizationId, identifier);
  if (!occurrence) throw new AppError('occurrence.not_found', `there is no occurrence ${identifier}`);
  return occurrence;
}

/** How often and how long to wait until the workers have withdrawn what waits for a provider. */
const withdrawEveryMs = 50;
const withdrawMs = 1_000;

/** Cancels everything that is not sent yet. `sending` counts what a provider is accepting, and may arrive. */
export async function cancel(deps: Deps, organizationId: number, identifier: string) {
  const before = await countCancelled(deps.pool, organizationId, identifier);
  const result = await cancelOccurrence(deps.pool, organizationId, identifier, {
    by: actorName(deps.actor),
    updatable: listUpdatable(deps.providers),
    counts: true,
  });
  if (!result) {
    throw new AppError(
      'occurrence.ended',
      'there is nothing to cancel: the occurrence has ended or was already cancelled',
    );
  }
  const { ended } = result;
  countEnded(deps, ended);
  const counts = await awaitWithdrawal(deps, organizationId, identifier);
  const cancelled = counts.cancelled - before.cancelled;
  const sending = Math.max(0, counts.outstanding);
  await recordChange(deps, organizationId, {
    action: 'cancel',
    noun: 'occurrence',
    path: identifier,
    after: { cancelled, sending },
  });
  return { cancelled, sending };
}

/** Waits a moment until workers have withdrawn the messages that wait for a provider. */
async function awaitWithdrawal({ pool }: Deps, organizationId: number, identifier: string) {
  const deadline = performance.now() + withdrawMs;
  for (;;) {
    const counts = await countCancelled(pool, organizationId, identifier);
    if (counts.outstanding <= 0 || performance.now() >= deadline) return counts;
    await sleep(withdrawEveryMs);
  }
}

export async function replay(deps: Deps, organizationId: number, identifier: string): Promise<number> {
  const replayed = await replays.replayOccurrence(deps.pool, organizationId, identifier);
  await recordChange(deps, organizationId, {
    action: 'replay',
    noun: 'occurrence',
    path: identifier,
    after: { replayed },
  });
  return replayed;
}

/** Retries one delivery. Throws unless it failed or its outcome is unknown. */
export async function retryDelivery(deps: Deps, organizationId: number, identifier: string, id: number) {
  const retried = await replays.replayOccurrence(deps.pool, organizationId, identifier, [id]);
  if (retried === 0) {
    throw new AppError('delivery.not_failed', 'only deliveries that failed or whose outcome is unknown can be retried');
  }
  await recordChange(deps, organizationId, { action: 'retry', noun: 'delivery', path: `${identifier}/${id}` });
}

/** Counts the outcomes of ended occurrences for the metrics. */
export function countEnded({ endedByOutcome: sum }: Deps, ended: string[]): void {
  for (const outcome of ended) sum.set(outcome, (sum.get(outcome) ?? 0) + 1);
}

/** Records the change after it is committed, because a worker may see its effect immediately. */
async function recordChange(deps: Deps, organizationId: number, entry: Parameters<typeof record>[3]): Promise<void> {
  await record(deps, deps.db, organizationId, entry);
}
