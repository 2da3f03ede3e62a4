/** https://developers.facebook.com/docs/whatsapp/cloud-api/webhooks/components#statuses-object. The secret is that of the app. */
import { type FeedbackReader, type FeedbackReason, feedbackEvent, toTime } from '../../core/feedback/event.ts';
import { isObject } from '../../core/json.ts';
import { lookUp } from '../../core/lookup.ts';
import { type Fields, parseObject, pick } from './payload.ts';
import { checkSignature, hmac } from './signatures.ts';

/** Limits of Meta, templates that recipients do not want, and messages that expired. All others say nothing about the address. */
const reasons: Record<string, FeedbackReason> = {
  130429: 'rate_limited',
  131048: 'rate_limited',
  131056: 'rate_limited',
  131047: 'policy',
  131049: 'policy',
  131050: 'suppressed',
  131031: 'blocked',
};

export const whatsapp: FeedbackReader = {
  title: 'WhatsApp',
  read: body =>
    statusesOf(parseObject(body)).flatMap(status => {
      const common = {
        recipient: pick(status, 'recipient_id') ?? null,
        messageId: pick(status, 'id') ?? null,
        deliveryId: pick(status, 'biz_opaque_callback_data') ?? null,
        at: toTime(status.timestamp),
      };
      switch (status.status) {
        case 'delivered':
          return [feedbackEvent({ ...common, type: 'delivered' })];
        case 'read':
          return [feedbackEvent({ ...common, type: 'opened' })];
        case 'failed': {
          const code = pick(status, 'errors', 0, 'code') ?? '';
          const text = pick(status, 'errors', 0, 'error_data', 'details') ?? pick(status, 'errors', 0, 'title') ?? null;
          return [
            feedbackEvent({
              ...common,
              type: 'bounced',
              reason: lookUp(reasons, code) ?? 'other',
              permanent: false,
              text,
            }),
          ];
        }
        default:
          return [];
      }
    }),
  verify: ({ headers, bytes }, secret) =>
    checkSignature(
      headers['x-hub-signature-256']?.replace(/^sha256=/, ''),
      hmac('sha256', secret, bytes, 'hex'),
      'the header X-Hub-Signature-256',
    ),
};

function statusesOf(event: Fields): Fields[] {
  const list = (value: unknown) => (Array.isArray(value) ? value.filter(isObject) : []);
  return list(event.entry)
    .flatMap(entry => list(entry.changes))
    .flatMap(({ value }) => (isObject(value) ? list(value.statuses) : []));
}
