/**
 * Throttling: of what was decided to be sent, what is more than a person may get. Counted where it is stored, in the same
 * transaction and with the counts locked, so that any number of workers together let exactly as many through as one would.
 */
import type pg from 'pg';
import type { JsonObject } from '../core/json.ts';
import { claimName, dayMs, takePlace } from '../core/throttle.ts';
import {
  findThrottleUsesAcrossTenants,
  lockThrottleUsesAcrossTenants,
  type OrganizationClaim,
  storeThrottleUsesAcrossTenants,
  type TenantUses,
} from '../db/throttle.ts';
import type { Decided } from './deciding.ts';
import type { EventPlan } from './plans.ts';

/** A message that may be too much: one of an occurrence, for one person, under these rules. */
export interface Throttled {
  organizationId: number;
  claims: OrganizationClaim[];
  /** By all channels that it would be sent by. */
  take: () => void;
  refuse: () => void;
  gather: (until: Date) => void;
  /** Whether it is one more item of digests that have their place already. */
  isCounted: () => boolean;
}

type Sendable = Pick<Decided, 'notification' | 'person' | 'reason' | 'dueAt' | 'isUrgent'>;

/** What becomes of a decision. */
export interface ThrottleHandlers<Decision> {
  refuse: (decision: Decision) => void;
  take?: (decision: Decision) => void;
  /** Absent: what is over is refused. */
  gather?: (decision: Decision, until: Date) => void;
  isCounted?: (decision: Decision) => boolean;
}

/** One for each person and notification; none where no rule applies. What waits for the morning counts now. */
export function groupThrottled<Decision extends Sendable>(
  plan: EventPlan,
  context: JsonObject,
  decisions: readonly Decision[],
  { refuse, take = () => {}, gather = refuse, isCounted = () => false }: ThrottleHandlers<Decision>,
): Throttled[] {
  const { organization, topic } = plan;
  const groups = new Map<string, { decisions: Decision[]; claims: OrganizationClaim[] }>();
  const keys = new Map<number, string>();
  for (const decision of decisions) {
    const { notification, person, reason, dueAt, isUrgent } = decision;
    if (reason && !dueAt) continue;
    const { throttle } = notification;
    const isCapped = organization.most_per_day !== null && !isUrgent && topic.category.kind !== 'required';
    if (!throttle && !isCapped) continue;
    const name = `${notification.id} ${person.user_id}`;
    const known = groups.get(name);
    if (known) {
      known.decisions.push(decision);
      continue;
    }
    const base = { organizationId: organization.id, userId: person.user_id };
    const claims: OrganizationClaim[] = [];
    if (throttle) {
      const key = keys.get(notification.id) ?? throttle.keyOf(context);
      keys.set(notification.id, key);
      const { most, perMs, gathers } = throttle;
      claims.push({ ...base, notificationId: notification.id, key, most, perMs, gathers: gathers && !isUrgent });
    }
    if (isCapped) claims.push({ ...base, notificationId: 0, key: '', most: organization.most_per_day!, perMs: dayMs });
    groups.set(name, { decisions: [decision], claims });
  }
  return [...groups.values()].map(({ decisions: own, claims }) => ({
    organizationId: organization.id,
    claims,
    take: () => own.forEach(take),
    refuse: () => own.forEach(refuse),
    gather: until => {
      for (const decision of own) gather(decision, until);
    },
    isCounted: () => own.every(isCounted),
  }));
}

/** In the transaction that stores what is left. */
export async function throttle(client: pg.PoolClient, wanted: readonly Throttled[], now: number): Promise<void> {
  if (wanted.length === 0) return;
  const claims = distinct(wanted);
  const uses = await lockThrottleUsesAcrossTenants(client, claims);
  refuseOverflow(wanted, uses, now);
  await storeThrottleUsesAcrossTenants(client, claims, uses, now);
}

/** The same without counting anything. */
export async function simulateThrottle(pool: pg.Pool, wanted: readonly Throttled[], now: number): Promise<void> {
  if (wanted.length === 0) return;
  refuseOverflow(wanted, await findThrottleUsesAcrossTenants(pool, distinct(wanted)), now);
}

function refuseOverflow(wanted: readonly Throttled[], uses: TenantUses, now: number): void {
  for (const { organizationId, claims, take, refuse, gather, isCounted } of wanted) {
    const own = uses.get(organizationId) ?? new Map<string, number[]>();
    uses.set(organizationId, own);
    // The cap of a day is of messages, and a digest is one.
    const place = takePlace(
      isCounted() ? claims.filter(({ notificationId }) => notificationId !== 0) : claims,
      own,
      now,
    );
    if (place === 'taken') take();
    else if (place === 'full') refuse();
    else gather(new Date(place.until));
  }
}

/** The longest of those that count together decides for how long they are kept. */
function distinct(wanted: readonly Throttled[]): OrganizationClaim[] {
  const found = new Map<string, OrganizationClaim>();
  for (const claim of wanted.flatMap(({ claims }) => claims)) {
    const name = `${claim.organizationId} ${claimName(claim)}`;
    const known = found.get(name);
    if (!known || known.perMs < claim.perMs) found.set(name, claim);
  }
  return [...found.values()];
}
