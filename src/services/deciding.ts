/** Who gets what of an occurrence, a page of recipients at a time: the same for the real run and for simulation. */
import { decide, decideNotification, type Reason, selectChannels } from '../core/decide.ts';
import type { JsonObject } from '../core/json.ts';
import type { TriggerOptions } from '../core/trigger.ts';
import type { Cursor } from '../db/expansion.ts';
import type { Db } from '../db/pool.ts';
import type { Person } from '../db/recipients.ts';
import type { EventPlan, PlannedChannel, PlannedNotification, Plans } from './plans.ts';
import { readRecipients, sourcesOf } from './recipients.ts';

export interface Decided {
  notification: PlannedNotification;
  channel: PlannedChannel;
  person: Person;
  address: string | null;
  reason: Reason | undefined;
}

export interface DecidedPage {
  decisions: Decided[];
  /** Where the next page begins; null after the last. */
  cursor: Cursor | null;
  /** Notifications that are for nobody this time, and why. */
  refused: { notification: PlannedNotification; reason: Reason }[];
}

export interface Question {
  context: JsonObject;
  options: TriggerOptions;
  cursor: Cursor | null;
  /** How many recipients at the most. */
  limit: number;
  /** Whether an address of nobody becomes a user: not in a simulation. */
  makeUsers: boolean;
}

/** Fills a page from where the cursor stands, notification by notification, source by source. */
export async function decidePage(
  { db, plans }: { db: Db; plans: Plans },
  plan: EventPlan,
  { context, options, cursor: from, limit, makeUsers }: Question,
): Promise<DecidedPage> {
  const usable = await plans.listUsable(plan.organization.id, plan.project.id);
  const page: DecidedPage = { decisions: [], cursor: null, refused: [] };
  let at = from ?? { notification: 0, source: 0, after: 0 };
  let room = limit;
  while (at.notification < plan.notifications.length) {
    const notification = plan.notifications[at.notification]!;
    const reason = refuse(notification, usable, context, options);
    const source = sourcesOf(notification, plan, options)[at.source];
    if (reason || !source) {
      if (reason) page.refused.push({ notification, reason });
      at = { notification: at.notification + 1, source: 0, after: 0 };
      continue;
    }
    if (room === 0) return { ...page, cursor: at };
    const { people, next } = await readRecipients(db, plan, source, { after: at.after, limit: room }, makeUsers);
    room = next === undefined ? Math.max(0, room - people.length) : 0;
    page.decisions.push(...decideAll(notification, selectChannels(notification.channels, usable), people, options));
    at = next === undefined ? { ...at, source: at.source + 1, after: 0 } : { ...at, after: next };
  }
  return page;
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

function decideAll(
  notification: PlannedNotification,
  channels: PlannedChannel[],
  people: Person[],
  options: TriggerOptions,
): Decided[] {
  const decisions = new Map<string, Decided>();
  for (const channel of channels) {
    for (const person of people) {
      for (const { address, reason } of decide(channel, person, options)) {
        const once = `${channel.id} ${address ?? `#${person.user_id}`}`;
        if (!decisions.has(once)) decisions.set(once, { notification, channel, person, address, reason });
      }
    }
  }
  return [...decisions.values()];
}
