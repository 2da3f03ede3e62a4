/** How an occurrence stands, in one word for people: the same in the API, the console and everywhere else. */
import type { EndedStatus, OccurrenceStatus } from './statuses.ts';

export const outcomes = [
  'scheduled',
  'held',
  'expanding',
  'sending',
  'sent',
  'partly_failed',
  'failed',
  'nobody',
  'suppressed',
  'cancelled',
  'expired',
  'escalating',
  'acknowledged',
  'resolved',
  'unacknowledged',
] as const;
export type OccurrenceOutcome = (typeof outcomes)[number];

export interface OutcomeFacts {
  status: OccurrenceStatus;
  reason: string | null;
  /** When it is to be expanded; null where that waits for a pause to end. */
  due_at: Date | null;
  /** Whether it waits for something that is paused. */
  is_held: boolean;
  is_escalating: boolean;
  awaits_acknowledgement: boolean;
  acknowledged_at: Date | null;
  resolved_at: Date | null;
  counts: Record<EndedStatus, number>;
}

export function outcomeOf(facts: OutcomeFacts, now: number): OccurrenceOutcome {
  const { status, reason, due_at, is_held, counts } = facts;
  // An answer is what people look for, also while the last messages are on their way.
  if (facts.resolved_at) return 'resolved';
  if (facts.acknowledged_at) return 'acknowledged';
  if (status !== 'completed') {
    if (is_held) return 'held';
    if (status === 'sending' && facts.is_escalating) return 'escalating';
    if (status === 'sending') return 'sending';
    return status === 'accepted' && due_at && due_at.getTime() > now ? 'scheduled' : 'expanding';
  }
  if (facts.awaits_acknowledgement) return 'unacknowledged';
  // Whether an unknown one arrived is for a person to find out: until then it has not.
  const failed = counts.failed + counts.unknown;
  if (failed > 0) return counts.sent > 0 ? 'partly_failed' : 'failed';
  if (counts.sent > 0) return 'sent';
  if (counts.cancelled > 0 || reason === 'cancelled') return 'cancelled';
  if (counts.expired > 0 || reason === 'expired') return 'expired';
  // It had nobody to go to, or somebody to whom it did not go.
  const hadNobody =
    reason === null || reason === 'no_recipients' || reason === 'occurrence.not_open' || reason.startsWith('limit.');
  return counts.suppressed === 0 && hadNobody ? 'nobody' : 'suppressed';
}
