/**
 * Decides which messages of a page are sent, go into a digest or a bundle, or are throttled. It runs in the transaction that stores the
 * page with digests and throttle counts locked, so that neither a crash nor another worker duplicates, splits or loses an
 * item.
 */
import type pg from 'pg';
import { bundleKey, bundleLimits, bundleNotification, createBundleId, isBundled } from '../core/decision/bundle.ts';
import { canBeResolved } from '../core/decision/silences.ts';
import { uuidv7 } from '../core/ids.ts';
import type { JsonObject } from '../core/json.ts';
import type { TriggerOptions } from '../core/trigger.ts';
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
import type { TenantUses } from '../db/ledger/digests/throttle.ts';
import type { RecipientDecision } from './decide.ts';
import type { EventPlan } from './event-plan.ts';
import type { PlannedChannel } from './plans.ts';
import {
  findThrottleUses,
  groupThrottledMessages,
  lockThrottleUses,
  storeThrottleUses,
  type ThrottledMessage,
  takeThrottle,
} from './throttle.ts';

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
  /** Whether it is a bundle of alerts. */
  isBundle: boolean;
}

/** The digest items and throttled messages of a page. Positions are those of its decisions. */
export interface DigestPlan {
  throttled: ThrottledMessage[];
  /** By position. */
  items: ReadonlyMap<number, DigestItem>;
  /** Returns the item of a message over a throttle. */
  overflowItem: (position: number, closesAt: Date) => DigestItem;
  /** The positions of messages that an earlier page has already stored. */
  stored?: ReadonlySet<number>;
}

/**
 * What becomes of a message: refused by a throttle, sent as the first item of a digest, or collected. For the carrier delivery,
 * `dueAt` is when the digest closes; the other items are never due.
 */
export type Placement = 'refused' | 'sent' | { digest: OpenDigest; dueAt: Date };

/** By position. Other messages stay as decided. */
export type Placements = ReadonlyMap<number, Placement>;

interface DigestPage {
  context: JsonObject;
  options: TriggerOptions;
  decisions: readonly RecipientDecision[];
  now: number;
  /** The number of the step's run; absent: its notification has no steps. */
  step?: number;
}

/** Collects the digest items and throttled messages of a page; undefined if there are none. */
export function planDigests(
  plan: EventPlan,
  { context, options, decisions, now, step }: DigestPage,
): DigestPlan | undefined {
  const keys = new Map<number, string>();
  const organizationId = plan.organization.id;
  const receiverFor = ({ channel, recipient, address }: RecipientDecision): Receiver => ({
    ...{ organizationId, channel, userId: recipient.user_id, address: address! },
  });
  const itemOf = (position: number, closesAt: Date): DigestItem => {
    const decision = decisions[position]!;
    const { id, digest, throttle: rule } = decision.notification;
    const key = keys.get(id) ?? (digest ?? rule)!.keyOf(context);
    keys.set(id, key);
    const claim = { ...toClaim(receiverFor(decision)), eventId: plan.id, notificationId: id, key, closesAt };
    return { claim, isFirstSent: digest?.isFirstSent ?? false, isBundle: false };
  };
  const items = new Map<number, DigestItem>();
  for (const [position, decision] of decisions.entries()) {
    const { reason, dueAt, channel } = decision;
    if (reason === 'digest') items.set(position, itemOf(position, dueAt!));
    else if (reason === undefined && isBundled(canBeResolved(options), channel))
      items.set(position, bundleItemOf({ ...receiverFor(decision), isUrgent: decision.isUrgent, step }, now));
  }
  const throttled = groupThrottledMessages(plan, context, decisions);
  return items.size + throttled.length === 0 ? undefined : { throttled, items, overflowItem: itemOf };
}

interface Receiver {
  organizationId: number;
  channel: Pick<PlannedChannel, 'id' | 'reach'>;
  userId: number;
  address: string;
}

/** An alert to a user by a channel. */
export interface Alert extends Receiver {
  isUrgent: boolean;
  step: number | undefined;
}

/** Collects alerts that were decided earlier, and are due now. */
export function planAlerts(alerts: readonly Alert[], now: number): DigestPlan {
  const items = new Map(alerts.map((alert, position) => [position, bundleItemOf(alert, now)]));
  return { throttled: [], items, overflowItem: position => items.get(position)! };
}

function bundleItemOf(alert: Alert, now: number): DigestItem {
  const closesAt = new Date(now + bundleLimits.windowMs);
  const claim = { ...toClaim(alert), eventId: 0, notificationId: bundleNotification, key: bundleKey(alert), closesAt };
  return { claim, isFirstSent: true, isBundle: true };
}

function toClaim({ organizationId, channel, userId, address }: Receiver) {
  // A room is the same recipient, whichever user was found first.
  const recipientId = channel.reach === 'room' ? 0 : userId;
  return { organizationId, channelId: channel.id, recipientId, userId, address };
}

