/** Shows how messages were changed after they were sent, or that their provider cannot change them. */
import { isBundleId } from '../../core/decision/bundle.ts';
import { lookUp } from '../../core/lookup.ts';
import type { OccurrenceChange, UpdateAction } from '../../core/message/message-updates.ts';
import type { DeliveryView } from '../../db/history/delivery-list.ts';
import * as rows from '../../db/history/message-updates.ts';
import type { Deps } from '../deps.ts';

export interface MessageUpdate {
  /** When it was attempted; if it was not, when the occurrence changed. */
  at: Date;
  change: OccurrenceChange;
  by: string | null;
  /** Null while nothing was attempted. */
  action: UpdateAction | null;
  outcome: 'done' | 'waiting' | 'retrying' | 'failed' | 'unsupported';
  detail: string | null;
  ms: number | null;
}

type UpdatedDelivery = Pick<DeliveryView, 'id' | 'status' | 'provider' | 'digest' | 'resolved'>;

/** Returns the updates of each of these deliveries of an occurrence, oldest first. */
export async function listMessageUpdates(
  { db, providers }: Pick<Deps, 'db' | 'providers'>,
  organizationId: number,
  identifier: string,
  deliveries: readonly UpdatedDelivery[],
): Promise<(delivery: UpdatedDelivery) => MessageUpdate[]> {
  const sent = deliveries.filter(({ status, resolved }) => status === 'sent' && !resolved).map(({ id }) => id);
  const last = sent.length > 0 ? await rows.findLastChange(db, organizationId, identifier) : undefined;
  if (!last) return () => [];
  const found = await rows.listMessageUpdates(db, organizationId, identifier, sent);
  const byDelivery = new Map(found.map(row => [row.delivery_id, row]));
  const bundles = [...new Set(deliveries.flatMap(({ digest }) => (digest && isBundleId(digest) ? digest : [])))];
  const bundled = bundles.length > 0 ? await rows.listBundleUpdates(db, organizationId, bundles) : [];
  const byBundle = new Map(bundled.map(row => [row.bundle, row]));
  const none = { action: null, detail: null, ms: null };
  return ({ id, provider, digest }) => {
    if (!sent.includes(id)) return [];
    const isBundle = isBundleId(digest);
    const row = isBundle ? byBundle.get(digest!) : byDelivery.get(id);
    if (row) {
      const waits = row.status === 'waiting' && row.log.at(-1)?.change !== row.change;
      const { change, changed_by: by, changed_at: at } = row;
      const past = row.log.map(entry => ({ ...entry, at: new Date(entry.at) }));
      return waits ? [...past, { ...none, at, change, by, outcome: 'waiting' }] : past;
    }
    const isUnchangeable = provider && !lookUp(providers, provider)?.updates;
    if (isBundle && !isUnchangeable) {
      return [
        {
          ...none,
          ...last,
          outcome: 'waiting',
          detail: 'A message about several alerts changes when all of them are over.',
        },
      ];
    }
    const detail = isUnchangeable
      ? `${lookUp(providers, provider)?.title ?? provider} cannot change a message after it was sent.`
      : digest
        ? 'A digest also contains other messages, so it is not changed.'
        : undefined;
    return detail ? [{ ...none, ...last, outcome: 'unsupported', detail }] : [];
  };
}

const verbs = {
  update: { done: 'was updated', other: 'be updated' },
  retract: { done: 'was retracted', other: 'be retracted' },
};

/** Explains the last update in a sentence; empty if there is none. */
export function explainUpdates(updates: readonly MessageUpdate[]): string {
  const last = updates.at(-1);
  if (!last) return '';
  const { change, by, at, outcome, detail } = last;
  const cause = `after the occurrence was ${change}${by ? ` by ${by}` : ''}`;
  const { done, other } = verbs[last.action ?? (change === 'cancelled' ? 'retract' : 'update')];
  switch (outcome) {
    case 'done':
      return `It ${done} at ${at.toISOString()}, ${cause}.`;
    case 'unsupported':
      return `It was not changed ${cause}: ${detail}`;
    case 'failed':
      return `It could not ${other} ${cause}. Details: ${detail}`;
    default:
      return `It will ${other}, ${cause}.${detail ? ` Details: ${detail}` : ''}`;
  }
}
