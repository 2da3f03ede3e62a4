/**
 * Expanding: an occurrence becomes deliveries, a page of recipients at a time, so that a list of any length neither fills
 * the memory nor keeps others waiting.
 *
 * | occurrence                | a page is stored   | becomes                                                   |
 * | ------------------------- | ------------------ | --------------------------------------------------------- |
 * | accepted                  | the only one       | sending, or completed when there is nothing to send       |
 * | accepted                  | the first          | expanding: back in the queue, where others have turns too |
 * | expanding, owned by one   | one in between     | expanding, owned by nobody                                |
 * | expanding, owned by one   | the last           | sending, or completed                                     |
 * | accepted, expanding       | none: paused       | the same, held until it is resumed                        |
 *
 * As far as this worker has room for them, deliveries are stored already claimed by it, and it goes on to send them at
 * once: nothing is claimed or read twice. Measured with 100,000 recipients and a provider that does nothing: see
 * bench/fan-out.ts; with one recipient each: bench/everyday.ts.
 */
import { isLeftOutByTrigger, type Reason } from '../core/decide.ts';
import { roomForDeliveries } from '../core/limits.ts';
import { priorityOf, type TriggerOptions } from '../core/trigger.ts';
import type { NewDelivery } from '../db/deliveries.ts';
import {
  type ClaimedOccurrence,
  claimExpandingAcrossTenants,
  type ExpansionPage,
  expandAcceptedAcrossTenants,
  type StoredDelivery,
  storePageAcrossTenants,
} from '../db/expansion.ts';
import { markStored } from '../db/new-deliveries.ts';
import type { Person } from '../db/recipients.ts';
import { nextTurn, type Queue, type Shares } from '../db/turns.ts';
import type { Span } from '../lib/traces.ts';
import { type Decided, type DecidedPage, decidePage } from '../services/deciding.ts';
import { type Gathering, gather, planGathering } from '../services/gathering.ts';
import { RecipientReader } from '../services/recipients.ts';
import { firstRuns } from '../services/steps.ts';
import type { ClaimedDelivery } from './deliver.ts';
import type { Engine } from './engine.ts';
import { endPages, startPage, tellEvent, traceIn } from './spans.ts';

/** Claimed together: with 100 at once, a message costs PostgreSQL a third more. */
const occurrencesAtOnce = 500;
/** How many of a claim are decided together: few at first, as each may have a whole page of recipients. */
const firstGroup = 8;
const growth = 8;
/** So many of a claim are sent without going through the queue also by a channel with limits. */
const fewForLimited = 50;
/** What cannot be expanded now is tried again so much later: nothing accepted is given up. */
const laterMs = 30_000;

/** How many more messages of a class and an organization this worker takes on. */
export interface Room {
  shares(priority: number): Shares;
  roomFor(priority: number, organization: number): number;
  /** How many recipients to decide together. */
  page(priority: number): number;
  /** The same for a further page of an organization. */
  pageFor(priority: number, organization: number): number;
}

export interface Given extends NewDelivery {
  /** Whether its channel has limits. */
  isLimited: boolean;
  /** Of its channel. */
  type: string;
  occurrence: ClaimedOccurrence;
  person: Person;
  /** By an earlier page. */
  isStored?: boolean;
}

/** With what is decided where it is stored. */
interface DecidedExpansion extends ExpansionPage<Given> {
  gathering: Gathering;
  span?: Span | undefined;
}

const nothingGathers: Gathering = { throttled: [], items: [], overflow: [] };

export interface Expanded {
  /** To be sent at once. */
  claimed: ClaimedDelivery[];
  /** The classes of those that are in the queue. */
  queued: Set<number>;
  /** The classes of the next pages. */
  next: Set<number>;
  /** The classes of the first steps. */
  steps: Set<number>;
  /** Nothing else was due. */
  isAll: boolean;
}

/** The first pages of many occurrences of one class; undefined when nothing was due. */
export async function expandAccepted(
  engine: Engine,
  owner: number,
  priority: number,
  room: Room,
): Promise<Expanded | undefined> {
  const shares = room.shares(priority);
  const turn = { priority, after: afterOf(engine, 'accepted', priority), most: occurrencesAtOnce, owner, shares };
  let decided: DecidedExpansion[] = [];
  const { claimed, pages, stored, ended } = await expandAcceptedAcrossTenants<Given>(
    engine.claims,
    turn,
    async (occurrences, client) => {
      decided = await decideMany(engine, occurrences, room.page(priority));
      await gather(
        client,
        decided.map(page => page.gathering),
        Date.now(),
      );
      deferOverflow(decided, room);
      return decided;
    },
  );
  const { after, isAll } = nextTurn(turn, claimed);
  engine.turns.accepted[priority] = after;
  if (pages.length > 0) endPages(decided);
  engine.meters.batch('expand', pages.length);
  engine.meters.expanded(pages);
  engine.meters.ended(ended);
  if (claimed.length === 0 && turn.after === 0) return undefined;
  return toExpanded(pages, stored, isAll && pages.length === claimed.length);
}

