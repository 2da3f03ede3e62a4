/** Tells what became of a message after it was sent, in sentences that support staff can pass on. */
import { type FeedbackReason, type FeedbackType, feedbackReasons } from './event.ts';

export interface ExplainedFeedback {
  type: FeedbackType;
  source: string;
  permanent: boolean | null;
  reason: FeedbackReason | null;
  detail: string | null;
  at: Date;
}

const happened: Record<FeedbackType, string> = {
  delivered: 'was delivered',
  bounced: 'bounced',
  deferred: 'was delayed',
  complained: 'was reported as spam by the recipient',
  unsubscribed: 'was answered with an unsubscription',
  opened: 'was opened',
  clicked: 'had a link that was clicked',
};

/** Explains events in their order; of opens and clicks only the first. `suppressedSince` is of the address. */
export function explainFeedback(events: readonly ExplainedFeedback[], suppressedSince: Date | undefined): string {
  const notable = events.filter(
    ({ type }, i) => (type !== 'opened' && type !== 'clicked') || events.findIndex(one => one.type === type) === i,
  );
  const sentences = notable.map(({ type, source, reason, permanent, detail, at }) => {
    const cause = reason && type !== 'complained' ? `: ${feedbackReasons[reason]}` : '';
    const kind = type === 'bounced' ? (permanent ? ' permanently' : ' temporarily') : '';
    return `According to ${source}, it ${happened[type]}${kind} at ${at.toISOString()}${cause}${detail ? ` (${detail})` : ''}.`;
  });
  if (suppressedSince) {
    sentences.push(`The address has been on the suppression list since ${suppressedSince.toISOString()}.`);
  }
  return sentences.join(' ');
}
