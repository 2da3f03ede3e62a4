/**
 * Explains which messages a user received for an occurrence, or why none. Existing deliveries explain themselves; for
 * the rest the decisions are made again for this user, with the current event and user.
 */

import type { Suppression } from '../../core/audience/suppressions.ts';
import { isExcludedByTrigger, type Reason, selectChannels } from '../../core/decision/decide.ts';
import { type AbsenceState, absenceStateOf, explainAbsence, explainDelivery } from '../../core/decision/explain.ts';
import { isHeldByGuard } from '../../core/decision/guards/guard.ts';
import { outcomeOf } from '../../core/decision/outcome.ts';
import { decideChannels } from '../../core/decision/personal.ts';
import { describeSilence } from '../../core/decision/silences.ts';
import { explainFeedback } from '../../core/feedback/explain.ts';
import { type DeliveryState, deliveryStateOf } from '../../core/history/states.ts';
import { nameSome } from '../../core/message/acknowledge-texts.ts';
import { fold, normalizePhone } from '../../core/text/text.ts';
import type { TriggerOptions } from '../../core/trigger.ts';
import { findUsernameByAddress } from '../../db/audience/addresses.ts';
import { findMemberAsRecipient, findRecipientByName, type RecipientRecord } from '../../db/audience/recipients.ts';
import { findDeliveriesToAddresses, listUserDeliveriesOfOccurrence } from '../../db/history/delivery-history.ts';
import type { DeliveryView } from '../../db/history/delivery-list.ts';
import { listDeliveryFeedback } from '../../db/history/feedback/feedback.ts';
import { findOccurrenceHolds } from '../../db/history/occurrence-holds.ts';
import { type findOccurrence, findOccurrencesAcrossTenants } from '../../db/history/occurrences.ts';
import { findOccurrenceSilences, type OccurrenceSilence } from '../../db/history/silences/silences.ts';
import { listStoredSteps } from '../../db/history/step-list.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { circumstancesOf, refuseNotification } from '../../pipeline/decide.ts';
import type { EventPlan, PlannedNotification } from '../../pipeline/event-plan.ts';
import { describeUser, isPicked, sourcesOf } from '../../pipeline/recipients.ts';
import { markSuppressed } from '../../pipeline/suppressions.ts';
import { findOnCallAt } from '../audience/on-call/on-call.ts';
import type { Deps } from '../deps.ts';
import { findMissing } from './acknowledgements/missing.ts';
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
  /** The silence that holds it, or that suppressed it. */
  silence: OccurrenceSilence | undefined;
}

const noteOf = (silence: OccurrenceSilence) => describeSilence(silence, silence.until);

