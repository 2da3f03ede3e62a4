/** https://developers.mailersend.com/api/v1/webhooks.html */
import { type FeedbackEvent, type FeedbackReader, feedbackEvent, toTime } from '../../core/feedback/event.ts';
import { isObject } from '../../core/json.ts';
import { lookUp } from '../../core/lookup.ts';
import { causeOf, type Fields, parseObject, pick } from './payload.ts';
import { checkSignature, hmac } from './signatures.ts';

const types: Record<string, FeedbackEvent['type']> = {
  delivered: 'delivered',
  hard_bounced: 'bounced',
  soft_bounced: 'bounced',
  deferred: 'deferred',
  spam_complaint: 'complained',
  spam_complaints: 'complained',
  unsubscribed: 'unsubscribed',
  opened: 'opened',
  opened_unique: 'opened',
  clicked: 'clicked',
  clicked_unique: 'clicked',
};

export const mailersend: FeedbackReader = {
  title: 'MailerSend',
  read(body) {
    const event = parseObject(body);
    const data: Fields = isObject(event.data) ? event.data : {};
    const name = pick(data, 'type') ?? pick(event, 'type')?.replace(/^activity\./, '') ?? '';
    const type = lookUp(types, name);
    if (!type) return [];
    const text = pick(data, 'morph', 'readable_reason') ?? pick(data, 'morph', 'reason') ?? null;
    return [
      feedbackEvent({
        type,
        ...((type === 'bounced' || type === 'deferred') && causeOf(name === 'hard_bounced', text ?? '')),
        recipient: pick(data, 'email', 'recipient', 'email') ?? null,
        messageId: pick(data, 'email', 'message', 'id') ?? null,
        at: toTime(data.created_at ?? event.created_at),
        text,
      }),
    ];
  },
  verify: ({ headers, bytes }, secret) =>
    checkSignature(headers.signature, hmac('sha256', secret, bytes, 'hex'), 'the header Signature'),
};
