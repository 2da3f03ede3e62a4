/**
 * What of a page is sent, what gathers in a digest, and what is too much: decided where the page is stored, in the same
 * transaction and with digests and counts locked, so that neither a crash nor another worker duplicates, splits or loses an
 * item.
 */
import type pg from 'pg';
import { uuidv7 } from '../core/ids.ts';
import type { JsonObject } from '../core/json.ts';
import { carriedDueAt } from '../db/digest-items.ts';
import {
  type DigestChange,
  type DigestClaim,
  digestName,
  fillDigestsAcrossTenants,
  findDigestsAcrossTenants,
  type OpenDigest,
  openDigestsAcrossTenants,
} from '../db/digests.ts';
import type { Decided } from './deciding.ts';
import type { EventPlan } from './plans.ts';
import { groupThrottled, simulateThrottle, type Throttled, throttle } from './throttling.ts';

/** A digest with what is about to be added to it. */
interface Target extends OpenDigest {
  isFirstSent: boolean;
  hasSentFirst: boolean;
  added: number;
}

/** A message that gathers. */
interface Item {
  claim: DigestClaim;
  /** Whether the first one is sent at once. */
  isFirstSent: boolean;
  isRefused: boolean;
  /** Whether an earlier page has stored it already. */
  isStored: () => boolean;
  target?: Target;
  /** One of these is called at the end. */
  join: (digest: OpenDigest, dueAt: Date) => void;
  send: () => void;
}

export interface Gathering {
  throttled: Throttled[];
  items: Item[];
  /** Of what is over a throttle; known when places are taken. */
  overflow: Item[];
}

export interface GatheringHandlers<Decision> {
  refuse: (decision: Decision) => void;
  /** `dueAt`: of the one that carries the others, when the digest closes; of the others never. */
  join: (decision: Decision, digest: OpenDigest, dueAt: Date) => void;
  send: (decision: Decision) => void;
  isStored?: (decision: Decision) => boolean;
}

/** What there is to decide about a page. */
export function planGathering<Decision extends Decided>(
  plan: EventPlan,
  context: JsonObject,
  decisions: readonly Decision[],
  { refuse, join, send, isStored = () => false }: GatheringHandlers<Decision>,
): Gathering {
  const keys = new Map<number, string>();
  const itemOf = (decision: Decision, closesAt: Date): Item => {
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
        // A room is the same one whoever the trigger found first.
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
  const overflow: Item[] = [];
  const throttled = groupThrottled(plan, context, decisions, {
    take: decision => void (items.get(decision) && place(items.get(decision)!.target!)),
    refuse: decision => {
      const item = items.get(decision);
      if (item) item.isRefused = true;
      refuse(decision);
    },
    gather: (decision, until) => void overflow.push(itemOf(decision, until)),
    isCounted: decision => {
      const target = items.get(decision)?.target;
      return target !== undefined && target.items + target.added > 0;
    },
  });
  return { throttled, items: [...items.values()], overflow };
}

/** In the transaction that stores the page. */
export async function gather(client: pg.PoolClient, gatherings: readonly Gathering[], now: number): Promise<void> {
  const open = (claims: readonly DigestClaim[]) =>
    openDigestsAcrossTenants(
      client,
      claims.map(claim => ({ ...claim, id: uuidv7(now) })),
    );
  const targets = await aim(
    gatherings.flatMap(one => one.items),
    open,
  );
  await throttle(
    client,
    gatherings.flatMap(one => one.throttled),
    now,
  );
  const overflow = gatherings.flatMap(one => one.overflow);
  for (const [name, target] of await aim(overflow, open)) targets.set(name, target);
  if (targets.size === 0) return;
  placeAll(targets, [...gatherings.flatMap(one => one.items), ...overflow]);
  await fillDigestsAcrossTenants(client, [...targets.values()].map(toChange));
}

/** The same without changing anything. */
export async function simulateGathering(pool: pg.Pool, { items, throttled, overflow }: Gathering, now: number) {
  const find = async (claims: readonly DigestClaim[]) => {
    const found = await findDigestsAcrossTenants(pool, claims);
    const imagined = ({ closesAt }: DigestClaim): OpenDigest => ({ id: '', items: 0, closesAt, isNew: true });
    return new Map(claims.map(claim => [digestName(claim), found.get(digestName(claim)) ?? imagined(claim)]));
  };
  const targets = await aim(items, find);
  await simulateThrottle(pool, throttled, now);
  for (const [name, target] of await aim(overflow, find)) targets.set(name, target);
  placeAll(targets, [...items, ...overflow]);
}

interface Aimed extends Target {
  organizationId: number;
}

/** Gives each item its digest; several may have the same. */
async function aim(
  items: readonly Item[],
  open: (claims: readonly DigestClaim[]) => Promise<Map<string, OpenDigest>>,
): Promise<Map<string, Aimed>> {
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

/** Where the next item of a digest goes. */
function place(target: Target): 'send' | 'carry' | 'join' {
  if (target.isFirstSent && target.isNew && !target.hasSentFirst) {
    target.hasSentFirst = true;
    return 'send';
  }
  return target.items + target.added++ === 0 ? 'carry' : 'join';
}

function placeAll(targets: Map<string, Aimed>, items: readonly Item[]): void {
  for (const target of targets.values()) Object.assign(target, { hasSentFirst: false, added: 0 });
  for (const { isRefused, isStored, target, join, send } of items) {
    if (isRefused || isStored()) continue;
    const placed = place(target!);
    if (placed === 'send') send();
    else join(target!, placed === 'carry' ? target!.closesAt : carriedDueAt);
  }
}

function toChange({ organizationId, id, items, added, isNew, hasSentFirst }: Aimed): DigestChange {
  // Where the first one was sent at once, the window stays open without any.
  return { organizationId, id, items, added, isDiscardedEmpty: isNew && !hasSentFirst };
}
