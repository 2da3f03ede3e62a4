/** Decides who gets what of an occurrence, one page of recipients at a time, for the engine and for simulation. */
import {
  type Circumstances,
  decide,
  decideNotification,
  personal,
  type Reason,
  selectChannels,
} from '../core/decision/decide.ts';
import type { VariantName } from '../core/decision/guards/variants.ts';
import { decidePersonal } from '../core/decision/personal.ts';
import type { JsonObject } from '../core/json.ts';
import { priorityOf, type TriggerOptions, urgent } from '../core/trigger.ts';
import type { RecipientRecord } from '../db/audience/recipients.ts';
import type { Cursor } from '../db/ledger/cursor.ts';
import { slices } from '../lib/load/slices.ts';
import { type EventPlan, type PlannedNotification, planDeleted } from './event-plan.ts';
import type { PlannedChannel, Plans } from './plans.ts';
import { type RecipientReader, sourcesOf } from './recipients.ts';

export interface RecipientDecision {
  notification: PlannedNotification;
  channel: PlannedChannel;
  recipient: RecipientRecord;
  address: string | null;
  reason: Reason | undefined;
  /** Explains the reason in more detail, where there is more to say. */
  detail: string | undefined;
  /** The delivery waits until then. */
  dueAt: Date | undefined;
  isUrgent: boolean;
  /** The variant of the message, if there are two. */
  variant?: VariantName;
  /** How many messages to the same address the recipient's own rules ask for before this one; absent: none. */
  turn?: number;
}

export interface DecisionPage {
  /** At most one for each notification, channel and address, and more by rules of the recipient. */
  decisions: RecipientDecision[];
  /** The start of the next page; null after the last page. */
  cursor: Cursor | null;
  /** Notifications that are sent to no one, and why. */
  refused: { notification: PlannedNotification; reason: Reason }[];
  /** Notifications with steps, whose recipients are decided when each step is due. */
  stepped: PlannedNotification[];
  /** Whether a fallback list was notified, because no one was on call. */
  usesFallback: boolean;
  /** Whether a recipient named by the trigger was left out because of the organization's user limit. */
  isOverUserLimit: boolean;
}

/** Returns how many recipients would get a message; one who gets two notifications counts twice. */
export function countRecipients(decisions: readonly RecipientDecision[]): number {
  const reached = new Map<PlannedNotification, Set<RecipientRecord>>();
  for (const decision of decisions) {
    if (!isSent(decision)) continue;
    const own = reached.get(decision.notification);
    if (own) own.add(decision.recipient);
    else reached.set(decision.notification, new Set([decision.recipient]));
  }
  let count = 0;
  for (const own of reached.values()) count += own.size;
  return count;
}

/** Returns whether a message is sent, now or later. */
export const isSent = ({ reason, dueAt }: RecipientDecision): boolean => reason === undefined || dueAt !== undefined;

export interface DecisionRequest {
  context: JsonObject;
  options: TriggerOptions;
  cursor: Cursor | null;
  now: number;
  /** The maximum number of recipients. */
  limit: number;
  /** Decides only this notification, such as one step of it. */
  only?: PlannedNotification;
  /** Decides only notifications, and only recipients of them, for which these return true. */
  includes?: (notification: PlannedNotification) => boolean;
  takes?: (notification: PlannedNotification, userId: number) => boolean;
  /** Called before each evaluation of a tenant's expressions. */
  mark?: () => void;
}

/**
 * Decides the page that starts at the cursor, by notification in the order of their ids, then by source. The rest of the
 * recipients of a notification that has been deleted or switched off since is refused. If its source has been replaced, the notification starts again, which is safe
 * because deliveries that are already stored are not stored again.
 */
