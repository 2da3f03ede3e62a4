/** https://mailchimp.com/developer/transactional/docs/webhooks/ */
import { type FeedbackEvent, type FeedbackReader, feedbackEvent, toTime } from '../../core/feedback/event.ts';
import { lookUp } from '../../core/lookup.ts';
import { causeOf, parseJson, pick, readForm, toEvents } from './payload.ts';
import { checkSignature, hmac } from './signatures.ts';

const types: Record<string, FeedbackEvent['type']> = {
  delivered: 'delivered',
  hard_bounce: 'bounced',
  soft_bounce: 'bounced',
  reject: 'bounced',
  deferral: 'deferred',
  spam: 'complained',
  unsub: 'unsubscribed',
  open: 'opened',
  click: 'clicked',
};

export const mandrill: FeedbackReader = {
  title: 'Mandrill',
  read(body) {
    const events = readForm(body).get('mandrill_events');
    if (events === undefined) throw new Error('has no form field mandrill_events');
    return toEvents(parseJson({ bytes: Buffer.from(events) })).flatMap(event => {
      const type = lookUp(types, String(event.event));
      if (!type) return [];
      const text = pick(event, 'msg', 'diag') || pick(event, 'msg', 'bounce_description')?.replaceAll('_', ' ') || null;
      const isReject = event.event === 'reject';
      return feedbackEvent({
        type,
        ...((type === 'bounced' || type === 'deferred') &&
          causeOf(event.event === 'hard_bounce', text ?? '', isReject ? 'suppressed' : undefined)),
        recipient: pick(event, 'msg', 'email') ?? null,
        messageId: pick(event, 'msg', '_id') ?? pick(event, '_id') ?? null,
        deliveryId: pick(event, 'msg', 'metadata', 'belfry_id') ?? null,
        at: toTime(event.ts),
        text,
      });
    });
  },
  /** The secret is the key of the webhook. */
  verify(request, secret) {
    const fields = [...readForm(request)].sort(([a], [b]) => (a < b ? -1 : 1));
    const expected = hmac('sha1', secret, request.url + fields.flat().join(''), 'base64');
    return checkSignature(request.headers['x-mandrill-signature'], expected, 'the header X-Mandrill-Signature');
  },
};
