/** How an occurrence stands, in one word for people: the same in the API, the console and everywhere else. */
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
  /** As the row itself tells (migrations/0028_outcomes_listed.sql); null where it is about to be expanded. */
  outcome: OccurrenceOutcome | null;
  /** When it is to be expanded; null where that waits for a pause to end. */
  due_at: Date | null;
  /** Whether what is left of it waits for something that is paused. */
  is_held: boolean;
}

/** What has ended stays as it ended; of the rest, the clock and what is paused have a say. */
export function outcomeOf({ outcome, due_at, is_held }: OutcomeFacts, now: number): OccurrenceOutcome {
  if ((outcome === 'sending' || outcome === 'escalating') && is_held) return 'held';
  if (outcome === 'scheduled') return due_at && due_at.getTime() > now ? 'scheduled' : 'expanding';
  return outcome ?? 'expanding';
}
