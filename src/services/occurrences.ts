/** What became of triggers: asking for it, and changing it. */
import { AppError } from '../core/errors.ts';
import type { NewOccurrence, StoredOccurrence } from '../db/accepting.ts';
import * as lists from '../db/delivery-list.ts';
import { cancelOccurrence } from '../db/occurrence-ends.ts';
import * as rows from '../db/occurrences.ts';
import type { PageRequest } from '../db/page.ts';
import { isUnavailable, sqlState } from '../db/pool.ts';
import * as replays from '../db/replays.ts';
import { Batcher } from '../lib/batcher.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';

export function createOccurrenceBatcher<Item extends NewOccurrence>(
  store: (items: Item[]) => Promise<StoredOccurrence[]>,
): Batcher<Item, StoredOccurrence> {
  return new Batcher(store, {
    mostPerBatch: 500,
    mostWaiting: 20_000,
    full: () =>
      new AppError('service.unavailable', 'triggers arrive faster than they can be stored', { retryAfterSeconds: 1 }),
    isItemsFault: error => sqlState(error) !== undefined && !isUnavailable(error),
  });
}

export async function listOccurrences(
  { db }: Deps,
  organizationId: number,
  filter: rows.OccurrenceFilter,
  page: { before: string; limit: number },
) {
  return rows.listOccurrences(db, organizationId, filter, page);
}

export async function listDeliveries(
  { db }: Deps,
  organizationId: number,
  identifier: string,
  filter: lists.DeliveryFilter,
  page: PageRequest,
) {
  return lists.listDeliveries(db, organizationId, identifier, filter, page);
}

export async function listDeliveriesByAttention(
  { db }: Deps,
  organizationId: number,
  identifier: string,
  after: { group: number; id: number },
  limit: number,
) {
  return lists.listDeliveriesByAttention(db, organizationId, identifier, after, limit);
}

/** Further than this nobody counts. */
export const mostSuppressed = 10_000;

export async function listSuppressedReasons({ db }: Deps, organizationId: number, identifier: string) {
  const found = await lists.listSuppressedReasons(db, organizationId, identifier, mostSuppressed);
  return found.map(one => ({ ...one, capped: one.count >= mostSuppressed }));
}

export async function hasOccurrence({ db }: Deps, organizationId: number, identifier: string): Promise<boolean> {
  return (await rows.findOccurrence(db, organizationId, identifier)) !== undefined;
}

export async function hasDelivery(
  { db }: Deps,
  organizationId: number,
  identifier: string,
  id: number,
): Promise<boolean> {
  return (await lists.findDelivery(db, organizationId, identifier, id)) !== undefined;
}

export async function getOccurrence({ db }: Deps, organizationId: number, identifier: string) {
  const occurrence = await rows.findOccurrence(db, organizationId, identifier);
  if (!occurrence) throw new AppError('occurrence.not_found', `there is no occurrence ${identifier}`);
  return occurrence;
}

/** What is sent already stays sent. */
export async function cancel(deps: Deps, organizationId: number, identifier: string): Promise<number> {
  const result = await cancelOccurrence(deps.pool, organizationId, identifier);
  if (!result) {
    throw new AppError(
      'occurrence.ended',
      'there is nothing left to cancel: the occurrence has ended or was cancelled',
    );
  }
  const { stopped: cancelled, ended } = result;
  countEnded(deps, ended);
  await note(deps, organizationId, { action: 'cancel', noun: 'occurrence', path: identifier, after: { cancelled } });
  return cancelled;
}

export async function replay(deps: Deps, organizationId: number, identifier: string): Promise<number> {
  const replayed = await replays.replayOccurrence(deps.pool, organizationId, identifier);
  await note(deps, organizationId, { action: 'replay', noun: 'occurrence', path: identifier, after: { replayed } });
  return replayed;
}

/** One delivery again; what is not failed or unknown stays as it is. */
export async function retryDelivery(deps: Deps, organizationId: number, identifier: string, id: number) {
  const retried = await replays.replayOccurrence(deps.pool, organizationId, identifier, [id]);
  if (retried === 0) {
    throw new AppError('delivery.not_failed', 'only what failed, or whose outcome is unknown, can be sent again');
  }
  await note(deps, organizationId, { action: 'retry', noun: 'delivery', path: `${identifier}/${id}` });
}

/** For the metrics. */
export function countEnded({ ended: sum }: Deps, ended: string[]): void {
  for (const outcome of ended) sum.set(outcome, (sum.get(outcome) ?? 0) + 1);
}

/** After the fact: the statements above commit by themselves, and a worker may see their effect at once. */
async function note(deps: Deps, organizationId: number, entry: Parameters<typeof record>[3]): Promise<void> {
  await record(deps, deps.db, organizationId, entry);
}
