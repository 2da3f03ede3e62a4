/** Who gets what of an occurrence, a page of recipients at a time: the same for the real run and for simulation. */
import { type Circumstances, decide, decideNotification, type Reason, selectChannels } from '../core/decide.ts';
import type { JsonObject } from '../core/json.ts';
import { priorities, priorityOf, type TriggerOptions } from '../core/trigger.ts';
import type { Cursor } from '../db/expansion.ts';
import type { Person } from '../db/recipients.ts';
import type { EventPlan, PlannedChannel, PlannedNotification, Plans } from './plans.ts';
import { type RecipientReader, sourcesOf } from './recipients.ts';

const urgent = priorities.indexOf('urgent');

export interface Decided {
  notification: PlannedNotification;
  channel: PlannedChannel;
  person: Person;
  address: string | null;
  reason: Reason | undefined;
  /** What exactly decided, where there is more to say than the reason. */
  detail: string | undefined;
  /** It waits until then. */
  dueAt: Date | undefined;
  isUrgent: boolean;
}

export interface DecidedPage {
  /** No two to the same address of one notification and channel. */
  decisions: Decided[];
  /** Where the next page begins; null after the last. */
  cursor: Cursor | null;
  /** Notifications that are for nobody this time, and why. */
  refused: { notification: PlannedNotification; reason: Reason }[];
  /** Notifications with steps: those tell people one step after the other, each when it is due. */
  stepped: PlannedNotification[];
  /** Whether somebody whom the trigger names was left out: the organization may have no more users. */
  isOverUserLimit: boolean;
}

export interface Question {
  context: JsonObject;
  options: TriggerOptions;
  cursor: Cursor | null;
  now: number;
  /** How many recipients at the most. */
  limit: number;
  /** Only this one, such as one step of a notification. */
  only?: PlannedNotification;
  /** Called before each stretch of work on what the tenant wrote. */
  mark?: () => void;
}

/**
 * Fills a page from where the cursor stands, notification by notification in the order of their ids, source by source. A
 * notification that has been deleted since is passed over; where a source was exchanged, the notification begins anew,
 * as what is stored of it already is not stored again.
 */
export async function decidePage(
  { plans, recipients }: { plans: Plans; recipients: RecipientReader },
  plan: EventPlan,
  { context, options, cursor: from, limit, now, only, mark = () => {} }: Question,
): Promise<DecidedPage> {
  const usable = await plans.listUsable(plan.organization.id, plan.project.id);
  const decisions = new Map<string, Decided>();
  const refused: DecidedPage['refused'] = [];
  const stepped: PlannedNotification[] = [];
  const pageTo = (cursor: Cursor | null): DecidedPage => {
    return { decisions: [...decisions.values()], cursor, refused, stepped, isOverUserLimit };
  };
  let isOverUserLimit = false;
  let room = limit;
  for (const notification of only ? [only] : plan.notifications) {
    const { id } = notification;
    if (from && id < from.notification) continue;
    mark();
    const reason = refuse(notification, usable, context, options);
    if (reason) {
      refused.push({ notification, reason });
      continue;
    }
    if (notification.steps) {
      stepped.push(notification);
      continue;
    }
    const channels = selectChannels(notification.channels, usable);
    const circumstances = circumstancesOf(plan, notification, options, now);
    const sources = sourcesOf(notification, plan, options);
    const resumed = from?.notification === id ? sources.findIndex(({ key }) => key === from.source) : -1;
    let after = resumed < 0 ? 0 : from!.after;
    for (const source of sources.slice(Math.max(0, resumed))) {
      if (room === 0) return pageTo({ notification: id, source: source.key, after });
      const page = { after, limit: room };
      const { people, next, isOverLimit } = await recipients.read(plan, source, page, mark);
      isOverUserLimit ||= isOverLimit ?? false;
      mark();
      room = next === undefined ? Math.max(0, room - people.length) : 0;
      decideAll(decisions, circumstances, notification, channels, people, options);
      if (next !== undefined) return pageTo({ notification: id, source: source.key, after: next });
      after = 0;
    }
  }
  return pageTo(null);
}

/** Why nobody at all gets this notification, or undefined. */
export function refuse(
  notification: PlannedNotification,
  usable: PlannedChannel[],
  context: JsonObject,
  options: TriggerOptions,
): Reason | undefined {
  const reason = decideNotification(notification, context, options);
  if (reason) return reason;
  return selectChannels(notification.channels, usable).length === 0 ? 'channel.missing' : undefined;
}

/** What decides about a notification besides the trigger, the channel and the recipient. */
export function circumstancesOf(
  { topic, organization }: EventPlan,
  { priority, digest }: { priority: number | null; digest?: PlannedNotification['digest'] },
  options: TriggerOptions,
  now: number,
): Circumstances {
  const { timezone, quiet_hours } = organization;
  const isUrgent = priorityOf(options, priority, false) === urgent;
  return { topic, usual: { timezone, quiet_hours }, isUrgent, now, ...(digest && { digestEnd: endsOf(digest, now) }) };
}

/** Of a page of people, most are in the same few zones. */
function endsOf({ endsAt }: NonNullable<PlannedNotification['digest']>, now: number): (timezone: string) => number {
  const ends = new Map<string, number>();
  return timezone => {
    const end = ends.get(timezone) ?? endsAt(timezone, now);
    ends.set(timezone, end);
    return end;
  };
}

/** Adds to the decisions; the first one for an address stands. */
function decideAll(
  decisions: Map<string, Decided>,
  circumstances: Circumstances,
  notification: PlannedNotification,
  channels: PlannedChannel[],
  people: Person[],
  options: TriggerOptions,
): void {
  const { isUrgent } = circumstances;
  for (const channel of channels) {
    for (const person of people) {
      for (const { address, reason, detail, dueAt } of decide(channel, person, options, circumstances)) {
        const once = `${notification.id} ${channel.id} ${address ?? `#${person.user_id}`}`;
        if (!decisions.has(once))
          decisions.set(once, { notification, channel, person, address, reason, detail, dueAt, isUrgent });
      }
    }
  }
}
