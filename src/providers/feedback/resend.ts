/** https://resend.com/docs/dashboard/webhooks/event-types */
import { Webhook } from 'standardwebhooks';
import { type FeedbackEvent, type FeedbackReader, feedbackEvent, toTime } from '../../core/feedback/event.ts';
import { isObject } from '../../core/json.ts';
import { lookUp } from '../../core/lookup.ts';
import { causeOf, type Fields, parseObject, pick, toAddress } from './payload.ts';
import { checkTime, forged, genuine, isSame, shortWindowMs } from './signatures.ts';

const types: Record<string, FeedbackEvent['type']> = {
  'email.delivered': 'delivered',
  'email.bounced': 'bounced',
  'email.failed': 'bounced',
  'email.suppressed': 'bounced',
  'email.delivery_delayed': 'deferred',
  'email.complained': 'complained',
  'email.opened': 'opened',
  'email.clicked': 'clicked',
};

export const resend: FeedbackReader = {
  title: 'Resend',
  read(body) {
    const event = parseObject(body);
    const type = lookUp(types, String(event.type));
    if (!type) return [];
    const data: Fields = isObject(event.data) ? event.data : {};
    const text = ['bounce', 'failed', 'suppressed'].map(
      part => pick(data, part, 'message') ?? pick(data, part, 'reason'),
    );
    const words = text.find(one => one !== undefined) ?? null;
    const recipients = Array.isArray(data.to) && data.to.length > 0 ? data.to.slice(0, 1_000) : [data.to];
    return recipients.map(to =>
      feedbackEvent({
        type,
        ...(type === 'bounced' && causeOfBounce(event.type === 'email.suppressed', data, words ?? '')),
        recipient: toAddress(to),
        messageId: pick(data, 'email_id') ?? null,
        deliveryId: pick(data, 'tags', 'belfry_id') ?? null,
        at: toTime(event.created_at),
        text: words,
      }),
    );
  },
  /** Svix signs the requests, with the scheme of Standard Webhooks under other names. The secret starts with whsec_. */
  verify({ headers, bytes }, secret, { now }) {
    const time = checkTime(headers['svix-timestamp'], now, shortWindowMs);
    if (!time.ok) return time;
    const signatures = (headers['svix-signature'] ?? '').split(' ');
    try {
      const sentAt = new Date(Number(headers['svix-timestamp']) * 1_000);
      const expected = new Webhook(secret).sign(headers['svix-id'] ?? '', sentAt, bytes);
      return signatures.some(one => isSame(one, expected)) ? genuine : forged('the signature does not match');
    } catch {
      return forged('the signing secret is not one of Resend');
    }
  },
};

function causeOfBounce(isSuppressed: boolean, data: Fields, text: string) {
  const kind = pick(data, 'bounce', 'type');
  if (
    isSuppressed ||
    pick(data, 'bounce', 'subType') === 'Suppressed' ||
    /suppressed sending|suppression list/i.test(text)
  ) {
    return causeOf(true, text, 'suppressed');
  }
  // Older events have only a text: either of the server, or a general explanation.
  const isGeneral = /hard bounce message/i.test(text);
  return causeOf(kind === 'Permanent' || (kind === undefined && isGeneral), text, isGeneral ? 'other' : undefined);
}