/** One more page of a fan-out of one class; undefined when none was due. */
export async function expandNextPage(
  engine: Engine,
  owner: number,
  priority: number,
  room: Room,
): Promise<Expanded | undefined> {
  const shares = room.shares(priority);
  const turn = { priority, after: afterOf(engine, 'expanding', priority), most: 1, owner, shares };
  const claimed = await claimExpandingAcrossTenants(engine.claims, turn);
  engine.turns.expanding[priority] = nextTurn(turn, claimed).after;
  const [occurrence] = claimed;
  if (!occurrence) return turn.after === 0 ? undefined : toExpanded([], [], false);
  const page = await decideSafely(
    engine,
    new RecipientReader(readersOf(engine), engine.usage),
    occurrence,
    room.pageFor(priority, occurrence.organization_id),
  );
  deferOverflow([page], room);
  const { stored, ended } = await storePageAcrossTenants(engine.hot, owner, page, async client => {
    const { organization_id, id, deliveries } = page;
    if (deliveries.some(one => one.reason === 'digest')) await markStored(client, organization_id, id, deliveries);
    await gather(client, [page.gathering], Date.now());
  });
  endPages([page]);
  engine.meters.batch('expand', 1);
  engine.meters.expanded([page]);
  engine.meters.ended(ended);
  return toExpanded([page], stored, false);
}

function afterOf({ turns }: Engine, queue: Queue, priority: number): number {
  return turns[queue][priority] ?? 0;
}

/** By the prepared statements of the hot connections; users are created by any. */
export function readersOf({ db, hot }: Engine) {
  return { db, pool: hot };
}

export function toExpanded(pages: ExpansionPage<Given>[], stored: StoredDelivery<Given>[], isAll: boolean): Expanded {
  const queued = new Set<number>();
  const next = new Set<number>();
  const steps = new Set<number>();
  for (const { deliveries, cursor, again, priority, steps: own = [] } of pages) {
    for (const one of own) steps.add(one.priority);
    for (const one of deliveries) if (one.status === 'pending' && !one.due_at) queued.add(one.priority);
    if (cursor && !again) next.add(priority);
  }
  // Storing has found that it is not cancelled.
  const claimed = stored.map(({ delivery, given: { occurrence, person } }) => ({
    delivery,
    occurrence: Object.assign(occurrence, { cancelled_at: null }),
    person,
  }));
  return { claimed, queued, next, steps, isAll };
}

/** As many of them as have about a page of recipients together: more would fill the memory and make the urgent wait. */
async function decideMany(
  engine: Engine,
  occurrences: ClaimedOccurrence[],
  limit: number,
): Promise<DecidedExpansion[]> {
  const recipients = new RecipientReader(readersOf(engine), engine.usage);
  const pages: DecidedExpansion[] = [];
  let decided = 0;
  let size = firstGroup;
  for (let from = 0; from < occurrences.length && decided < limit; ) {
    const group = occurrences.slice(from, from + size);
    from += size;
    size *= growth;
    for (const page of await Promise.all(group.map(one => decideSafely(engine, recipients, one, limit)))) {
      // What was decided beyond that is decided again when it is claimed again.
      if (decided >= limit) break;
      decided += page.deliveries.length;
      pages.push(page);
    }
  }
  return pages;
}

/**
 * What there is no room for goes through the queue, where turns are taken. So does most of what goes to a channel with
 * limits, which takes its messages from there as it can: of many, the others would only have to go back.
 */
export function deferOverflow(pages: ExpansionPage<Given>[], room: Room): void {
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
        take(`${priority}/${organization_id}`, () => room.roomFor(priority, organization_id)) &&
        (!isLimited || take(`channel ${channel_id}`, () => fewForLimited));
      if (!fits) delivery.status = 'pending';
    }
  }
}

/** One occurrence that cannot be expanded harms none that was claimed with it. */
async function decideSafely(
  engine: Engine,
  recipients: RecipientReader,
  occurrence: ClaimedOccurrence,
  limit: number,
): Promise<DecidedExpansion> {
  const span = startPage(engine, 'expand', occurrence);
  try {
    return { ...(await decideOne(engine, recipients, occurrence, limit, span)), span };
  } catch (error) {
    const where = { occurrence: occurrence.id, ...traceIn(occurrence) };
    engine.log.error({ err: error, ...where }, 'could not expand an occurrence; trying again later');
    span?.end('service.internal');
    return putOff(occurrence, new Date(Date.now() + laterMs), null);
  }
}

