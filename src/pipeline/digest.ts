/**
 * Decides which messages of a page are sent, go into a digest or are throttled. It runs in the transaction that stores the
 * page with digests and throttle counts locked, so that neither a crash nor another worker duplicates, splits or loses an
 * item.
 */
import type pg from 'pg';
import { uuidv7 } from '../core/ids.ts';
import type { JsonObject } from '../core/json.ts';
import { carriedDueAt } from '../db/ledger/digests/digest-items.ts';
import {
  type DigestChange,
  type DigestClaim,
  digestName,
  fillDigestsAcrossTenants,
  findDigestsAcrossTenants,
  type OpenDigest,
  openDigestsAcrossTenants,
} from '../db/ledger/digests/digests.ts';
import type { RecipientDecision } from './decide.ts';
import type { EventPlan } from './event-plan.ts';
import { groupThrottledMessages, simulateThrottle, type ThrottledMessage, throttle } from './throttle.ts';

/** A digest and the items that are about to be added to it. */
interface DigestTarget extends OpenDigest {
  organizationId: number;
  isFirstSent: boolean;
  hasSentFirst: boolean;
  added: number;
}

/** A message that goes into a digest. */
interface DigestItem {
  claim: DigestClaim;
  /** Whether the first item is sent immediately. */
  isFirstSent: boolean;
  isRefused: boolean;
  /** Whether an earlier page has already stored it. */
  isStored: () => boolean;
  target?: DigestTarget;
  /** One of these is called at the end, unless the item is refused or stored. */
  join: (digest: OpenDigest, dueAt: Date) => void;
  send: () => void;
}

export interface DigestPlan {
  throttled: ThrottledMessage[];
  items: DigestItem[];
  /** Messages over a throttle; filled when the throttles are applied. */
  overflow: DigestItem[];
}

interface DigestHandlers<Decision> {
  refuse: (decision: Decision) => void;
  /** For the carrier delivery, `dueAt` is when the digest closes; the other items are never due. */
  join: (decision: Decision, digest: OpenDigest, dueAt: Date) => void;
  send: (decision: Decision) => void;
  isStored?: (decision: Decision) => boolean;
}

/** Collects the digest items and throttled messages of a page. */
export function planDigests<Decision extends RecipientDecision>(
  plan: EventPlan,
  context: JsonObject,
  decisions: readonly Decision[],
  { refuse, join, send, isStored = () => false }: DigestHandlers<Decision>,
): DigestPlan {
  const keys = new Map<number, string>();
  const itemOf = (decision: Decision, closesAt: Date): DigestItem => {
    const { notification, channel, person, address } = decision;
    const { id, digest, throttle: rule } = notification;
    const key = keys.get(id) ?? (digest ?? rule)!.keyOf(context);
    keys.set(id, key);
    return {
      claim: {
        organizationId: plan.organization.id,
        eventId: plan.id,
        notificationId: id,
        channelId: channel.id,
        // A room is the same recipient, whichever user was found first.
        recipientId: channel.reach === 'room' ? 0 : person.user_id,
        userId: person.user_id,
        address: address!,
        key,
        closesAt,
      },
      isFirstSent: digest?.isFirstSent ?? false,
      isRefused: false,
      isStored: () => isStored(decision),
      join: (target, dueAt) => join(decision, target, dueAt),
      send: () => send(decision),
    };
  };
  const items = new Map(
    decisions.flatMap(one => (one.reason === 'digest' ? [[one, itemOf(one, one.dueAt!)] as const] : [])),
  );
  const overflow: DigestItem[] = [];
  const throttled = groupThrottledMessages(plan, context, decisions, {
    take: decision => void (items.get(decision) && placeItem(items.get(decision)!.target!)),
    refuse: decision => {
      const item = items.get(decision);
      if (item) item.isRefused = true;
      refuse(decision);
    },
    digest: (decision, until) => void overflow.push(itemOf(decision, until)),
    isCounted: decision => {
      const target = items.get(decision)?.target;
      return target !== undefined && target.items + target.added > 0;
    },
  });
  return { throttled, items: [...items.values()], overflow };
}

/** Applies throttles and adds items to digests, in the transaction that stores the page. */
export async function applyDigests(client: pg.PoolClient, plans: readonly DigestPlan[], now: number): Promise<void> {
  const open = (claims: readonly DigestClaim[]) =>
    openDigestsAcrossTenants(
      client,
      claims.map(claim => ({ ...claim, id: uuidv7(now) })),
    );
  const targets = await assignDigests(
    plans.flatMap(one => one.items),
    open,
  );
  await throttle(
    client,
    plans.flatMap(one => one.throttled),
    now,
  );
  const overflow = plans.flatMap(one => one.overflow);
  for (const [name, target] of await assignDigests(overflow, open)) targets.set(name, target);
  if (targets.size === 0) return;
  placeAll(targets, [...plans.flatMap(one => one.items), ...overflow]);
  await fillDigestsAcrossTenants(client, [...targets.values()].map(toChange));
}

/** Does the same without storing anything. */
export async function simulateDigests(pool: pg.Pool, { items, throttled, overflow }: DigestPlan, now: number) {
  const find = async (claims: readonly DigestClaim[]) => {
    const found = await findDigestsAcrossTenants(pool, claims);
    const simulated = ({ closesAt }: DigestClaim): OpenDigest => ({ id: '', items: 0, closesAt, isNew: true });
    return new Map(claims.map(claim => [digestName(claim), found.get(digestName(claim)) ?? simulated(claim)]));
  };
  const targets = await assignDigests(items, find);
  await simulateThrottle(pool, throttled, now);
  for (const [name, target] of await assignDigests(overflow, find)) targets.set(name, target);
  placeAll(targets, [...items, ...overflow]);
}

/** Assigns each item to its digest; several items may share one. */
async function assignDigests(
  items: readonly DigestItem[],
  open: (claims: readonly DigestClaim[]) => Promise<Map<string, OpenDigest>>,
): Promise<Map<string, DigestTarget>> {
  if (items.length === 0) return new Map();
  const byName = new Map(items.map(item => [digestName(item.claim), item]));
  const opened = await open([...byName.values()].map(({ claim }) => claim));
  const targets = new Map(
    [...opened].map(([name, digest]) => {
      const { claim, isFirstSent } = byName.get(name)!;
      return [name, { ...digest, organizationId: claim.organizationId, isFirstSent, hasSentFirst: false, added: 0 }];
    }),
  );
  for (const item of items) item.target = targets.get(digestName(item.claim))!;
  return targets;
}

/** Adds the next item to the target and returns whether it is sent, becomes the carrier delivery, or joins it. */
function placeItem(target: DigestTarget): 'send' | 'carry' | 'join' {
  if (target.isFirstSent && target.isNew && !target.hasSentFirst) {
    target.hasSentFirst = true;
    return 'send';
  }
  return target.items + target.added++ === 0 ? 'carry' : 'join';
}

function placeAll(targets: Map<string, DigestTarget>, items: readonly DigestItem[]): void {
  for (const target of targets.values()) Object.assign(target, { hasSentFirst: false, added: 0 });
  for (const { isRefused, isStored, target, join, send } of items) {
    if (isRefused || isStored()) continue;
    const placed = placeItem(target!);
    if (placed === 'send') send();
    else join(target!, placed === 'carry' ? target!.closesAt : carriedDueAt);
  }
}

function toChange({ organizationId, id, items, added, isNew, hasSentFirst }: DigestTarget): DigestChange {
  // If the first item was sent immediately, the window stays open without items.
  return { organizationId, id, items, added, isDiscardedEmpty: isNew && !hasSentFirst };
}
