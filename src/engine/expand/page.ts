/**
 * A page of recipients, decided for an occurrence or for a run of a step: which deliveries it becomes, which of them this
 * worker sends at once, and which go through the queue.
 */

import { allowedDeliveries } from '../../core/configuration/limits.ts';
import { isExcludedByTrigger, type Reason } from '../../core/decision/decide.ts';
import { priorityOf, type TriggerOptions } from '../../core/trigger.ts';
import type { RecipientRecord } from '../../db/audience/recipients.ts';
import { isUnavailable } from '../../db/connection/pool.ts';
import type { Cursor } from '../../db/ledger/cursor.ts';
import type { NewDelivery } from '../../db/ledger/deliver/deliveries.ts';
import type { ClaimedOccurrence, ExpansionPage, StoredDelivery } from '../../db/ledger/expand/expand.ts';
import type { Shares } from '../../db/ledger/round-robin.ts';
import type { Span } from '../../lib/telemetry/traces.ts';
import { currentTime } from '../../lib/time/clock.ts';
import type { DecisionPage, RecipientDecision } from '../../pipeline/decide.ts';
import type { EventPlan } from '../../pipeline/event-plan.ts';
import type { ClaimedDelivery } from '../deliver/deliver.ts';
import type { Engine } from '../engine.ts';
import { traceFields } from '../telemetry/spans.ts';

/** How many more deliveries this worker may take on, by priority class and organization. */
export interface Capacity {
  shares(priority: number): Shares;
  capacityFor(priority: number, organization: number): number;
  /** Returns how many recipients to decide together. */
  pageSize(priority: number): number;
  /** Returns the same for a further page of an organization. */
  pageSizeFor(priority: number, organization: number): number;
}

export interface PlannedDelivery extends NewDelivery {
  /** Whether its channel has limits. */
  isLimited: boolean;
  /** The type of its channel. */
  type: string;
  occurrence: ClaimedOccurrence;
  person: RecipientRecord;
  /** Whether an earlier page has stored it. */
  isStored?: boolean;
}

export interface ExpansionResult {
  /** Deliveries to send now. */
  claimed: ClaimedDelivery[];
  /** Priority classes with deliveries in the queue. */
  queued: Set<number>;
  /** Priority classes with further pages to expand. */
  next: Set<number>;
  /** Priority classes with steps to run. */
  steps: Set<number>;
  /** Whether nothing else is due. */
  isDrained: boolean;
  /** The occurrences of the pages. */
  occurrences: string[];
}

/**
 * Returns the connections for reading recipients: prepared statements on the hot pool, and any connection for creating
 * users.
 */
export function readConnections({ db, hot, plans }: Pick<Engine, 'db' | 'hot' | 'plans'>) {
  return { db, pool: hot, plans };
}

/** `readAt` is the generation of `engine.stops` before anything was read. */
export function toExpansionResult(
  pages: ExpansionPage<PlannedDelivery>[],
  stored: StoredDelivery<PlannedDelivery>[],
  { isDrained, readAt }: { isDrained: boolean; readAt: number },
): ExpansionResult {
  const queued = new Set<number>();
  const next = new Set<number>();
  const steps = new Set<number>();
  for (const { deliveries, cursor, retryAt, priority, steps: own = [] } of pages) {
    for (const one of own) steps.add(one.priority);
    for (const one of deliveries) if (one.status === 'pending' && !one.due_at) queued.add(one.priority);
    if (cursor && !retryAt) next.add(priority);
  }
  // Storing has checked that the occurrence is not cancelled.
  const claimed = stored.map(({ delivery, planned: { occurrence, person } }) => {
    const { attachments = null } = occurrence.options as TriggerOptions;
    return {
      delivery,
      state: { occurrence: Object.assign(occurrence, { cancelled_at: null, attachments }), person, readAt },
    };
  });
  return { claimed, queued, next, steps, isDrained, occurrences: pages.map(({ id }) => id) };
}

/** Deliveries per claim that a channel with limits sends without going through the queue. */
const maxForLimited = 50;
/**
 * Sends deliveries that exceed the capacity through the queue, where organizations take turns. So do most deliveries of
 * a channel with limits, which claims them at its own rate.
 */
