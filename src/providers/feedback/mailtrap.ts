/** https://docs.mailtrap.io/email-api-smtp/advanced/webhooks */
import { type FeedbackEvent, type FeedbackReader, feedbackEvent, toTime } from '../../core/feedback/event.ts';
import { isObject } from '../../core/json.ts';
import { lookUp } from '../../core/lookup.ts';
import { causeOf, parseJson, pick, toEvents } from './payload.ts';
import { checkSignature, hmac } from './signatures.ts';

const types: Record<string, FeedbackEvent['type']> = {
  delivery: 'delivered',
  bounce: 'bounced',
  reject: 'bounced',
  'soft bounce': 'deferred',
  soft_bounce: 'deferred',
  suspension: 'deferred',
  spam: 'complained',
  spam_complaint: 'complained',
  unsubscribe: 'unsubscribed',
  open: 'opened',
  click: 'clicked',
};

export const mailtrap: FeedbackReader = {
  title: 'Mailtrap',
  read: ({ bytes }) =>
    eventsOf(bytes).flatMap(event => {
      const type = lookUp(types, String(event.event));
      if (!type) return [];
      const text = pick(event, 'response') ?? pick(event, 'reason') ?? null;
      const category = pick(event, 'bounce_category');
      const isPermanent = event.event === 'bounce' && !/soft|transient|block|spam|content/i.test(category ?? '');
      return feedbackEvent({
        type,
        ...((type === 'bounced' || type === 'deferred') && causeOf(isPermanent, text ?? '')),
        recipient: pick(event, 'email') ?? null,
        messageId: pick(event, 'message_id') ?? null,
        deliveryId: pick(event, 'custom_variables', 'belfry_id') ?? null,
        at: toTime(event.timestamp),
        text,
      });
    }),
  verify: ({ headers, bytes }, secret) =>
    checkSignature(
      headers['mailtrap-signature'],
      hmac('sha256', secret, bytes, 'hex'),
      'the header Mailtrap-Signature',
    ),
};

/** The body is an object with `events`, or one event per line. */
function eventsOf(bytes: Buffer) {
  const lines = bytes.toString('utf8').trim().split('\n');
  if (lines.length > 1 && lines[0]!.trimEnd().endsWith('}')) {
    return toEvents(lines.filter(line => line.trim() !== '').map(line => parseJson({ bytes: Buffer.from(line) })));
  }
  const value = parseJson({ bytes });
  return toEvents(isObject(value) && Array.isArray(value.events) ? value.events : value);
}
