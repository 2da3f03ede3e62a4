/**
 * Explains which messages a user received for an occurrence, or why none. Existing deliveries explain themselves; for
 * the rest the decisions are made again for this user, with the current event and user.
 */

import type { Suppression } from '../../core/audience/suppressions.ts';
import { decide, isExcludedByTrigger, type Reason, selectChannels } from '../../core/decision/decide.ts';
import { type AbsenceState, absenceStateOf, explainAbsence, explainDelivery } from '../../core/decision/explain.ts';
import { outcomeOf } from '../../core/decision/outcome.ts';
import { explainFeedback } from '../../core/feedback/explain.ts';
import { type DeliveryState, deliveryStateOf } from '../../core/history/states.ts';
import { fold, normalizePhone } from '../../core/text/text.ts';
import type { TriggerOptions } from '../../core/trigger.ts';
import { findUsernameByAddress } from '../../db/audience/addresses.ts';
import { findMemberAsRecipient, findRecipientByName, type RecipientRecord } from '../../db/audience/recipients.ts';
import { findDeliveriesToAddresses, listUserDeliveriesOfOccurrence } from '../../db/history/delivery-history.ts';
import type { DeliveryView } from '../../db/history/delivery-list.ts';
import { listDeliveryFeedback } from '../../db/history/feedback/feedback.ts';
import { findOccurrenceHolds } from '../../db/history/occurrence-holds.ts';
import { type findOccurrence, findOccurrencesAcrossTenants } from '../../db/history/occurrences.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { circumstancesOf, refuseNotification } from '../../pipeline/decide.ts';
import type { EventPlan, PlannedNotification } from '../../pipeline/event-plan.ts';
import { describeUser, isPicked, sourcesOf } from '../../pipeline/recipients.ts';
import { markSuppressed } from '../../pipeline/suppressions.ts';
import type { Deps } from '../deps.ts';
import { explainUpdates, listMessageUpdates } from './message-updates.ts';
import { addStates } from './occurrence-states.ts';
import { getOccurrence } from './occurrences.ts';

interface Answer {
  /** Name of the notification; null when the answer is about all of them. */
  notification: string | null;
  channel: string | null;
  /** Status of the delivery; `none` when there is no delivery. */
  outcome: string;
  /** State of the delivery; without one, whether it may still be sent. */
  state: DeliveryState | AbsenceState;
  reason: string | null;
  explanation: string;
}

/** More than any user receives for one occurrence. */
const maxDeliveries = 1_000;

interface ExplainedOccurrence {
  organizationId: number;
  occurrence: NonNullable<Awaited<ReturnType<typeof findOccurrence>>>;
  plan: EventPlan | undefined;
  options: TriggerOptions;
  /** False until all recipients are resolved: the answer may still change. */
  final: boolean;
}

export async function explain(deps: Deps, organizationId: number, identifier: string, nameOrAddress: string) {
  const { db, plans } = deps;
  const occurrence = await getOccurrence(deps, organizationId, identifier);
  const [facts] = await findOccurrencesAcrossTenants(deps.pool, [{ organizationId, id: identifier }]);
  const plan = facts && (await plans.findEvent(organizationId, facts.event_id));
  const final = occurrence.status === 'sending' || occurrence.status === 'completed';
  const explained: ExplainedOccurrence = {
    organizationId,
    occurrence,
    plan,
    options: occurrence.options as TriggerOptions,
    final,
  };
  const [state] = await addStates(deps, organizationId, [occurrence]);
  const { summary } = state!;
  const recipient = await findUserByNameOrAddress(deps, organizationId, nameOrAddress);
  if (!recipient) return { user: null, final, summary, ...(await explainUnknownUser(deps, explained, nameOrAddress)) };

  const page = { before: undefined, limit: maxDeliveries };
  const found = await listUserDeliveriesOfOccurrence(db, organizationId, recipient.user_id, identifier, page);
  const missing = await explainMissing(deps, explained, recipient, new Set(found.map(one => one.notification)));
  const deliveries = [...found.toReversed(), ...missing.deliveries];
  const { locale: _, timezone: __, custom_fields: ___, ...user } = describeUser(recipient);
  const aftermathOf = await explainAftermath(deps, organizationId, identifier, deliveries);
  const answers = deliveries.map(one => answerFor(one, aftermathOf(one)));
  return { user, final, summary, deliveries, answers: [...answers, ...missing.answers] };
}

