/**
 * Throttling: refuses messages over the limits of a recipient. Messages are counted in the transaction that stores them
 * with the counts locked, so that any number of workers together let through exactly as many as one would.
 */
import type pg from 'pg';
import { dayMs, takeThrottleSlot, throttleKey } from '../core/decision/throttle.ts';
import type { JsonObject } from '../core/json.ts';
import {
  findThrottleUsesAcrossTenants,
  lockThrottleUsesAcrossTenants,
  type OrganizationClaim,
  storeThrottleUsesAcrossTenants,
  type TenantUses,
} from '../db/ledger/digests/throttle.ts';
import type { RecipientDecision } from './decide.ts';
import type { EventPlan } from './event-plan.ts';

/** A message of an occurrence to one recipient, with the throttles that apply to it. */
export interface ThrottledMessage {
  organizationId: number;
  claims: OrganizationClaim[];
  /** The positions of its decisions, one for each channel. */
  positions: number[];
}

type ThrottledDecision = Pick<RecipientDecision, 'notification' | 'recipient' | 'reason' | 'dueAt' | 'isUrgent'>;

/**
 * Groups decisions by recipient and notification; omits those to which no throttle applies. A message that waits for the end
 * of quiet hours counts now.
 */
export function groupThrottledMessages(
  plan: EventPlan,
  context: JsonObject,
  decisions: readonly ThrottledDecision[],
): ThrottledMessage[] {
  const { organization, topic } = plan;
  const groups = new Map<string, ThrottledMessage>();
  const keys = new Map<number, string>();
  for (const [position, { notification, recipient, reason, dueAt, isUrgent }] of decisions.entries()) {
    if (reason && !dueAt) continue;
    const { throttle } = notification;
    const isCapped = organization.max_per_day !== null && !isUrgent && topic.category.kind !== 'required';
    if (!throttle && !isCapped) continue;
    const name = `${notification.id} ${recipient.user_id}`;
    const group = groups.get(name);
    if (group) {
      group.positions.push(position);
      continue;
    }
    const base = { organizationId: organization.id, userId: recipient.user_id };
    const claims: OrganizationClaim[] = [];
    if (throttle) {
      const key = keys.get(notification.id) ?? throttle.keyOf(context);
      keys.set(notification.id, key);
      const { max, perMs } = throttle;
      const digestsOverflow = throttle.digestsOverflow && !isUrgent;
      claims.push({ ...base, notificationId: notification.id, key, max, perMs, digestsOverflow });
    }
    if (isCapped) claims.push({ ...base, notificationId: 0, key: '', max: organization.max_per_day!, perMs: dayMs });
    groups.set(name, { organizationId: organization.id, claims, positions: [position] });
  }
  return [...groups.values()];
}

export function lockThrottleUses(client: pg.PoolClient, messages: readonly ThrottledMessage[]): Promise<TenantUses> {
  return lockThrottleUsesAcrossTenants(client, mergeClaims(messages));
}

export function findThrottleUses(pool: pg.Pool, messages: readonly ThrottledMessage[]): Promise<TenantUses> {
  return findThrottleUsesAcrossTenants(pool, mergeClaims(messages));
}

export function storeThrottleUses(
  client: pg.PoolClient,
  messages: readonly ThrottledMessage[],
  uses: TenantUses,
  now: number,
): Promise<void> {
  return storeThrottleUsesAcrossTenants(client, mergeClaims(messages), uses, now);
}

/** Counts a message, unless it is over a limit. `isCounted`: it joins digests that already count for the organization's limit. */
export function takeThrottle(
  { organizationId, claims }: ThrottledMessage,
  uses: TenantUses,
  now: number,
  isCounted = false,
): ReturnType<typeof takeThrottleSlot> {
  const own = uses.get(organizationId) ?? new Map<string, number[]>();
  uses.set(organizationId, own);
  return takeThrottleSlot(isCounted ? claims.filter(({ notificationId }) => notificationId !== 0) : claims, own, now);
}

/** Returns one claim for each key; the longest window decides how long the uses are kept. */
function mergeClaims(messages: readonly ThrottledMessage[]): OrganizationClaim[] {
  const found = new Map<string, OrganizationClaim>();
  for (const claim of messages.flatMap(({ claims }) => claims)) {
    const name = `${claim.organizationId} ${throttleKey(claim)}`;
    const other = found.get(name);
    if (!other || other.perMs < claim.perMs) found.set(name, claim);
  }
  return [...found.values()];
}
