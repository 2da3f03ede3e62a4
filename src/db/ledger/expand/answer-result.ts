/** What an answer to an occurrence has changed. */

/** Who acknowledged, snoozed and resolved the occurrence, and when; null: no one. */
export interface AnswerState {
  acknowledged_at: Date | null;
  acknowledged_by: string | null;
  /** When the acknowledgement ends; null: it does not. */
  acknowledged_until: Date | null;
  snoozed_by: string | null;
  resolved_at: Date | null;
  resolved_by: string | null;
}

export interface AnswerResult extends AnswerState {
  /** Whether this answer changed anything: a late one does not. */
  isFirst: boolean;
  /** The number of deliveries cancelled. */
  cancelled: number;
  /** Milliseconds from the trigger to the answer. */
  ms: number;
  /** The outcome of the occurrence, if it ended with it. */
  ended: string[];
  /** Set if others have yet to acknowledge. */
  missing?: Missing;
  /** The occurrence is not acknowledged by anyone who was not notified. */
  notAsked?: boolean;
}

export const answerColumns =
  'acknowledged_at, acknowledged_by, acknowledged_until, snoozed_by, resolved_at, resolved_by';

/** Recipients who have yet to acknowledge. */
export interface Missing {
  /** Usernames of the first of them. */
  users: string[];
  count: number;
}
