/** Previews replays with the same checks that the engine runs before sending. */
import { type Reason, reasons } from '../../core/decision/decide.ts';
import { recheck } from '../../core/decision/recheck.ts';
import { findRecipientsAcrossTenants } from '../../db/audience/recipients.ts';
import { findOccurrencesAcrossTenants } from '../../db/history/occurrences.ts';
import { type FailedDelivery, findFailedDeliveries } from '../../db/history/replays.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { markSuppressed } from '../../pipeline/suppressions.ts';
import type { Deps } from '../deps.ts';
import { getOccurrence } from './occurrences.ts';

/** Deliveries that a preview checks, so that it stays fast however many failed. */
export const maxChecked = 1_000;

/** Expected outcome of a delivery: it is sent, it waits, or it ends unsent. */
export type Prospect = 'send' | 'wait' | 'skip';

export interface ReplayPreview extends Record<Prospect, number> {
  /** Number of deliveries that would be replayed. */
  deliveries: number;
  /** Number of deliveries that were checked; the counts refer to these. */
  checked: number;
  /** Why some of them would wait or end unsent, most frequent first. */
  reasons: { effect: 'wait' | 'skip'; reason: Reason; explanation: string; count: number }[];
  /** Whether the occurrence is also expanded again, because its expansion was abandoned after crashes. */
  expands: boolean;
}

/** Previews the replay of an occurrence, or of one of its deliveries. */
export async function previewReplay(
  deps: Deps,
  organizationId: number,
  identifier: string,
  deliveryId?: number,
): Promise<ReplayPreview> {
  const { counts, reason } = await getOccurrence(deps, organizationId, identifier);
  const ids = deliveryId === undefined ? undefined : [deliveryId];
  const failed = await findFailedDeliveries(deps.db, organizationId, identifier, ids, maxChecked);
  const all = deliveryId === undefined ? counts.failed + counts.unknown : failed.length;
  const expands = deliveryId === undefined && reason === 'crashed';
  return { ...(await previewDeliveries(deps, organizationId, failed)), deliveries: all, expands };
}

/** Previews the replay of failed deliveries, which may belong to different occurrences. */
export async function previewDeliveries(
  deps: Deps,
  organizationId: number,
  failed: FailedDelivery[],
): Promise<Omit<ReplayPreview, 'deliveries' | 'expands'>> {
  const { pool, plans } = deps;
  const occurrenceIds = [...new Set(failed.map(one => one.occurrence_id))];
  const userIds = [...new Set(failed.map(one => one.user_id))];
  const [occurrences, recipients, channels, silences] = await Promise.all([
    findOccurrencesAcrossTenants(
      pool,
      occurrenceIds.map(id => ({ organizationId, id })),
    ),
    findRecipientsAcrossTenants(
      pool,
      userIds.map(userId => ({ organizationId, userId })),
    ),
    plans.listChannels(organizationId),
    plans.findSilences(organizationId),
  ]);
  await markSuppressed(deps, recipients);
  const occurrenceById = new Map(occurrences.map(one => [one.id, one]));
  const recipientById = new Map(recipients.map(one => [one.user_id, one]));
  const channelById = new Map(channels.map(one => [one.id, one]));
  const now = currentTime();
  const preview = { checked: failed.length, send: 0, wait: 0, skip: 0 };
  const found = new Map<string, ReplayPreview['reasons'][number]>();
  for (const delivery of failed) {
    const occurrence = occurrenceById.get(delivery.occurrence_id);
    const plan = occurrence && (await plans.findEvent(organizationId, occurrence.event_id));
    const recipient = recipientById.get(delivery.user_id);
    const channel = channelById.get(delivery.channel_id);
    // A replay starts with the first provider again.
    const verdict = recheck(
      {
        delivery: { ...delivery, provider_index: 0, is_dropped: false, digest_id: null },
        occurrence,
        recipient,
        channel,
        plan,
        silences,
      },
      now,
    );
    if (!verdict) {
      preview.send++;
      continue;
    }
    const { reason } = verdict;
    const effect = ['held', 'quiet', 'silenced'].includes(verdict.status) ? 'wait' : 'skip';
    preview[effect]++;
    const entry = found.get(reason) ?? { effect, reason, explanation: reasons[reason], count: 0 };
    entry.count++;
    found.set(reason, entry);
  }
  return { ...preview, reasons: [...found.values()].sort((a, b) => b.count - a.count) };
}
