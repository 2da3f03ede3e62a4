/** Decides who gets what of an occurrence, one page of recipients at a time, for the engine and for simulation. */
import {
  type Circumstances,
  decide,
  decideNotification,
  type Reason,
  selectChannels,
} from '../core/decision/decide.ts';
import type { JsonObject } from '../core/json.ts';
import { priorities, priorityOf, type TriggerOptions } from '../core/trigger.ts';
import type { RecipientRecord } from '../db/audience/recipients.ts';
import type { Cursor } from '../db/ledger/cursor.ts';
import { slices } from '../lib/load/slices.ts';
import { type EventPlan, type PlannedNotification, planDeleted } from './event-plan.ts';
import type { PlannedChannel, Plans } from './plans.ts';
import { type RecipientReader, sourcesOf } from './recipients.ts';

const urgent = priorities.indexOf('urgent');

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
}

export interface DecisionPage {
  /** At most one for each notification, channel and address. */
  decisions: RecipientDecision[];
  /** The start of the next page; null after the last page. */
  cursor: Cursor | null;
  /** Notifications that are sent to no one, and why. */
  refused: { notification: PlannedNotification; reason: Reason }[];
  /** Notifications with steps, whose recipients are decided when each step is due. */
  stepped: PlannedNotification[];
  /** Whether a recipient named by the trigger was left out because of the organization's user limit. */
  isOverUserLimit: boolean;
}

interface DecisionRequest {
  context: JsonObject;
  options: TriggerOptions;
  cursor: Cursor | null;
  now: number;
  /** The maximum number of recipients. */
  limit: number;
  /** Decides only this notification, such as one step of it. */
  only?: PlannedNotification;
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
  { context, options, cursor: from, limit, now, only, mark = () => {} }: DecisionRequest,
): Promise<DecisionPage> {
  const usable = await plans.listUsable(plan.organization.id, plan.project.id);
  const decisions = new Map<string, RecipientDecision>();
  const refused: DecisionPage['refused'] = [];
  const stepped: PlannedNotification[] = [];
  const pageTo = (cursor: Cursor | null): DecisionPage => {
    return { decisions: [...decisions.values()], cursor, refused, stepped, isOverUserLimit };
  };
  let isOverUserLimit = false;
  let room = limit;
  const pause = slices();
  const isDeleted = from && !only && !plan.notifications.some(({ id }) => id === from.notification);
  const deleted = isDeleted ? planDeleted(from) : undefined;
  for (const notification of only ? [only] : [...(deleted ? [deleted] : []), ...plan.notifications]) {
    const { id } = notification;
    if (from && id < from.notification) continue;
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
    const channels = selectChannels(notification.channels, usable);
    const circumstances = circumstancesOf(plan, notification, options, now);
    const { name, recipients: audience, version } = notification;
    // The rest of the recipients is also on record for channels that were removed since the first page.
    const before = from?.notification === id ? (from.definition?.channels ?? []) : [];
    const slugs = before.length === 0 ? notification.channels : [...new Set([...notification.channels, ...before])];
    const removed =
      before.length === 0 ? [] : selectChannels(slugs, usable).filter(channel => !channels.includes(channel));
    const definition = { name, recipients: audience, channels: slugs, version };
    const sources = sourcesOf(notification, plan, options);
    const resumed = from?.notification === id ? sources.findIndex(({ key }) => key === from.source) : -1;
    let after = resumed < 0 ? 0 : from!.after;
    for (const source of sources.slice(Math.max(0, resumed))) {
      if (room === 0) return pageTo({ notification: id, source: source.key, after, definition });
      const page = { after, limit: room };
      const { users, next, isOverLimit } = await recipients.read(plan, source, page, mark);
      isOverUserLimit ||= isOverLimit ?? false;
      mark();
      room = next === undefined ? Math.max(0, room - users.length) : 0;
      for (const channel of removed.length === 0 ? channels : [...channels, ...removed]) {
        const refusal = reason ?? (removed.includes(channel) ? 'notification.channel' : undefined);
        for (const recipient of users) {
          // Computing the end of quiet hours and digests takes up to 1 ms for each time zone.
          const paused = pause();
          if (paused) await paused;
          for (const decision of decide(channel, recipient, options, circumstances)) {
            const { address, reason, detail, dueAt } = refusal ? { ...decision, ...refusedFor(refusal) } : decision;
            const key = `${id} ${channel.id} ${address ?? `#${recipient.user_id}`}`;
            // The first one for an address wins.
            if (decisions.has(key)) continue;
            const { isUrgent } = circumstances;
            decisions.set(key, { notification, channel, recipient, address, reason, detail, dueAt, isUrgent });
          }
        }
      }
      if (next !== undefined) return pageTo({ notification: id, source: source.key, after: next, definition });
      after = 0;
    }
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