/** Applies throttles and adds items to digests, in the transaction that stores the pages. Returns the placements of each page. */
export async function applyDigests(
  client: pg.PoolClient,
  plans: readonly DigestPlan[],
  now: number,
): Promise<ReadonlyMap<DigestPlan, Placements>> {
  const open = (claims: readonly DigestClaim[]) =>
    openDigestsAcrossTenants(
      client,
      claims.map(claim => ({
        ...claim,
        id: claim.notificationId === bundleNotification ? createBundleId(now) : uuidv7(now),
      })),
    );
  const messages = plans.flatMap(one => one.throttled);
  const placed = await placeAll(plans, now, { open, readUses: () => lockThrottleUses(client, messages) });
  if (messages.length > 0) await storeThrottleUses(client, messages, placed.uses, now);
  if (placed.targets.length > 0) await fillDigestsAcrossTenants(client, placed.targets.map(toChange));
  return new Map(plans.map((plan, page) => [plan, placed.placements[page]!]));
}

/** Does the same for a page without storing anything. */
export async function simulateDigests(pool: pg.Pool, plan: DigestPlan | undefined, now: number): Promise<Placements> {
  if (!plan) return new Map();
  const open = async (claims: readonly DigestClaim[]) => {
    const found = await findDigestsAcrossTenants(pool, claims);
    const simulated = ({ closesAt }: DigestClaim): OpenDigest => ({ id: '', items: 0, closesAt, isNew: true });
    return new Map(claims.map(claim => [digestName(claim), found.get(digestName(claim)) ?? simulated(claim)]));
  };
  const { placements } = await placeAll([plan], now, { open, readUses: () => findThrottleUses(pool, plan.throttled) });
  return placements[0]!;
}

interface DigestStore {
  open: (claims: readonly DigestClaim[]) => Promise<Map<string, OpenDigest>>;
  readUses: () => Promise<TenantUses>;
}

/** An item of a page that is to be placed. */
interface PlacedItem {
  item: DigestItem;
  page: number;
  position: number;
}

async function placeAll(plans: readonly DigestPlan[], now: number, { open, readUses }: DigestStore) {
  const placements = plans.map(() => new Map<number, Placement>());
  const items = plans.flatMap(({ items }, page) =>
    [...items].map(([position, item]): PlacedItem => ({ item, page, position })),
  );
  const targets = await openTargets(items, open);
  const uses = plans.some(one => one.throttled.length > 0) ? await readUses() : new Map();
  const overflow: PlacedItem[] = [];
  for (const [page, { throttled, items: own, overflowItem }] of plans.entries()) {
    for (const message of throttled) {
      const joined = message.positions.map(position => own.get(position) && targetOf(targets, own.get(position)!));
      // The organization's daily limit counts messages, and a digest is one message.
      const isCounted = joined.every(target => target !== undefined && target.items + target.added > 0);
      const result = takeThrottle(message, uses, now, isCounted);
      if (result === 'taken') for (const target of joined) target && placeItem(target);
      for (const position of message.positions) {
        if (result === 'full') placements[page]!.set(position, 'refused');
        else if (result !== 'taken')
          overflow.push({ item: overflowItem(position, new Date(result.until)), page, position });
      }
    }
  }
  for (const [name, target] of await openTargets(overflow, open)) targets.set(name, target);
  // Throttles have counted along; now it is known which items are refused.
  for (const target of targets.values()) Object.assign(target, { hasSentFirst: false, added: 0 });
  for (const { item, page, position } of [...items, ...overflow]) {
    if (placements[page]!.get(position) === 'refused' || plans[page]!.stored?.has(position)) continue;
    const target = targetOf(targets, item);
    const placed = placeItem(target);
    // It is sent as it was decided.
    if (placed === 'send' && item.isBundle) continue;
    const placement = { digest: target, dueAt: placed === 'carry' ? target.closesAt : carriedDueAt };
    placements[page]!.set(position, placed === 'send' ? 'sent' : placement);
  }
  return { placements, targets: [...targets.values()], uses };
}

const targetOf = (targets: ReadonlyMap<string, DigestTarget>, { claim }: DigestItem) => targets.get(digestName(claim))!;

/** Opens the digest of each item; several items may share one. */
async function openTargets(
  items: readonly PlacedItem[],
  open: DigestStore['open'],
): Promise<Map<string, DigestTarget>> {
  if (items.length === 0) return new Map();
  const byName = new Map(items.map(({ item }) => [digestName(item.claim), item]));
  const opened = await open([...byName.values()].map(({ claim }) => claim));
  return new Map(
    [...opened].map(([name, digest]) => {
      const { claim, isFirstSent } = byName.get(name)!;
      return [name, { ...digest, organizationId: claim.organizationId, isFirstSent, hasSentFirst: false, added: 0 }];
    }),
  );
}

/** Adds the next item to the target and returns whether it is sent, becomes the carrier delivery, or joins it. */
function placeItem(target: DigestTarget): 'send' | 'carry' | 'join' {
  if (target.isFirstSent && target.isNew && !target.hasSentFirst) {
    target.hasSentFirst = true;
    return 'send';
  }
  return target.items + target.added++ === 0 ? 'carry' : 'join';
}

function toChange({ organizationId, id, items, added, isNew, hasSentFirst }: DigestTarget): DigestChange {
  // If the first item was sent immediately, the window stays open without items.
  return { organizationId, id, items, added, isDiscardedEmpty: isNew && !hasSentFirst };
}
