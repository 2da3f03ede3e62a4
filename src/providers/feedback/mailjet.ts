/** https://dev.mailjet.com/email/guides/webhooks/ */
import {
  type FeedbackEvent,
  type FeedbackReader,
  type FeedbackReason,
  feedbackEvent,
  toTime,
} from '../../core/feedback/event.ts';
import { lookUp } from '../../core/lookup.ts';
import { causeOf, keepLongIds, parseJson, pick, toEvents } from './payload.ts';
import { checkCredentials } from './signatures.ts';

const types: Record<string, FeedbackEvent['type']> = {
  sent: 'delivered',
  bounce: 'bounced',
  blocked: 'bounced',
  spam: 'complained',
  unsub: 'unsubscribed',
  open: 'opened',
  click: 'clicked',
};

const reasons: Record<string, FeedbackReason> = {
  'user unknown': 'unknown_user',
  'mailbox inactive': 'suspended',
  'quota exceeded': 'mailbox_full',
  blacklisted: 'blocked',
  'spam reporter': 'suppressed',
  'invalid domain': 'domain_missing',
  'no mail host': 'domain_missing',
  'relay/access denied': 'relay_denied',
  'sender blocked': 'blocked',
  'content blocked': 'content',
  'policy issue': 'policy',
  'system issue': 'other',
  'protocol issue': 'network',
  'connection issue': 'network',
  greylisted: 'rate_limited',
  preblocked: 'suppressed',
  'spam preblocked': 'content',
};

export const mailjet: FeedbackReader = {
  title: 'Mailjet',
  read: body =>
    toEvents(parseJson(body, keepLongIds)).flatMap(event => {
      const known = lookUp(types, String(event.event));
      if (!known) return [];
      const error = pick(event, 'error') ?? '';
      // Mailjet tries again.
      const type = known === 'bounced' && error === 'greylisted' ? 'deferred' : known;
      const text = pick(event, 'comment') || error || null;
      return feedbackEvent({
        type,
        ...((type === 'bounced' || type === 'deferred') &&
          causeOf(event.hard_bounce === true, text ?? '', lookUp(reasons, error))),
        recipient: pick(event, 'email') ?? null,
        messageId: pick(event, 'MessageID') ?? pick(event, 'mj_message_id') ?? null,
        deliveryId: pick(event, 'CustomID') || null,
        at: toTime(event.time),
        text,
      });
    }),
  isSigned: false,
  verify: checkCredentials,
};
