/** https://developers.sparkpost.com/api/webhooks/, and https://support.sparkpost.com/docs/deliverability/bounce-classification-codes */
import {
  type FeedbackEvent,
  type FeedbackReader,
  type FeedbackReason,
  feedbackEvent,
  toTime,
} from '../../core/feedback/event.ts';
import { isObject } from '../../core/json.ts';
import { lookUp } from '../../core/lookup.ts';
import { causeOf, type Fields, parseJson, pick, toEvents } from './payload.ts';
import { checkCredentials } from './signatures.ts';

/** The first open may be reported twice, also as `initial_open`; opens of an hour count as one. */
const types: Record<string, FeedbackEvent['type']> = {
  delivery: 'delivered',
  bounce: 'bounced',
  out_of_band: 'bounced',
  policy_rejection: 'bounced',
  generation_failure: 'bounced',
  generation_rejection: 'bounced',
  delay: 'deferred',
  spam_complaint: 'complained',
  list_unsubscribe: 'unsubscribed',
  link_unsubscribe: 'unsubscribed',
  open: 'opened',
  initial_open: 'opened',
  amp_open: 'opened',
  amp_initial_open: 'opened',
  click: 'clicked',
  amp_click: 'clicked',
};

const classes: Record<string, FeedbackReason> = {
  10: 'unknown_user',
  30: 'unknown_user',
  21: 'network',
  22: 'mailbox_full',
  23: 'size',
  24: 'expired',
  25: 'policy',
  26: 'suppressed',
  50: 'blocked',
  51: 'blocked',
  52: 'content',
  53: 'content',
  54: 'relay_denied',
};
const permanentClasses = ['10', '30'];
/** Auto-replies, subscriptions and challenges. */
const noBounces = ['60', '80', '100'];

export const sparkpost: FeedbackReader = {
  title: 'SparkPost',
  read: body =>
    toEvents(parseJson(body)).flatMap(entry => {
      const [event] = Object.values(isObject(entry.msys) ? entry.msys : {}).filter(isObject);
      const known = lookUp(types, String(event?.type));
      const bounceClass = String(event?.bounce_class ?? '');
      if (!event || !known || (known === 'bounced' && noBounces.includes(bounceClass))) return [];
      const type = known === 'bounced' && bounceClass === '90' ? 'unsubscribed' : known;
      const text = pick(event, 'raw_reason') ?? pick(event, 'reason') ?? null;
      return feedbackEvent({
        type,
        ...((type === 'bounced' || type === 'deferred') && causeOfEvent(event, bounceClass, text ?? '')),
        recipient: pick(event, 'raw_rcpt_to') ?? pick(event, 'rcpt_to') ?? null,
        messageId: pick(event, 'transmission_id') ?? null,
        deliveryId: pick(event, 'rcpt_meta', 'belfry_id') ?? null,
        at: toTime(event.timestamp),
        text,
      });
    }),
  isSigned: false,
  verify: checkCredentials,
};

function causeOfEvent(event: Fields, bounceClass: string, text: string) {
  if (event.type === 'generation_rejection') return causeOf(false, text, 'suppressed');
  return causeOf(permanentClasses.includes(bounceClass), text, lookUp(classes, bounceClass));
}
