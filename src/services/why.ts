/**
 * Why somebody got what they got of an occurrence, or got nothing. What there is explains itself; for the rest the same
 * decisions are made again for this one user, as the event and the user are now.
 */
import { decide, isLeftOutByTrigger, type Reason, selectChannels } from '../core/decide.ts';
import { explainAbsence, explainDelivery } from '../core/explain.ts';
import { fold, normalizePhone } from '../core/text.ts';
import type { TriggerOptions } from '../core/trigger.ts';
import { findUsernameByAddress } from '../db/addresses.ts';
import { findDeliveriesTo, listUserDeliveriesOf } from '../db/delivery-history.ts';
import type { DeliveryView } from '../db/delivery-list.ts';
import { type findOccurrence, findOccurrencesAcrossTenants } from '../db/occurrences.ts';
import { findMemberAsRecipient, findRecipientByName, type Person } from '../db/recipients.ts';
import { circumstancesOf, refuse } from './deciding.ts';
import type { Deps } from './deps.ts';
import { getOccurrence } from './occurrences.ts';
import type { EventPlan, PlannedNotification } from './plans.ts';
import { describeUser, isPicked, sourcesOf } from './recipients.ts';

export interface Answer {
  /** Name; null where it is about all of them. */
  notification: string | null;
  channel: string | null;
  /** A delivery's status; `none` where there is no delivery. */
  outcome: string;
  reason: string | null;
  explanation: string;
}

export interface Explanation {
  user: Omit<ReturnType<typeof describeUser>, 'locale' | 'timezone' | 'custom_fields'> | null;
  /** False while recipients are still being found: the answer may change. */
  final: boolean;
  deliveries: DeliveryView[];
  answers: Answer[];
}

/** More of one occurrence than anybody gets. */
const mostDeliveries = 1_000;

interface Asked {
  organizationId: number;
  occurrence: NonNullable<Awaited<ReturnType<typeof findOccurrence>>>;
  plan: EventPlan | undefined;
  options: TriggerOptions;
}

export async function explain(
  deps: Deps,
  organizationId: number,
  identifier: string,
  who: string,
): Promise<Explanation> {
  const { db, plans } = deps;
  const occurrence = await getOccurrence(deps, organizationId, identifier);
  const [facts] = await findOccurrencesAcrossTenants(deps.pool, [{ organizationId, id: identifier }]);
  const plan = facts && (await plans.findEvent(organizationId, facts.event_id));
  const asked: Asked = { organizationId, occurrence, plan, options: occurrence.options as TriggerOptions };
  const final = occurrence.status === 'sending' || occurrence.status === 'completed';
  const person = await findPerson(deps, organizationId, who);
  if (!person) return { user: null, final, ...(await explainStranger(deps, asked, who)) };

  const page = { before: undefined, limit: mostDeliveries };
  const found = await listUserDeliveriesOf(db, organizationId, person.user_id, identifier, page);
  const rest = await explainRest(deps, asked, person, new Set(found.map(one => one.notification)));
  const deliveries = [...found.toReversed(), ...rest.deliveries];
  const { locale: _, timezone: __, custom_fields: ___, ...user } = describeUser(person);
  return { user, final, deliveries, answers: [...deliveries.map(answerOf), ...rest.answers] };
}

/** By the username, or by any address. */
export async function findPerson({ db, pool }: Deps, organizationId: number, who: string): Promise<Person | undefined> {
  const named = await findRecipientByName(pool, organizationId, fold(who));
  if (named) return named;
  const values = [who, fold(who), ...[normalizePhone(who) ?? []].flat()];
  const username = await findUsernameByAddress(db, organizationId, values);
  return username === undefined ? undefined : findRecipientByName(pool, organizationId, username);
}

/** Nobody has this name or address now. Somebody may have had it, and have been deleted since. */
async function explainStranger(deps: Deps, asked: Asked, who: string) {
  const { organizationId, occurrence, plan } = asked;
  const channels = await deps.plans.listChannels(organizationId);
  const deliveries = await findDeliveriesTo(deps.db, organizationId, occurrence.identifier, {
    notifications: plan?.notifications.map(({ id }) => id) ?? [],
    channels: channels.map(({ id }) => id),
    addresses: [who, fold(who)],
  });
  const isNamed = asked.options.recipients?.some(name => fold(name) === fold(who));
  const stranger =
    isNamed && occurrence.reason === 'limit.users'
      ? absent(null, 'limit.users')
      : absent(null, 'user.unknown', `nobody here has the username or address ${who}`);
  return { deliveries, answers: [...deliveries.map(answerOf), stranger] };
}