export async function decidePage(
  { plans, recipients }: { plans: Plans; recipients: RecipientReader },
  plan: EventPlan,
  { context, options, cursor: from, limit, now, only, includes, takes, mark = () => {} }: DecisionRequest,
): Promise<DecisionPage> {
  const usable = await plans.listUsable(plan.organization.id, plan.project.id);
  const decisions = new Map<string, RecipientDecision>();
  const refused: DecisionPage['refused'] = [];
  const stepped: PlannedNotification[] = [];
  const pageTo = (cursor: Cursor | null): DecisionPage => {
    return { decisions: [...decisions.values()], cursor, refused, stepped, usesFallback, isOverUserLimit };
  };
  let isOverUserLimit = false;
  let usesFallback = false;
  let room = limit;
  const pause = slices();
  const isDeleted = from && !only && !plan.notifications.some(({ id }) => id === from.notification);
  const deleted = isDeleted ? planDeleted(from) : undefined;
  for (const notification of only ? [only] : [...(deleted ? [deleted] : []), ...plan.notifications]) {
    const { id } = notification;
    if ((from && id < from.notification) || includes?.(notification) === false) continue;
    const paused = pause();
    if (paused) await paused;
    mark();
    const reason =
      notification === deleted ? 'notification.missing' : refuseNotification(notification, usable, context, options);
    // Once some recipients have been decided, the others are on record too.
    if (reason && from?.notification !== id) {
      refused.push({ notification, reason });
      continue;
    }
    if (notification.steps && !reason) {
      stepped.push(notification);
      continue;
    }
    // Computes and caches the keys here, where the work is sliced; grouping the page reads all of them at once.
    notification.digest?.keyOf(context);
    notification.throttle?.keyOf(context);
    const named = notification.channels.filter(name => name !== personal);
    const channels = selectChannels(named, usable);
    const personalChannels = named.length < notification.channels.length ? selectChannels([personal], usable) : [];
    const circumstances = circumstancesOf(plan, notification, options, now);
    const { isUrgent } = circumstances;
    const add = (
      channel: PlannedChannel,
      recipient: RecipientRecord,
      { address, reason, detail, dueAt }: Pick<RecipientDecision, 'address'> & Partial<RecipientDecision>,
      turn = 0,
    ) => {
      const key = `${id} ${channel.id} ${address ?? `#${recipient.user_id}`} ${turn}`;
      // The first one for an address wins.
      if (decisions.has(key)) return;
      const decided = { notification, channel, recipient, address, reason, detail, dueAt, isUrgent };
      decisions.set(key, turn === 0 ? decided : { ...decided, turn });
    };
    const { name, recipients: audience, version } = notification;
    // The rest of the recipients is also on record for channels that were removed since the first page.
    const before = from?.notification === id ? (from.definition?.channels ?? []) : [];
    const slugs = before.length === 0 ? notification.channels : [...new Set([...notification.channels, ...before])];
    const removed =
      before.length === 0
        ? []
        : selectChannels(slugs, usable).filter(
            channel => !channels.includes(channel) && !personalChannels.includes(channel),
          );
    const definition = { name, recipients: audience, channels: slugs, version };
    const sources = sourcesOf(notification, plan, options);
    const resumed = from?.notification === id ? sources.findIndex(({ key }) => key === from.source) : -1;
    let after = resumed < 0 ? 0 : from!.after;
    let found = from?.notification === id ? 1 : 0;
    let isUncovered = false;
    for (const source of sources.slice(Math.max(0, resumed))) {
      if (room === 0) return pageTo({ notification: id, source: source.key, after, definition });
      const page = { after, limit: room, now };
      const { users: read, next, isOverLimit, gap } = await recipients.read(plan, source, page, mark);
      found += read.filter(({ locked }) => !locked).length;
      isUncovered ||= gap === 'schedule.no_one';
      usesFallback ||= gap === 'schedule.fallback';
      const users = takes ? read.filter(user => takes(notification, user.user_id)) : read;
      isOverUserLimit ||= isOverLimit ?? false;
      mark();
      room = next === undefined ? Math.max(0, room - read.length) : 0;
      for (const channel of removed.length === 0 ? channels : [...channels, ...removed]) {
        const refusal = reason ?? (removed.includes(channel) ? 'notification.channel' : undefined);
        for (const recipient of users) {
          // Computing the end of quiet hours and digests takes up to 1 ms for each time zone.
          const paused = pause();
          if (paused) await paused;
          for (const decision of decide(channel, recipient, options, circumstances)) {
            add(channel, recipient, refusal ? { ...decision, ...refusedFor(refusal) } : decision);
          }
        }
      }
      for (const recipient of personalChannels.length === 0 ? [] : users) {
        const paused = pause();
        if (paused) await paused;
        for (const { channel, decision, turn } of decidePersonal(personalChannels, recipient, options, circumstances)) {
          add(channel, recipient, reason ? { ...decision, ...refusedFor(reason) } : decision, turn);
        }
      }
      if (next !== undefined) return pageTo({ notification: id, source: source.key, after: next, definition });
      after = 0;
    }
    if (isUncovered && found === 0) refused.push({ notification, reason: 'schedule.no_one' });
  }
  return pageTo(null);
}

/** Returns why the notification is sent to no one, or undefined. */
export function refuseNotification(
  notification: PlannedNotification,
  usable: PlannedChannel[],
  context: JsonObject,
  options: TriggerOptions,
): Reason | undefined {
  const reason = decideNotification(notification, context, options);
  if (reason) return reason;
  return selectChannels(notification.channels, usable).length === 0 ? 'channel.missing' : undefined;
}

/** Returns the inputs of a decision besides the trigger, the channel and the recipient. */
export function circumstancesOf(
  { topic, organization }: EventPlan,
  { priority, digest }: { priority: number | null; digest?: PlannedNotification['digest'] },
  options: TriggerOptions,
  now: number,
): Circumstances {
  const { timezone, quiet_hours } = organization;
  const isUrgent = priorityOf(options, priority, false) === urgent;
  const digestEnd = digest && cacheDigestEnds(digest, now);
  return { topic, defaults: { timezone, quiet_hours }, isUrgent, now, ...(digestEnd && { digestEnd }) };
}

/** Caches the ends by time zone: most recipients of a page are in the same few zones. */
function cacheDigestEnds(
  { endsAt }: NonNullable<PlannedNotification['digest']>,
  now: number,
): (timezone: string) => number {
  const ends = new Map<string, number>();
  return timezone => {
    const end = ends.get(timezone) ?? endsAt(timezone, now);
    ends.set(timezone, end);
    return end;
  };
}

const refusedFor = (reason: Reason) => ({ reason, detail: undefined, dueAt: undefined });