/** Finds a user by username or by any address. */
export async function findUserByNameOrAddress(
  { db, pool }: Deps,
  organizationId: number,
  nameOrAddress: string,
): Promise<RecipientRecord | undefined> {
  const named = await findRecipientByName(pool, organizationId, fold(nameOrAddress));
  if (named) return named;
  const values = [nameOrAddress, fold(nameOrAddress), ...[normalizePhone(nameOrAddress) ?? []].flat()];
  const username = await findUsernameByAddress(db, organizationId, values);
  return username === undefined ? undefined : findRecipientByName(pool, organizationId, username);
}

/** Explains a name or address that no user has now. A user who had it may have been deleted. */
async function explainUnknownUser(deps: Deps, explained: ExplainedOccurrence, nameOrAddress: string) {
  const { organizationId, occurrence, plan } = explained;
  const channels = await deps.plans.listChannels(organizationId);
  const deliveries = await findDeliveriesToAddresses(deps.db, organizationId, occurrence.identifier, {
    notifications: plan?.notifications.map(({ id }) => id) ?? [],
    channels: channels.map(({ id }) => id),
    addresses: [nameOrAddress, fold(nameOrAddress)],
  });
  const isNamed = explained.options.recipients?.some(name => fold(name) === fold(nameOrAddress));
  const unknownUser =
    isNamed && occurrence.reason === 'limit.users'
      ? absentAnswer(explained, null, 'limit.users')
      : absentAnswer(
          explained,
          null,
          'user.unknown',
          `no user of this organization has the username or address ${nameOrAddress}`,
        );
  const aftermathOf = await explainAftermath(deps, organizationId, occurrence.identifier, deliveries);
  return { deliveries, answers: [...deliveries.map(one => answerFor(one, aftermathOf(one))), unknownUser] };
}

/** Explains the notifications without a delivery for this user. */
async function explainMissing(
  deps: Deps,
  explained: ExplainedOccurrence,
  recipient: RecipientRecord,
  explainedNames: Set<string | null>,
) {
  const { plan } = explained;
  const missing: { deliveries: DeliveryView[]; answers: Answer[] } = { deliveries: [], answers: [] };
  if (!plan) {
    if (explainedNames.size === 0) missing.answers.push(absentAnswer(explained, null, 'event.missing'));
    return missing;
  }
  for (const notification of plan.notifications.filter(({ name }) => !explainedNames.has(name))) {
    const { deliveries, answer } = await explainNotification(deps, explained, plan, notification, recipient);
    missing.deliveries.push(...deliveries);
    if (answer) missing.answers.push(answer);
  }
  return missing;
}

async function explainNotification(
  deps: Deps,
  explained: ExplainedOccurrence,
  plan: EventPlan,
  notification: PlannedNotification,
  recipient: RecipientRecord,
): Promise<{ deliveries: DeliveryView[]; answer?: Answer }> {
  const { organizationId, occurrence, options } = explained;
  const { name } = notification;
  const absent = (reason: Reason, about?: string) => absentAnswer(explained, name, reason, about);
  const usable = await deps.plans.listUsable(organizationId, plan.project.id);
  const refused = refuseNotification(notification, usable, occurrence.context, options);
  if (refused) return { deliveries: [], answer: absent(refused) };
  const selection = await selectRecipient(deps, explained, plan, notification, recipient);
  if ('reason' in selection) return { deliveries: [], answer: absent(selection.reason, selection.about) };

  // The user is selected but has no delivery: it may be in a long queue, or belong to another user with the same
  // address.
  const channels = selectChannels(notification.channels, usable);
  const circumstances = circumstancesOf(plan, notification, options, currentTime());
  const decisions = channels.flatMap(channel => decide(channel, selection.recipient, options, circumstances));
  const leftOut = decisions.findLast(({ reason }) => isExcludedByTrigger(reason))?.reason;
  if (leftOut && decisions.every(({ reason }) => isExcludedByTrigger(reason))) {
    return { deliveries: [], answer: absent(leftOut) };
  }
  const found = await findDeliveriesToAddresses(deps.db, organizationId, occurrence.identifier, {
    notifications: [notification.id],
    channels: channels.map(({ id }) => id),
    addresses: decisions.map(({ address }) => address ?? `#${recipient.user_id}`),
  });
  const own = found.filter(one => one.user === recipient.username);
  if (own.length > 0) return { deliveries: own };
  if (found[0]) return { deliveries: [], answer: absent('duplicate', `by ${found[0].channel}`) };
  if (notification.steps && occurrence.outcome === 'escalating')
    return { deliveries: [], answer: absent('step.waiting') };
  if (!explained.final) {
    const outcome = outcomeOf(occurrence, currentTime());
    if (outcome === 'held') {
      const holds = await findOccurrenceHolds(deps.db, organizationId, [occurrence.identifier]);
      return { deliveries: [], answer: absent('event.paused', holds.get(occurrence.identifier)?.note ?? undefined) };
    }
    if (outcome === 'scheduled')
      return { deliveries: [], answer: absent('occurrence.waiting', `due at ${occurrence.due_at!.toISOString()}`) };
    return { deliveries: [], answer: absent('recipient.not_yet') };
  }
  const stopped = stopReasons.find(reason => reason === occurrence.reason);
  if (!stopped) return { deliveries: [], answer: absent('recipient.since') };
  return { deliveries: [], answer: absent(stopped, 'the occurrence stopped before it reached this user') };
}