/** The notifications that left no delivery for this user. */
async function explainRest(deps: Deps, asked: Asked, person: Person, told: Set<string | null>) {
  const { occurrence, plan } = asked;
  const rest: { deliveries: DeliveryView[]; answers: Answer[] } = { deliveries: [], answers: [] };
  if (!plan) {
    if (told.size === 0) rest.answers.push(absent(null, 'event.missing'));
    return rest;
  }
  if (occurrence.reason === 'expired' || occurrence.reason === 'cancelled') {
    if (told.size === 0) rest.answers.push(absent(null, occurrence.reason));
    return rest;
  }
  for (const notification of plan.notifications.filter(({ name }) => !told.has(name))) {
    const { deliveries, answer } = await explainOne(deps, asked, plan, notification, person);
    rest.deliveries.push(...deliveries);
    if (answer) rest.answers.push(answer);
  }
  return rest;
}

async function explainOne(
  deps: Deps,
  asked: Asked,
  plan: EventPlan,
  notification: PlannedNotification,
  person: Person,
): Promise<{ deliveries: DeliveryView[]; answer?: Answer }> {
  const { organizationId, occurrence, options } = asked;
  const { name } = notification;
  const usable = await deps.plans.listUsable(organizationId, plan.project.id);
  const refused = refuse(notification, usable, occurrence.context, options);
  if (refused) return { deliveries: [], answer: absent(name, refused) };
  const selected = await select(deps, asked, plan, notification, person);
  if ('reason' in selected) return { deliveries: [], answer: absent(name, selected.reason, selected.about) };

  // Selected, and yet nothing of theirs was found: it may wait in a long queue, or belong to whoever has the same address.
  const channels = selectChannels(notification.channels, usable);
  const circumstances = circumstancesOf(plan, notification, options, Date.now());
  const decisions = channels.flatMap(channel => decide(channel, selected.person, options, circumstances));
  const leftOut = decisions.findLast(({ reason }) => isLeftOutByTrigger(reason))?.reason;
  if (leftOut && decisions.every(({ reason }) => isLeftOutByTrigger(reason))) {
    return { deliveries: [], answer: absent(name, leftOut) };
  }
  const found = await findDeliveriesTo(deps.db, organizationId, occurrence.identifier, {
    notifications: [notification.id],
    channels: channels.map(({ id }) => id),
    addresses: decisions.map(({ address }) => address ?? `#${person.user_id}`),
  });
  const own = found.filter(one => one.user === person.username);
  if (own.length > 0) return { deliveries: own };
  if (found[0]) return { deliveries: [], answer: absent(name, 'duplicate', `by ${found[0].channel}`) };
  if (notification.steps && occurrence.outcome === 'escalating')
    return { deliveries: [], answer: absent(name, 'step.waiting') };
  if (occurrence.status === 'accepted' || occurrence.status === 'expanding') {
    const paused = occurrence.reason === 'event.paused';
    const reason = paused
      ? 'event.paused'
      : occurrence.status === 'accepted'
        ? 'occurrence.waiting'
        : 'recipient.not_yet';
    return { deliveries: [], answer: absent(name, reason) };
  }
  const reason = occurrence.reason === 'limit.fan_out' ? 'limit.fan_out' : 'recipient.since';
  return { deliveries: [], answer: absent(name, reason) };
}

type Selected = { person: Person } | { reason: Reason; about?: string };

/** Whether any of the notification's sources of recipients has this user; else why the first of them has not. */
async function select(
  { pool }: Deps,
  { organizationId, options }: Asked,
  plan: EventPlan,
  notification: PlannedNotification,
  person: Person,
): Promise<Selected> {
  const missed: Selected[] = [];
  const told = notification.steps?.steps.map(step => step.notification) ?? [notification];
  for (const source of told.flatMap(one => sourcesOf(one, plan, options))) {
    if ('list' in source) {
      const { list } = source;
      const member = await findMemberAsRecipient(pool, organizationId, plan.project.id, fold(list), person.user_id);
      if (member) return { person: member };
      missed.push({ reason: 'list.not_member', about: `the list ${list}` });
    } else if ('picks' in source) {
      if (isPicked(source.picks, person)) return { person };
      missed.push({ reason: 'recipient.not_selected', about: notification.recipients.users });
    } else {
      if (source.names.some(name => fold(name) === person.username)) return { person };
      missed.push({ reason: 'recipient.not_named' });
    }
  }
  return missed[0] ?? { reason: 'recipient.not_named' };
}

function answerOf(delivery: DeliveryView): Answer {
  const { notification, channel, status, reason } = delivery;
  return { notification, channel, outcome: status, reason, explanation: explainDelivery(delivery) };
}

function absent(notification: string | null, reason: Reason, about?: string): Answer {
  return { notification, channel: null, outcome: 'none', reason, explanation: explainAbsence(reason, about) };
}