export async function explain(deps: Deps, organizationId: number, identifier: string, nameOrAddress: string) {
  const { db, plans } = deps;
  const occurrence = await getOccurrence(deps, organizationId, identifier);
  const [facts] = await findOccurrencesAcrossTenants(deps.pool, [{ organizationId, id: identifier }]);
  const plan = facts && (await plans.findEvent(organizationId, facts.event_id));
  const final = occurrence.status === 'sending' || occurrence.status === 'completed';
  const silences = await findOccurrenceSilences(db, organizationId, [identifier]);
  const explained: ExplainedOccurrence = {
    silence: silences.get(identifier),
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
  const others = await findMissing(deps, organizationId, identifier);
  const note = others?.count ? ` Waits for the acknowledgement of ${nameSome(others.users, others.count)}.` : '';
  return { user, final, summary: `${summary}${note}`, deliveries, answers: [...answers, ...missing.answers] };
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
  const { silence } = explained;
  const usable = await deps.plans.listUsable(organizationId, plan.project.id);
  const refused = refuseNotification(notification, usable, occurrence.context, options);
  if (refused) return { deliveries: [], answer: absent(refused) };
  const selection = await selectRecipient(deps, explained, plan, notification, recipient);
  if ('reason' in selection) return { deliveries: [], answer: absent(selection.reason, selection.about) };

  // The user is selected but has no delivery: it may be in a long queue, or belong to another user with the same
  // address.
  const channels = selectChannels(notification.channels, usable);
  const circumstances = circumstancesOf(plan, notification, options, currentTime());
  const decided = decideChannels(notification.channels, usable, selection.recipient, options, circumstances);
  const decisions = decided.map(({ decision }) => decision);
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
  if (notification.steps && occurrence.outcome === 'escalating') {
    if (silence?.state === 'held') return { deliveries: [], answer: absent('silenced', noteOf(silence)) };
    return { deliveries: [], answer: absent('step.waiting') };
  }
  if (!explained.final) {
    const outcome = outcomeOf(occurrence, currentTime());
    if (occurrence.reason === 'silenced')
      return { deliveries: [], answer: absent('silenced', silence && noteOf(silence)) };
    if (isHeldByGuard(occurrence)) return { deliveries: [], answer: absent(occurrence.reason as Reason) };
    if (outcome === 'held') {
      const holds = await findOccurrenceHolds(deps.db, organizationId, [occurrence.identifier]);
      const hold = holds.get(occurrence.identifier);
      const reason = hold?.reason === 'guard.rate' ? 'guard.rate' : 'event.paused';
      return { deliveries: [], answer: absent(reason, hold?.note ?? undefined) };
    }
    if (outcome === 'scheduled')
      return { deliveries: [], answer: absent('occurrence.waiting', `due at ${occurrence.due_at!.toISOString()}`) };
    if (occurrence.reason === 'canary.waiting')
      return { deliveries: [], answer: absent('canary.waiting', `until ${occurrence.due_at!.toISOString()}`) };
    return { deliveries: [], answer: absent('recipient.not_yet') };
  }
  const stopped = stopReasons.find(reason => reason === occurrence.reason);
  if (!stopped) return { deliveries: [], answer: absent('recipient.since') };
  if (stopped === 'silenced')
    return { deliveries: [], answer: absentAnswer(explained, name, stopped, silence && noteOf(silence), true) };
  if (stopped.startsWith('guard.')) return { deliveries: [], answer: absent(stopped) };
  return { deliveries: [], answer: absent(stopped, 'the occurrence stopped before it reached this user') };
}

const guardEnds = ['guard.rejected', 'guard.expired'] as const;
/** Why an occurrence stops before it has reached all recipients. */
const stopReasons = [
  'silenced',
  'cancelled',
  'expired',
  'event.inactive',
  'limit.fan_out',
  'crashed',
  ...guardEnds,
] as const;

type Selection = { recipient: RecipientRecord } | { reason: Reason; about?: string };

/**
 * Returns the recipient if any source of the notification includes this user; otherwise why the first source does not.
 */
async function selectRecipient(
  deps: Deps,
  explained: ExplainedOccurrence,
  plan: EventPlan,
  notification: PlannedNotification,
  recipient: RecipientRecord,
): Promise<Selection> {
  const { pool } = deps;
  const { organizationId, occurrence, options } = explained;
  const exclusions: Selection[] = [];
  const notifications = notification.steps?.steps.map(step => step.notification) ?? [notification];
  const sources = notifications.flatMap((one, i) =>
    sourcesOf(one, plan, options).map(source => ({ source, step: i + 1 })),
  );
  for (const { source, step } of sources) {
    if ('list' in source) {
      const { list } = source;
      const member = await findMemberAsRecipient(pool, organizationId, plan.project.id, fold(list), recipient.user_id);
      if (member) return { recipient: member };
      exclusions.push({ reason: 'list.not_member', about: `the list ${list}` });
    } else if ('picks' in source) {
      if (isPicked(source.picks, recipient)) return { recipient };
      exclusions.push({ reason: 'recipient.not_selected', about: notification.recipients.users });
    } else if ('schedule' in source) {
      const at = await findDecidedAt(deps, explained, notification, step);
      const { users, fallback } = await findOnCallAt(deps, organizationId, plan.project, source, at);
      if (users.includes(recipient.username)) return { recipient };
      const isCovered = users.length > 0 && occurrence.reason !== 'schedule.fallback';
      if (!source.isFallback) exclusions.push({ reason: 'schedule.not_on_call', about: describeOnCall(source, users) });
      else if (fallback && !isCovered) {
        const key = fold(fallback);
        const member = await findMemberAsRecipient(deps.pool, organizationId, plan.project.id, key, recipient.user_id);
        if (member) return { recipient: member };
      }
    } else {
      if (source.names.some(name => fold(name) === recipient.username)) return { recipient };
      exclusions.push({ reason: 'recipient.not_named' });
    }
  }
  return exclusions[0] ?? { reason: 'recipient.not_named' };
}

/** Returns when the recipients were decided: when the last run of the step was due, or the occurrence. */
async function findDecidedAt(
  { db }: Deps,
  { organizationId, occurrence }: ExplainedOccurrence,
  { id, steps }: PlannedNotification,
  step: number,
): Promise<Date> {
  const runs = steps ? await listStoredSteps(db, organizationId, occurrence.identifier) : [];
  const last = runs.findLast(run => run.notification_id === id && run.number > 0 && run.step === step);
  return last?.due_at ?? occurrence.due_at ?? occurrence.created_at;
}

function describeOnCall({ schedule, offset }: { schedule: string; offset: number }, users: readonly string[]): string {
  const who = users.length > 0 ? `it was ${users.join(', ')}` : 'no one was';
  return offset > 0 ? `${offset} after those of the schedule ${schedule}: ${who}` : `schedule ${schedule}: ${who}`;
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
  isOver = false,
): Answer {
  const explanation = explainAbsence(reason, final, about, isOver);
  return { notification, channel: null, outcome: 'none', state: absenceStateOf(reason, isOver), reason, explanation };
}
