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
  /** These act on the decisions for all channels of the message. */
  take: () => void;
  refuse: () => void;
  digest: (until: Date) => void;
  /** Whether the message joins digests that are already counted. */
  isCounted: () => boolean;
}

type ThrottledDecision = Pick<RecipientDecision, 'notification' | 'person' | 'reason' | 'dueAt' | 'isUrgent'>;

/** Callbacks that apply the result to a decision. */
interface ThrottleHandlers<Decision> {
  refuse: (decision: Decision) => void;
  take?: (decision: Decision) => void;
  /** If absent, messages over the limit are refused. */
  digest?: (decision: Decision, until: Date) => void;
  isCounted?: (decision: Decision) => boolean;
}

/**
 * Groups decisions by recipient and notification; omits those to which no throttle applies. A message that waits for the end
 * of quiet hours counts now.
 */
export function groupThrottledMessages<Decision extends ThrottledDecision>(
  plan: EventPlan,
  context: JsonObject,
  decisions: readonly Decision[],
  { refuse, take = () => {}, digest = refuse, isCounted = () => false }: ThrottleHandlers<Decision>,
): ThrottledMessage[] {
  const { organization, topic } = plan;
  const groups = new Map<string, { decisions: Decision[]; claims: OrganizationClaim[] }>();
  const keys = new Map<number, string>();
  for (const decision of decisions) {
    const { notification, person, reason, dueAt, isUrgent } = decision;
    if (reason && !dueAt) continue;
    const { throttle } = notification;
    const isCapped = organization.max_per_day !== null && !isUrgent && topic.category.kind !== 'required';
    if (!throttle && !isCapped) continue;
    const name = `${notification.id} ${person.user_id}`;
    const group = groups.get(name);
    if (group) {
      group.decisions.push(decision);
      continue;
    }
    const base = { organizationId: organization.id, userId: person.user_id };
    const claims: OrganizationClaim[] = [];
    if (throttle) {
      const key = keys.get(notification.id) ?? throttle.keyOf(context);
      keys.set(notification.id, key);
      const { max, perMs } = throttle;
      const digestsOverflow = throttle.digestsOverflow && !isUrgent;
      claims.push({ ...base, notificationId: notification.id, key, max, perMs, digestsOverflow });
    }
    if (isCapped) claims.push({ ...base, notificationId: 0, key: '', max: organization.max_per_day!, perMs: dayMs });
    groups.set(name, { decisions: [decision], claims });
  }
  return [...groups.values()].map(({ decisions: own, claims }) => ({
    organizationId: organization.id,
    claims,
    take: () => own.forEach(take),
    refuse: () => own.forEach(refuse),
    digest: until => {
      for (const decision of own) digest(decision, until);
    },
    isCounted: () => own.every(isCounted),
  }));
}

/** Applies throttles, in the transaction that stores the deliveries. */
export async function throttle(
  client: pg.PoolClient,
  messages: readonly ThrottledMessage[],
  now: number,
): Promise<void> {
  if (messages.length === 0) return;
  const claims = mergeClaims(messages);
  const uses = await lockThrottleUsesAcrossTenants(client, claims);
  applyThrottles(messages, uses, now);
  await storeThrottleUsesAcrossTenants(client, claims, uses, now);
}

/** Applies throttles without storing the counts. */
export async function simulateThrottle(
  pool: pg.Pool,
  messages: readonly ThrottledMessage[],
  now: number,
): Promise<void> {
  if (messages.length === 0) return;
  applyThrottles(messages, await findThrottleUsesAcrossTenants(pool, mergeClaims(messages)), now);
}

function applyThrottles(messages: readonly ThrottledMessage[], uses: TenantUses, now: number): void {
  for (const { organizationId, claims, take, refuse, digest, isCounted } of messages) {
    const own = uses.get(organizationId) ?? new Map<string, number[]>();
    uses.set(organizationId, own);
    // The organization's daily limit counts messages, and a digest is one message.
    const result = takeThrottleSlot(
      isCounted() ? claims.filter(({ notificationId }) => notificationId !== 0) : claims,
      own,
      now,
    );
    if (result === 'taken') take();
    else if (result === 'full') refuse();
    else digest(new Date(result.until));
  }
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
