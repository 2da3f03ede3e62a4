/** https://developer.vonage.com/en/messages/concepts/messages-status, and the delivery receipts of the older SMS API. */
import { createHash } from 'node:crypto';
import {
  type FeedbackReader,
  type FeedbackReason,
  type FeedbackRequest,
  feedbackEvent,
  toTime,
  type Verification,
} from '../../core/feedback/event.ts';
import { classify } from '../../core/feedback/wording/classify.ts';
import { lookUp } from '../../core/lookup.ts';
import { type Fields, isJson, parseObject, pick, readForm } from './payload.ts';
import { acceptedUntil, checkTime, forged, genuine, hmac, isSame, retryWindowMs } from './signatures.ts';

/** What the words of an error mean; those of mobile networks differ from those of mail servers. */
const reasons: [RegExp, FeedbackReason][] = [
  [
    /absent subscriber.{0,5}permanent|unknown (subscriber|number)|illegal number|invalid (number|destination)|unroutable/i,
    'unknown_user',
  ],
  [/barred|opt(ed)?[- ]?out|unsubscribed/i, 'suppressed'],
  [/spam|illegal message|filter/i, 'content'],
  [/absent|busy|network|unreachable|portability/i, 'network'],
  [/blocked|age restriction/i, 'blocked'],
  [/quota|throttl|rate/i, 'rate_limited'],
  [/expired/i, 'expired'],
];
/** `err-code` of the older API, by number: https://developer.vonage.com/en/messaging/sms/guides/delivery-receipts */
const codes: Record<string, FeedbackReason> = {
  3: 'unknown_user',
  4: 'suppressed',
  6: 'content',
  9: 'unknown_user',
  11: 'unknown_user',
};

export const vonage: FeedbackReader = {
  title: 'Vonage',
  read(body) {
    const event: Fields = isJson(body) ? parseObject(body) : Object.fromEntries(readForm(body));
    const status = pick(event, 'status');
    if (status === undefined) throw new Error('has no field status');
    const common = {
      recipient: pick(event, 'to', 'number') ?? pick(event, 'msisdn') ?? pick(event, 'to') ?? null,
      messageId: pick(event, 'message_uuid') ?? pick(event, 'messageId') ?? null,
      deliveryId: pick(event, 'client_ref') ?? pick(event, 'client-ref') ?? null,
      at: toTime(event.timestamp ?? event['message-timestamp']),
    };
    if (status === 'delivered') return [feedbackEvent({ ...common, type: 'delivered' })];
    if (status === 'read') return [feedbackEvent({ ...common, type: 'opened' })];
    if (!['rejected', 'undeliverable', 'failed', 'expired'].includes(status)) return [];
    const text =
      ['title', 'detail']
        .map(name => pick(event, 'error', name))
        .filter(Boolean)
        .join(': ') || status;
    const reason =
      lookUp(codes, pick(event, 'err-code') ?? '') ??
      reasons.find(([words]) => words.test(text))?.[1] ??
      classify([text]).reason;
    return [feedbackEvent({ ...common, type: 'bounced', reason, permanent: reason === 'unknown_user', text })];
  },
  verify(request, secret, { now }) {
    const checked = verifyVonage(request, secret, now);
    // The same report changes nothing a second time.
    return checked.ok ? genuine : checked;
  },
};

/** https://developer.vonage.com/en/getting-started/concepts/webhooks#decoding-signed-webhooks. The secret is the signature secret. */
export function verifyVonage({ headers, bytes }: FeedbackRequest, secret: string, now: number): Verification {
  const [, head, claims, signature] =
    /^Bearer +([\w-]{1,1000})\.([\w-]{1,4000})\.([\w-]{1,200})$/i.exec(headers.authorization ?? '') ?? [];
  if (!head || !claims) return forged('the request carries no token');
  let parsed: Fields[];
  try {
    parsed = [head, claims].map(part => parseObject({ bytes: Buffer.from(part, 'base64url') }));
  } catch {
    return forged('the token is malformed');
  }
  if (parsed[0]!.alg !== 'HS256') return forged('the token is not signed with HS256');
  const expected = hmac('sha256', secret, `${head}.${claims}`, 'base64url');
  if (!isSame(signature, expected)) return forged('the token is not signed with the secret');
  const time = checkTime(pick(parsed[1], 'iat'), now, retryWindowMs);
  if (!time.ok) return time;
  const digest = createHash('sha256').update(bytes).digest('hex');
  if (!isSame(pick(parsed[1], 'payload_hash'), digest)) return forged('the token is of another body');
  return { ok: true, once: { signature: signature!, until: acceptedUntil(pick(parsed[1], 'iat')!, retryWindowMs) } };
}
