/** Statuses of deliveries and outcomes of occurrences: each has one color, one label and one sentence everywhere. */
import { texts } from '../texts/common.ts';

export interface StatusStyle {
  /** Label in badges. */
  name?: string;
  /** A color of Mantine's palette. */
  color: string;
  /** Color in charts and bars. */
  fill: string;
  meaning: string;
  moving?: boolean;
}

export const deliveryStatuses: Record<string, StatusStyle> = {
  sent: { name: texts.sent, color: 'teal', fill: 'teal.7', meaning: texts.sentMeaning },
  pending: { name: texts.pending, color: 'gray', fill: 'gray.4', meaning: texts.pendingMeaning, moving: true },
  sending: { name: texts.sending, color: 'blue', fill: 'blue.5', meaning: texts.sendingMeaning, moving: true },
  retrying: {
    name: texts.retrying,
    color: 'yellow',
    fill: 'yellow.5',
    meaning: texts.retryingMeaning,
    moving: true,
  },
  failed: { name: texts.failed, color: 'red', fill: 'red.7', meaning: texts.failedMeaning },
  unknown: { name: texts.unknown, color: 'orange', fill: 'orange.5', meaning: texts.unknownMeaning },
  suppressed: { name: texts.suppressed, color: 'gray', fill: 'gray.5', meaning: texts.suppressedMeaning },
  cancelled: { name: texts.cancelled, color: 'gray', fill: 'gray.6', meaning: texts.cancelledMeaning },
  expired: { name: texts.expired, color: 'gray', fill: 'gray.7', meaning: texts.expiredMeaning },
};

/** Outcomes of occurrences. */
export const occurrenceOutcomes: Record<string, StatusStyle> = {
  scheduled: { name: texts.scheduled, color: 'violet', fill: 'violet.5', meaning: texts.scheduledOutcome },
  held: { name: texts.held, color: 'yellow', fill: 'yellow.5', meaning: texts.heldOutcome },
  expanding: { name: texts.resolving, color: 'blue', fill: 'blue.5', meaning: texts.expandingOutcome, moving: true },
  sending: { name: texts.sending, color: 'blue', fill: 'blue.5', meaning: texts.sendingOutcome, moving: true },
  sent: { name: texts.sent, color: 'teal', fill: 'teal.7', meaning: texts.sentOutcome },
  partly_failed: { name: texts.partlyFailed, color: 'orange', fill: 'orange.5', meaning: texts.partlyFailedOutcome },
  failed: { name: texts.failed, color: 'red', fill: 'red.7', meaning: texts.failedOutcome },
  unknown: { name: texts.unknown, color: 'orange', fill: 'orange.5', meaning: texts.unknownOutcome },
  nobody: { name: texts.noRecipients, color: 'gray', fill: 'gray.5', meaning: texts.noRecipientsOutcome },
  suppressed: { name: texts.suppressed, color: 'gray', fill: 'gray.5', meaning: texts.suppressedOutcome },
  cancelled: { name: texts.cancelled, color: 'gray', fill: 'gray.6', meaning: texts.cancelledMeaning },
  expired: { name: texts.expired, color: 'gray', fill: 'gray.7', meaning: texts.expiredMeaning },
  escalating: {
    name: texts.escalating,
    color: 'orange',
    fill: 'orange.5',
    meaning: texts.escalatingOutcome,
    moving: true,
  },
  acknowledged: { name: texts.acknowledged, color: 'teal', fill: 'teal.7', meaning: texts.acknowledgedOutcome },
  resolved: { name: texts.resolved, color: 'teal', fill: 'teal.7', meaning: texts.resolvedOutcome },
  unacknowledged: { name: texts.unacknowledged, color: 'red', fill: 'red.7', meaning: texts.unacknowledgedOutcome },
};

/** Shown instead of `sending` while all open deliveries wait; `meaning` says for what. */
export function waitingStyle(meaning: string): StatusStyle {
  return { name: texts.waiting, color: 'violet', fill: 'violet.5', meaning };
}

export const plainStyle: StatusStyle = { color: 'gray', fill: 'gray.5', meaning: '' };

export function deliveryStyle(status: string): StatusStyle {
  return deliveryStatuses[status] ?? plainStyle;
}

/** Order of statuses in bars and legends. */
export const statusOrder = [
  'sent',
  'sending',
  'pending',
  'retrying',
  'failed',
  'unknown',
  'suppressed',
  'cancelled',
  'expired',
];
