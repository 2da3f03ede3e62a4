/** The overall outcome of an occurrence as a single word, the same in the API, the console and the metrics. */
export const outcomes = [
  'scheduled',
  'held',
  'expanding',
  'sending',
  'sent',
  'partly_failed',
  'failed',
  'unknown',
  'no_recipients',
  'suppressed',
  'cancelled',
  'expired',
  'escalating',
  'acknowledged',
  'resolved',
  'unacknowledged',
] as const;
export type OccurrenceOutcome = (typeof outcomes)[number];

interface OutcomeFacts {
  /** As kept by the database (`occurrence_outcome` in migrations/); null when it is about to be expanded. */
  outcome: OccurrenceOutcome | null;
  /** When it is expanded; null while it is held by a pause. */
  due_at: Date | null;
  /** Whether its open deliveries are held by a pause. */
  is_held: boolean;
}

/** Returns the current outcome. That of an ended occurrence is final; otherwise the time and pauses affect it. */
export function outcomeOf({ outcome, due_at, is_held }: OutcomeFacts, now: number): OccurrenceOutcome {
  if ((outcome === 'sending' || outcome === 'escalating') && is_held) return 'held';
  if (outcome === 'scheduled') return due_at && due_at.getTime() > now ? 'scheduled' : 'expanding';
  return outcome ?? 'expanding';
}