/** As it was, and due again then. */
function putOff(
  { organization_id, id, event_id, priority, cursor }: ClaimedOccurrence,
  again: Date | 'infinity',
  reason: string | null,
): DecidedExpansion {
  return { organization_id, id, event_id, priority, cursor, reason, again, deliveries: [], gathering: nothingGathers };
}

async function decideOne(
  engine: Engine,
  recipients: RecipientReader,
  occurrence: ClaimedOccurrence,
  limit: number,
  span: Span | undefined,
): Promise<DecidedExpansion> {
  const { organization_id, id, event_id, priority, context, cursor: from } = occurrence;
  const page = { organization_id, id, event_id, priority, cursor: null, deliveries: [], gathering: nothingGathers };
  const plan = await engine.plans.findEvent(organization_id, event_id);
  if (!plan) return { ...page, reason: 'event.missing' };
  tellEvent(span, plan);
  if (occurrence.expires_at && occurrence.expires_at.getTime() <= Date.now()) return { ...page, reason: 'expired' };
  if (plan.paused) return putOff(occurrence, 'infinity', 'event.paused');
  const options = occurrence.options as TriggerOptions;
  if (options.resolve) return { ...page, reason: 'occurrence.not_open' };
  const { plans } = engine;
  const mark = () => engine.marker.set(organization_id, id);
  const decided = await decidePage({ plans, recipients }, plan, {
    context,
    options,
    cursor: from,
    limit,
    mark,
    now: Date.now(),
  });
  engine.marker.clear();
  const wanted = decided.decisions.filter(({ reason }) => !isLeftOutByTrigger(reason));
  const room = roomForDeliveries(plan.organization.deliveries_per_trigger, occurrence.deliveries, wanted.length);
  const isOver = room < wanted.length;
  if (isOver)
    engine.log.warn(
      { occurrence: id, ...traceIn(occurrence) },
      'stopped an occurrence at the limit of deliveries a trigger may have',
    );
  const decisions = isOver ? wanted.slice(0, room) : wanted;
  const cursor = isOver ? null : decided.cursor;
  const fansOut = from !== null || decided.cursor !== null;
  const isAnswered = occurrence.acknowledged_at !== null || occurrence.resolved_at !== null;
  // A dry run begins no steps, and neither does what somebody has answered already.
  const stepped = isAnswered || options.dry_run ? [] : decided.stepped;
  const next = cursor && plan.notifications.find(one => one.id === cursor.notification);
  const planned = decisions.map(decision => ({
    ...decision,
    delivery: {
      ...toGiven(decision),
      priority: priorityOf(options, decision.notification.priority, fansOut),
      occurrence,
    },
  }));
  return {
    ...page,
    priority: next ? priorityOf(options, next.priority, fansOut) : priority,
    cursor,
    reason:
      limitOf(isOver, decided.isOverUserLimit) ??
      (stepped.length > 0 ? null : isAnswered ? 'acknowledged' : whyNobody(decided)),
    steps: firstRuns(stepped, occurrence, options, Date.now()),
    awaitsAcknowledgement: stepped.some(one => one.steps!.asksForAcknowledgement),
    deliveries: planned.map(({ delivery }) => delivery),
    gathering: planGathering(plan, context, planned, gatheringHandlers),
  };
}

const gatheringHandlers = {
  isStored: ({ delivery }: { delivery: Given }) => delivery.isStored === true,
  refuse: ({ delivery }: { delivery: Given }) =>
    Object.assign(delivery, { status: 'suppressed', reason: 'throttled', due_at: null }),
  join: ({ delivery }: { delivery: Given }, { id }: { id: string }, dueAt: Date) =>
    Object.assign(delivery, { status: 'pending', reason: 'digest', due_at: dueAt, digest_id: id }),
  send: ({ delivery }: { delivery: Given }) =>
    Object.assign(delivery, { status: 'sending', reason: null, due_at: null }),
};

/** Counts where nothing comes of it: somebody whom the trigger left out, a notification that was for nobody, or no one at all. */
export function whyNobody({ decisions, refused, stepped }: DecidedPage): Reason {
  if (stepped.length > 0) return 'dry_run';
  return decisions.find(({ reason }) => isLeftOutByTrigger(reason))?.reason ?? refused[0]?.reason ?? 'no_recipients';
}

/** Which limit of the organization left somebody out: kept with the occurrence, also where others were told. */
export function limitOf(isOverFanOut: boolean, isOverUsers: boolean): Reason | undefined {
  if (isOverFanOut) return 'limit.fan_out';
  return isOverUsers ? 'limit.users' : undefined;
}

export function toGiven(decided: Decided): Omit<Given, 'priority' | 'occurrence'> {
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
  };
}
