/** https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event */
import { createPublicKey, verify } from 'node:crypto';
import { type FeedbackEvent, type FeedbackReader, feedbackEvent, toTime } from '../../core/feedback/event.ts';
import { lookUp } from '../../core/lookup.ts';
import { causeOf, type Fields, parseJson, pick, toEvents } from './payload.ts';
import { checkTime, forged, genuine, retryWindowMs } from './signatures.ts';

const types: Record<string, FeedbackEvent['type']> = {
  delivered: 'delivered',
  bounce: 'bounced',
  dropped: 'bounced',
  deferred: 'deferred',
  spamreport: 'complained',
  unsubscribe: 'unsubscribed',
  group_unsubscribe: 'unsubscribed',
  open: 'opened',
  click: 'clicked',
};

export const sendgrid: FeedbackReader = {
  title: 'SendGrid',
  read: body =>
    toEvents(parseJson(body)).flatMap(event => {
      const type = lookUp(types, String(event.event));
      if (!type) return [];
      const text = pick(event, 'reason') ?? pick(event, 'response') ?? null;
      return feedbackEvent({
        type,
        ...((type === 'bounced' || type === 'deferred') && causeOfEvent(event, text ?? '')),
        recipient: pick(event, 'email') ?? null,
        // SendGrid reports custom arguments as fields; libraries put their own id there, because opens have no smtp-id.
        messageId:
          pick(event, 'anymail_id') ?? pick(event, 'smtp-id') ?? pick(event, 'sg_message_id')?.split('.')[0] ?? null,
        deliveryId: pick(event, 'belfry_id') ?? null,
        at: toTime(event.timestamp),
        text,
      });
    }),
  /** The secret is the verification key of the webhook. */
  verify({ headers, bytes }, secret, { now }) {
    const timestamp = headers['x-twilio-email-event-webhook-timestamp'];
    const time = checkTime(timestamp, now, retryWindowMs);
    if (!time.ok) return time;
    const signature = Buffer.from(headers['x-twilio-email-event-webhook-signature'] ?? '', 'base64');
    try {
      const key = createPublicKey({ key: Buffer.from(secret, 'base64'), format: 'der', type: 'spki' });
      const isSigned = verify('sha256', Buffer.concat([Buffer.from(timestamp!), bytes]), key, signature);
      return isSigned ? genuine : forged('the signature does not match');
    } catch {
      return forged('the verification key is not a public key of SendGrid');
    }
  },
};

function causeOfEvent(event: Fields, text: string) {
  if (event.event !== 'dropped') return causeOf(event.event === 'bounce' && event.type !== 'blocked', text);
  if (/^(bounced address|invalid)/i.test(text)) return causeOf(true, text, 'suppressed');
  return causeOf(false, text, /^(unsubscribed|spam reporting) address/i.test(text) ? 'suppressed' : undefined);
}
