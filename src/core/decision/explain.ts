/** Explains the status of a delivery in a sentence that support staff can pass on. */

import type { DeliveryStatus } from '../history/statuses.ts';
import { lookUp } from '../lookup.ts';
import { isBundleId } from './bundle.ts';
import { type Reason, reasons } from './decide.ts';
import type { VariantName } from './guards/variants.ts';

export interface ExplainedDelivery {
  status: DeliveryStatus;
  reason: string | null;
  detail: string | null;
  address: string | null;
  channel: string | null;
  attempts: number;
  sent_at: Date | null;
  next_attempt_at: Date | null;
  /** Until when it is retried. Null: it is not, or nothing has failed yet. */
  retry_until: Date | null;
  /** Id of the digest; all deliveries of a digest are sent as one message. */
  digest: string | null;
  /** The variant of the message; null: there is one. */
  variant: VariantName | null;
}

const lostResponse = "the provider's response was lost";

/** Explains an existing delivery; `aftermath` says what was reported about it after it was sent. */
export function explainDelivery(delivery: ExplainedDelivery, aftermath = ''): string {
  const { variant } = delivery;
  const explained = explainOutcome(delivery, aftermath !== '');
  return [explained, variant && `The message is variant ${variant}.`, aftermath].filter(Boolean).join(' ');
}

function explainOutcome(delivery: ExplainedDelivery, hasAftermath: boolean): string {
  const { status, address, channel, attempts, detail } = delivery;
  const via = channel ? ` via ${channel}` : '';
  const to = address ? ` to ${address}` : '';
  const response = detail ? ` Details: ${detail}` : '';
  const tried = attempts === 1 ? 'one attempt' : `${attempts} attempts`;
  const inTries = attempts > 0 ? ` in ${tried}` : '';
  const at = delivery.sent_at ? ` at ${delivery.sent_at.toISOString()}` : '';
  const isBundle = isBundleId(delivery.digest);
  const inOne = isBundle ? ' in one message with other alerts' : delivery.digest ? ' in a digest' : '';
  const sent = `It was sent${inOne}${to}${via}${at}`;
  switch (status) {
    case 'sent':
      return `${sent}.`;
    case 'sending':
      return `It is being sent${to}${via} right now.`;
    case 'pending':
      if (delivery.reason && delivery.next_attempt_at) {
        const why = isBundle ? 'alerts of the same seconds become one message' : explainReason(delivery.reason);
        const about = delivery.reason === 'silenced' && detail ? ` (${detail})` : '';
        return `It is waiting: ${why}${about}. It will be sent${to}${via} at ${delivery.next_attempt_at.toISOString()}.`;
      }
      return delivery.reason
        ? `It is waiting: ${explainPause(delivery.reason, detail)}. It will be sent${to}${via} as soon as that changes.`
        : `It is waiting to be sent${to}${via}.`;
    case 'retrying': {
      const end = delivery.retry_until ? `, until ${delivery.retry_until.toISOString()} at the latest` : '';
      const next = delivery.next_attempt_at
        ? ` and will be retried at ${delivery.next_attempt_at.toISOString()}${end}`
        : '';
      const { reason } = delivery;
      const why = reason && reason !== 'provider.failed' ? `, because ${explainReason(reason)},` : '';
      return delivery.reason === 'unknown'
        ? `It may have been delivered${to}${via} in ${tried}: ${lostResponse}.${next ? ` It${next.slice(4)}.` : ''}${response}`
        : `It could not be sent${to}${via}${inTries}${why}${next}.${response}`;
    }
    case 'failed':
      if (delivery.reason === 'bounced') return `${sent}, but it did not arrive.${hasAftermath ? '' : response}`;
      return `It could not be sent${to}${via}${inTries}: ${explainReason(delivery.reason)}.${response}`;
    case 'unknown':
      return `It may have been delivered${to}${via} in ${tried}: ${lostResponse}.${response}`;
    default:
      return `It was not sent${to}${via}${attempts > 0 ? ` in ${tried}` : ''}: ${explainReason(delivery.reason)}${detail ? ` (${detail})` : ''}.`;
  }
}

/** `none`: nothing is to come, as things are. The others are outcomes of the occurrence that leave it open. */
export const absenceStates = ['none', 'expanding', 'scheduled', 'held', 'escalating'] as const;
export type AbsenceState = (typeof absenceStates)[number];

/** What a user without a delivery may still get, by the reason why there is none yet. */
const prospects: Partial<Record<Reason, { state: AbsenceState; text: string }>> = {
  'recipient.not_yet': { state: 'expanding', text: 'It is still being decided' },
  'occurrence.waiting': { state: 'scheduled', text: 'It is scheduled' },
  'event.paused': { state: 'held', text: 'It is held, and sent when the pause ends' },
  'guard.rate': { state: 'held', text: 'It is held, and sent if someone releases it' },
  'guard.audience': { state: 'held', text: 'It is held, and sent if someone approves it' },
  'guard.canary': { state: 'held', text: 'It is held, and sent if someone approves it' },
  'canary.waiting': { state: 'expanding', text: 'It is sent later if the sample goes well' },
  silenced: { state: 'held', text: 'It is held, and sent when the silence ends if it is still open' },
  'step.waiting': { state: 'escalating', text: 'It may still be sent' },
};

/** `isOver`: nothing is to come, whatever the reason. */
export function absenceStateOf(reason: Reason, isOver = false): AbsenceState {
  return (isOver ? undefined : prospects[reason]?.state) ?? 'none';
}

/**
 * Explains why there is no delivery. `about` is what the reason refers to, such as the list, or the reason of a pause. Unless it is final, recipients have yet to
 * be resolved.
 */
export function explainAbsence(reason: Reason, isFinal: boolean, about = '', isOver = false): string {
  const why =
    reason === 'event.paused' || reason === 'guard.rate'
      ? explainPause(reason, about)
      : `${explainReason(reason)}${about ? ` (${about})` : ''}`;
  const prospect = isOver ? undefined : prospects[reason]?.text;
  return `${prospect ?? (isFinal ? 'It was not sent' : 'It would not be sent')}: ${why}.`;
}

/** Returns the text of a reason code, and what the person who paused it gave as the reason. */
export function explainPause(reason: string, note: string | null = null): string {
  return note ? `${explainReason(reason)}: ${note.replace(/[.\s]+$/, '')}` : explainReason(reason);
}

/** Returns the text of a reason code, without a full stop. */
export function explainReason(reason: string | null): string {
  if (reason === null) return 'no reason was given';
  return lookUp<string>(reasons, reason) ?? reason;
}
