/** Sending again what failed: what it would do, by the same look at things that the engine takes before it sends. */
import { type Reason, reasons } from '../core/decide.ts';
import { recheck } from '../core/recheck.ts';
import { findOccurrencesAcrossTenants } from '../db/occurrences.ts';
import { findRecipientsAcrossTenants } from '../db/recipients.ts';
import { type FailedDelivery, findFailedDeliveries } from '../db/replays.ts';
import type { Deps } from './deps.ts';
import { getOccurrence } from './occurrences.ts';

/** So many deliveries are looked at: the answer stays quick whatever failed. */
export const mostChecked = 1_000;

/** What would become of a delivery: it is sent, it waits, or it ends unsent. */
export type Prospect = 'send' | 'wait' | 'skip';

export interface ReplayPreview extends Record<Prospect, number> {
  /** Deliveries that would be tried again. */
  deliveries: number;
  /** How many of them were looked at: the counts are of these. */
  checked: number;
  /** Why some of them would wait or end unsent, the most frequent first. */
  reasons: { prospect: 'wait' | 'skip'; reason: Reason; explanation: string; count: number }[];
  /** Whether recipients are looked up again too, as that was set aside. */
  expands: boolean;
}

/** Of all of an occurrence, or of one of its deliveries. */
export async function previewReplay(
  deps: Deps,
  organizationId: number,
  identifier: string,
  deliveryId?: number,
): Promise<ReplayPreview> {
  const { counts, reason } = await getOccurrence(deps, organizationId, identifier);
  const wanted = deliveryId === undefined ? undefined : [deliveryId];
  const failed = await findFailedDeliveries(deps.db, organizationId, identifier, wanted, mostChecked);
  const all = deliveryId === undefined ? counts.failed + counts.unknown : failed.length;
  const expands = deliveryId === undefined && reason === 'crashed';
  return { ...(await previewDeliveries(deps, organizationId, failed)), deliveries: all, expands };
}

/** Of deliveries of any occurrences. */
export async function previewDeliveries(
  deps: Deps,
  organizationId: number,
  failed: FailedDelivery[],
): Promise<Omit<ReplayPreview, 'deliveries' | 'expands'>> {
  const { pool, plans } = deps;
  const occurrenceIds = [...new Set(failed.map(one => one.occurrence_id))];
  const userIds = [...new Set(failed.map(one => one.user_id))];
  const [occurrences, people, channels] = await Promise.all([
    findOccurrencesAcrossTenants(
      pool,
      occurrenceIds.map(id => ({ organizationId, id })),
    ),
    findRecipientsAcrossTenants(
      pool,
      userIds.map(userId => ({ organizationId, userId })),
    ),
    plans.listChannels(organizationId),
  ]);
  const occurrenceById = new Map(occurrences.map(one => [one.id, one]));
  const personById = new Map(people.map(one => [one.user_id, one]));
  const channelById = new Map(channels.map(one => [one.id, one]));
  const now = Date.now();
  const preview = { checked: failed.length, send: 0, wait: 0, skip: 0 };
  const found = new Map<string, ReplayPreview['reasons'][number]>();
  for (const delivery of failed) {
    const occurrence = occurrenceById.get(delivery.occurrence_id);
    const plan = occurrence && (await plans.findEvent(organizationId, occurrence.event_id));
    const person = personById.get(delivery.user_id);
    const channel = channelById.get(delivery.channel_id);
    // It begins with the first provider again.
    const verdict = recheck({ delivery: { ...delivery, provider_index: 0 }, occurrence, person, channel, plan }, now);
    if (!verdict) {
      preview.send++;
      continue;
    }
    const { reason } = verdict;
    const prospect = verdict.status === 'held' || verdict.status === 'quiet' ? 'wait' : 'skip';
    preview[prospect]++;
    const entry = found.get(reason) ?? { prospect, reason, explanation: reasons[reason], count: 0 };
    entry.count++;
    found.set(reason, entry);
  }
  return { ...preview, reasons: [...found.values()].sort((a, b) => b.count - a.count) };
}