/** Why an occurrence stops before it has reached all recipients. */
const stopReasons = ['cancelled', 'expired', 'event.inactive', 'limit.fan_out', 'crashed'] as const;

type Selection = { recipient: RecipientRecord } | { reason: Reason; about?: string };

/**
 * Returns the recipient if any source of the notification includes this user; otherwise why the first source does not.
 */
async function selectRecipient(
  { pool }: Deps,
  { organizationId, options }: ExplainedOccurrence,
  plan: EventPlan,
  notification: PlannedNotification,
  recipient: RecipientRecord,
): Promise<Selection> {
  const exclusions: Selection[] = [];
  const notifications = notification.steps?.steps.map(step => step.notification) ?? [notification];
  for (const source of notifications.flatMap(one => sourcesOf(one, plan, options))) {
    if ('list' in source) {
      const { list } = source;
      const member = await findMemberAsRecipient(pool, organizationId, plan.project.id, fold(list), recipient.user_id);
      if (member) return { recipient: member };
      exclusions.push({ reason: 'list.not_member', about: `the list ${list}` });
    } else if ('picks' in source) {
      if (isPicked(source.picks, recipient)) return { recipient };
      exclusions.push({ reason: 'recipient.not_selected', about: notification.recipients.users });
    } else {
      if (source.names.some(name => fold(name) === recipient.username)) return { recipient };
      exclusions.push({ reason: 'recipient.not_named' });
    }
  }
  return exclusions[0] ?? { reason: 'recipient.not_named' };
}

/**
 * Returns what was reported about these deliveries, whether their addresses are on the suppression list, and how the messages
 * were changed since.
 */
async function explainAftermath(
  deps: Deps,
  organizationId: number,
  occurrenceId: string,
  deliveries: readonly DeliveryView[],
): Promise<(delivery: DeliveryView) => string> {
  const ids = deliveries.map(({ id }) => id);
  const events = Map.groupBy(
    ids.length > 0 ? await listDeliveryFeedback(deps.db, organizationId, occurrenceId, ids) : [],
    event => event.delivery_id,
  );
  const channels = events.size > 0 ? await deps.plans.listChannels(organizationId) : [];
  const typeOf = new Map(channels.map(({ slug, type }) => [slug, type]));
  const reported = deliveries
    .filter(({ id, address }) => events.has(id) && address)
    .map(({ address, channel }) => ({ name: typeOf.get(channel ?? '') ?? '', value: address! }));
  const addresses: { name: string; value: string; suppression?: Suppression }[] = reported;
  if (addresses.length > 0) await markSuppressed(deps, [{ organization_id: organizationId, addresses }]);
  const since = new Map(addresses.map(({ value, suppression }) => [value, suppression?.since]));
  const updatesOf = await listMessageUpdates(deps, organizationId, occurrenceId, deliveries);
  return delivery => {
    const found = events.get(delivery.id);
    const reported = found ? explainFeedback(found, since.get(delivery.address ?? '')) : '';
    return [reported, explainUpdates(updatesOf(delivery))].filter(Boolean).join(' ');
  };
}

function answerFor(delivery: DeliveryView, aftermath: string): Answer {
  const { notification, channel, status, reason } = delivery;
  const explanation = explainDelivery(delivery, aftermath);
  return { notification, channel, outcome: status, state: deliveryStateOf(delivery), reason, explanation };
}

function absentAnswer(
  { final }: ExplainedOccurrence,
  notification: string | null,
  reason: Reason,
  about?: string,
): Answer {
  const explanation = explainAbsence(reason, final, about);
  return { notification, channel: null, outcome: 'none', state: absenceStateOf(reason), reason, explanation };
}
