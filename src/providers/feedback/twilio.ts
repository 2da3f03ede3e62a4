/** https://www.twilio.com/docs/messaging/guides/track-outbound-message-status */
import {
  type FeedbackReader,
  type FeedbackReason,
  type FeedbackRequest,
  feedbackEvent,
  type Verification,
} from '../../core/feedback/event.ts';
import { lookUp } from '../../core/lookup.ts';
import { readForm } from './payload.ts';
import { checkSignature, hmac } from './signatures.ts';

/** https://www.twilio.com/docs/api/errors */
const reasons: Record<string, FeedbackReason> = {
  21211: 'unknown_user',
  21408: 'policy',
  21610: 'suppressed',
  21614: 'unknown_user',
  30001: 'rate_limited',
  30003: 'network',
  30004: 'blocked',
  30005: 'unknown_user',
  30006: 'unknown_user',
  30007: 'content',
  30032: 'policy',
  30034: 'policy',
  30036: 'expired',
};

export const twilio: FeedbackReader = {
  title: 'Twilio',
  read(body) {
    const form = readForm(body);
    const status = form.get('MessageStatus') ?? form.get('SmsStatus');
    if (status === undefined) throw new Error('has no form field MessageStatus');
    const common = {
      recipient: form.get('To') ?? null,
      messageId: form.get('MessageSid') ?? form.get('SmsSid') ?? null,
    };
    if (status === 'delivered') return [feedbackEvent({ ...common, type: 'delivered' })];
    if (status === 'read') return [feedbackEvent({ ...common, type: 'opened' })];
    if (status !== 'undelivered' && status !== 'failed') return [];
    const code = form.get('ErrorCode') ?? '';
    const reason = lookUp(reasons, code) ?? 'other';
    const text = [code, form.get('ErrorMessage')].filter(Boolean).join(' ');
    return [feedbackEvent({ ...common, type: 'bounced', reason, permanent: reason === 'unknown_user', text })];
  },
  verify: verifyTwilio,
};

/**
 * https://www.twilio.com/docs/usage/security#validating-requests. The secret is the auth token. Of a repeated field, every
 * different value is signed, in order.
 */
export function verifyTwilio(request: FeedbackRequest, secret: string): Verification {
  const form = new URLSearchParams(request.bytes.toString('utf8'));
  const fields = [...new Set(form.keys())]
    .sort()
    .flatMap(name => [...new Set(form.getAll(name))].sort().map(value => name + value));
  const expected = hmac('sha1', secret, request.url + fields.join(''), 'base64');
  return checkSignature(request.headers['x-twilio-signature'], expected, 'the header X-Twilio-Signature');
}
