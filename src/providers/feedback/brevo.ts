/** https://developers.brevo.com/docs/transactional-webhooks */
import {
  type FeedbackEvent,
  type FeedbackReader,
  type FeedbackReason,
  feedbackEvent,
  toTime,
} from '../../core/feedback/event.ts';
import { lookUp } from '../../core/lookup.ts';
import { causeOf, parseJson, pick, toEvents } from './payload.ts';
import { checkCredentials } from './signatures.ts';

const types: Record<string, [type: FeedbackEvent['type'], permanent?: boolean, reason?: FeedbackReason]> = {
  delivered: ['delivered'],
  hard_bounce: ['bounced', true],
  invalid_email: ['bounced', true, 'unknown_user'],
  invalid: ['bounced', true, 'unknown_user'],
  soft_bounce: ['bounced'],
  blocked: ['bounced', false, 'suppressed'],
  error: ['bounced'],
  deferred: ['deferred'],
  spam: ['complained'],
  complaint: ['complained'],
  unsubscribe: ['unsubscribed'],
  unsubscribed: ['unsubscribed'],
  opened: ['opened'],
  unique_opened: ['opened'],
  proxy_open: ['opened'],
  unique_proxy_open: ['opened'],
  click: ['clicked'],
};

export const brevo: FeedbackReader = {
  title: 'Brevo',
  read: body =>
    toEvents(parseJson(body)).flatMap(event => {
      const [type, isPermanent = false, reason] = lookUp(types, String(event.event)) ?? [];
      if (!type) return [];
      const text = pick(event, 'reason') ?? null;
      return feedbackEvent({
        type,
        ...((type === 'bounced' || type === 'deferred') && causeOf(isPermanent, text ?? '', reason)),
        recipient: pick(event, 'email') ?? null,
        messageId: pick(event, 'message-id') ?? null,
        deliveryId: pick(event, 'X-Mailin-custom') ?? null,
        at: toTime(event.ts_epoch ?? event.ts_event ?? event.ts),
        text,
      });
    }),
  isSigned: false,
  verify: checkCredentials,
};
