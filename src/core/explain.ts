/** What became of a message, in a sentence that a support person can send on. */
import { type Reason, reasons } from './decide.ts';
import type { DeliveryStatus } from './statuses.ts';

export interface Explained {
  status: DeliveryStatus;
  reason: string | null;
  detail: string | null;
  address: string | null;
  channel: string | null;
  attempts: number;
  sent_at: Date | null;
  next_attempt_at: Date | null;
  digest: string | null;
}

/** Of a delivery that there is. */
export function explainDelivery(delivery: Explained): string {
  const { status, address, channel, attempts, detail } = delivery;
  const by = channel ? ` by ${channel}` : '';
  const to = address ? ` to ${address}` : '';
  const said = detail ? ` It was told: ${detail}` : '';
  const tried = attempts === 1 ? 'one attempt' : `${attempts} attempts`;
  switch (status) {
    case 'sent':
      return `It was sent${delivery.digest ? ' in a digest' : ''}${to}${by}${delivery.sent_at ? ` at ${delivery.sent_at.toISOString()}` : ''}.`;
    case 'sending':
      return `It is being sent${to}${by} right now.`;
    case 'pending':
      if (delivery.reason && delivery.next_attempt_at) {
        return `It waits: ${explainReason(delivery.reason)}. It is sent${to}${by} at ${delivery.next_attempt_at.toISOString()}.`;
      }
      return delivery.reason
        ? `It waits: ${explainReason(delivery.reason)}. It is sent${to}${by} as soon as that changes.`
        : `It waits for its turn to be sent${to}${by}.`;
    case 'retrying': {
      const next = delivery.next_attempt_at ? ` and is tried again at ${delivery.next_attempt_at.toISOString()}` : '';
      return `It could not be sent${to}${by} in ${tried}${next}.${said}`;
    }
    case 'failed':
      return `It could not be sent${to}${by} in ${tried}: ${explainReason(delivery.reason)}.${said}`;
    case 'unknown':
      return `Whether it arrived${to}${by} is not known: ${explainReason(delivery.reason)}.${said}`;
    default:
      return `It was not sent${to}${by}: ${explainReason(delivery.reason)}${detail ? ` (${detail})` : ''}.`;
  }
}

/** Of a message that there is not; `about` names what the reason speaks of, such as the list. */
export function explainAbsence(reason: Reason, about = ''): string {
  const outlook: Partial<Record<Reason, string>> = {
    'recipient.not_yet': 'It cannot be told yet',
    'occurrence.waiting': 'It is not sent yet',
    'step.waiting': 'It is not sent yet',
  };
  return `${outlook[reason] ?? 'It was not sent'}: ${explainReason(reason)}${about ? ` (${about})` : ''}.`;
}

/** In words, without a full stop. */
export function explainReason(reason: string | null): string {
  if (reason === null) return 'no reason was given';
  return Object.hasOwn(reasons, reason) ? reasons[reason as Reason] : reason;
}
