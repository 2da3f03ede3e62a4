/** A page of recipients, decided for an occurrence or for a run of a step: which deliveries it becomes. */
import { allowedDeliveries } from '../core/configuration/limits.ts';
import { isExcludedByTrigger, type Reason } from '../core/decision/decide.ts';
import { canBeResolved } from '../core/decision/silences.ts';
import { writeRun } from '../core/decision/steps.ts';
import { priorityOf, type TriggerOptions } from '../core/trigger.ts';
import type { RecipientRecord } from '../db/audience/recipients.ts';
import type { OccurrenceFacts } from '../db/history/occurrences.ts';
import type { Cursor } from '../db/ledger/cursor.ts';
import type { NewDelivery } from '../db/ledger/deliver/deliveries.ts';
import type { ClaimedOccurrence } from '../db/ledger/expand/expand.ts';
import type { DecisionPage, RecipientDecision } from './decide.ts';
import type { Placement } from './digest.ts';
import type { EventPlan } from './event-plan.ts';
import { isLimited } from './plans.ts';

export interface PlannedDelivery extends NewDelivery {
  /** Whether its channel has limits. */
  isLimited: boolean;
  /** The type of its channel. */
  type: string;
  occurrence: OccurrenceFacts;
  recipient: RecipientRecord;
}

/** Plans the deliveries of a decided page, up to the organization's limit of deliveries per trigger. */
export function planPage(
  plan: EventPlan,
  occurrence: ClaimedOccurrence,
  /** Where the page starts; null: at the first recipient. */
  from: Cursor | null,
  decided: DecisionPage,
  step?: number,
) {
  const options = occurrence.options as TriggerOptions;
  const included = decided.decisions.filter(({ reason }) => !isExcludedByTrigger(reason));
  const capacity = allowedDeliveries(plan.organization.deliveries_per_trigger, occurrence.deliveries, included.length);
  const isOver = capacity < included.length;
  const fansOut = from !== null || decided.cursor !== null;
  const facts = toFacts(occurrence);
  const decisions = isOver ? included.slice(0, capacity) : included;
  const deliveries = decisions.map(one =>
    planDelivery(one, facts, priorityOf(options, one.notification.priority, fansOut), step),
  );
  const limit: Reason | undefined = isOver ? 'limit.fan_out' : decided.isOverUserLimit ? 'limit.users' : undefined;
  const leftOut = included.length - deliveries.length;
  return { decisions, deliveries, fansOut, limit, cursor: isOver ? null : decided.cursor, leftOut };
}

/** Returns what sending needs to know. */
export function toFacts(occurrence: ClaimedOccurrence): OccurrenceFacts {
  const options = occurrence.options as TriggerOptions;
  const attachments = options.attachments ?? null;
  // What is decided now has the context of now.
  return { ...occurrence, earlier_contexts: null, attachments, is_keyed: canBeResolved(options) };
}

/** Returns why an occurrence has other recipients than it should, or none. */
export function reasonOf(page: DecisionPage): Reason {
  return page.usesFallback ? 'schedule.fallback' : reasonForNoDeliveries(page);
}

/** Returns why an occurrence has no deliveries: its trigger excluded everyone, its filters did, or there are no recipients. */
export function reasonForNoDeliveries({ decisions, refused, stepped }: DecisionPage): Reason {
  if (stepped.length > 0) return 'dry_run';
  return decisions.find(({ reason }) => isExcludedByTrigger(reason))?.reason ?? refused[0]?.reason ?? 'no_recipients';
}

export function planDelivery(
  { notification, channel, recipient, address, reason, detail, dueAt, turn, variant }: RecipientDecision,
  occurrence: OccurrenceFacts,
  priority: number,
  step?: number,
): PlannedDelivery {
  return {
    notification_id: notification.id,
    version: notification.version,
    channel_id: channel.id,
    user_id: recipient.user_id,
    address,
    status: dueAt ? 'pending' : reason ? 'suppressed' : 'sending',
    due_at: dueAt ?? null,
    reason: reason ?? null,
    detail: detail ?? null,
    user_version: recipient.version,
    digest_id: null,
    ...(step !== undefined && { step: writeRun(step, turn) }),
    ...(variant && { variant }),
    type: channel.type,
    isLimited: isLimited(channel),
    recipient,
    occurrence,
    priority,
  };
}

/** Returns the deliveries with what digests and throttles have decided about them, by position. */
export function placeDeliveries<Planned extends NewDelivery>(
  deliveries: Planned[],
  placements: ReadonlyMap<number, Placement>,
): Planned[] {
  if (placements.size === 0) return deliveries;
  return deliveries.map((delivery, position) => {
    const placement = placements.get(position);
    if (!placement) return delivery;
    if (placement === 'refused') return { ...delivery, status: 'suppressed', reason: 'throttled', due_at: null };
    if (placement === 'sent') return { ...delivery, status: 'sending', reason: null, due_at: null };
    const { digest, dueAt } = placement;
    return { ...delivery, status: 'pending', reason: 'digest', due_at: dueAt, digest_id: digest.id };
  });
}