export function deferOverflow(pages: ExpansionPage<PlannedDelivery>[], capacity: Capacity): void {
  const left = new Map<string, number>();
  const take = (share: string, free: () => number): boolean => {
    const now = left.get(share) ?? free();
    left.set(share, now - 1);
    return now > 0;
  };
  for (const { deliveries, organization_id } of pages) {
    for (const delivery of deliveries) {
      if (delivery.status !== 'sending') continue;
      const { priority, channel_id, isLimited } = delivery;
      const fits =
        take(`${priority}/${organization_id}`, () => capacity.capacityFor(priority, organization_id)) &&
        (!isLimited || take(`channel ${channel_id}`, () => maxForLimited));
      if (!fits) delivery.status = 'pending';
    }
  }
}

/** How long until a page that could not be decided is tried again: nothing accepted is given up. */
export const retryPageMs = 30_000;
const retryUnavailableMs = 1_000;

/** Decides a page. A page that fails is logged and postponed, so that it does not affect the others of its claim. */
export async function decideSafely<Page extends { span?: Span | undefined }>(
  engine: Engine,
  occurrence: { id: string; traceparent: string | null } | undefined,
  span: Span | undefined,
  decide: () => Promise<Page>,
  putOff: (until: Date) => Page,
): Promise<Page> {
  try {
    return { ...(await decide()), span };
  } catch (error) {
    const where = { occurrence: occurrence?.id, ...traceFields(occurrence) };
    engine.log.error({ err: error, ...where }, 'could not decide a page of recipients; trying again later');
    span?.end('service.internal');
    return putOff(new Date(currentTime() + (isUnavailable(error) ? retryUnavailableMs : retryPageMs)));
  }
}

/** Plans the deliveries of a decided page, up to the organization's limit of deliveries per trigger. */
export function planPage(
  engine: Engine,
  plan: EventPlan,
  occurrence: ClaimedOccurrence,
  /** Where the page starts; null: at the first recipient. */
  from: Cursor | null,
  decided: DecisionPage,
) {
  const options = occurrence.options as TriggerOptions;
  const included = decided.decisions.filter(({ reason }) => !isExcludedByTrigger(reason));
  const capacity = allowedDeliveries(plan.organization.deliveries_per_trigger, occurrence.deliveries, included.length);
  const isOver = capacity < included.length;
  if (isOver)
    engine.log.warn(
      { occurrence: occurrence.id, ...traceFields(occurrence) },
      'stopped an occurrence at the limit of deliveries per trigger',
    );
  const fansOut = from !== null || decided.cursor !== null;
  const deliveries = (isOver ? included.slice(0, capacity) : included).map(decision => ({
    ...decision,
    delivery: planDelivery(decision, occurrence, priorityOf(options, decision.notification.priority, fansOut)),
  }));
  const limit: Reason | undefined = isOver ? 'limit.fan_out' : decided.isOverUserLimit ? 'limit.users' : undefined;
  const leftOut = included.length - deliveries.length;
  return { deliveries, fansOut, limit, cursor: isOver ? null : decided.cursor, leftOut };
}

/** Returns why an occurrence has no deliveries: its trigger excluded everyone, its filters did, or there are no recipients. */
export function reasonForNoDeliveries({ decisions, refused, stepped }: DecisionPage): Reason {
  if (stepped.length > 0) return 'dry_run';
  return decisions.find(({ reason }) => isExcludedByTrigger(reason))?.reason ?? refused[0]?.reason ?? 'no_recipients';
}

export function planDelivery(
  decided: RecipientDecision,
  occurrence: ClaimedOccurrence,
  priority: number,
): PlannedDelivery {
  const { notification, channel, person, address, reason, detail, dueAt } = decided;
  return {
    notification_id: notification.id,
    version: notification.version,
    channel_id: channel.id,
    user_id: person.user_id,
    address,
    status: dueAt ? 'pending' : reason ? 'suppressed' : 'sending',
    due_at: dueAt ?? null,
    reason: reason ?? null,
    detail: detail ?? null,
    user_version: person.version,
    digest_id: null,
    type: channel.type,
    isLimited: channel.ratePerSecond !== null || channel.concurrency !== null,
    person,
    occurrence,
    priority,
  };
}
