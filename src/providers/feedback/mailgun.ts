/** https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/webhook-payloads, and the forms that preceded them until 2018. */
import { type FeedbackEvent, type FeedbackReader, feedbackEvent, toTime } from '../../core/feedback/event.ts';
import { isObject } from '../../core/json.ts';
import { lookUp } from '../../core/lookup.ts';
import { causeOf, isJson, parseJson, parseObject, pick, readForm, toAddress } from './payload.ts';
import {
  acceptedUntil,
  checkSignature,
  checkTime,
  forged,
  genuine,
  hmac,
  isSame,
  retryWindowMs,
} from './signatures.ts';

const types: Record<string, FeedbackEvent['type']> = {
  delivered: 'delivered',
  failed: 'bounced',
  bounced: 'bounced',
  dropped: 'bounced',
  rejected: 'bounced',
  complained: 'complained',
  unsubscribed: 'unsubscribed',
  opened: 'opened',
  clicked: 'clicked',
};

/** Reasons of a failure that is the address's own, and not of the message. */
const ofAddress = ['bounce', 'hardfail', 'suppress-bounce'];

export const mailgun: FeedbackReader = {
  title: 'Mailgun',
  read(body) {
    const event = isJson(body) ? parseObject(body)['event-data'] : fromForm(readForm(body));
    if (!isObject(event)) throw new Error('has no event-data');
    const known = lookUp(types, String(event.event));
    if (!known) return [];
    const type = event.event === 'failed' && event.severity === 'temporary' ? 'deferred' : known;
    const reason = pick(event, 'reason') ?? '';
    const text = [
      pick(event, 'delivery-status', 'code'),
      pick(event, 'delivery-status', 'message') || pick(event, 'delivery-status', 'description'),
      pick(event, 'reject', 'reason'),
    ].filter(Boolean);
    const isSuppressed = reason.startsWith('suppress-') || /^60[5-7]\b/.test(text[0] ?? '');
    // The form says "old", with the code 602, of a message that was tried for too long.
    const cause = isSuppressed ? 'suppressed' : reason === 'old' ? 'expired' : undefined;
    const isOfAddress = event.event === 'bounced' || ofAddress.includes(reason);
    const failed = type === 'bounced' || type === 'deferred';
    const id = pick(event, 'message', 'headers', 'message-id');
    return [
      feedbackEvent({
        type,
        ...(failed && causeOf(isOfAddress, text.join(' '), cause)),
        recipient: pick(event, 'recipient') ?? toAddress(pick(event, 'message', 'headers', 'to')),
        messageId: id ? `<${id.replace(/^<|>$/g, '')}>` : null,
        deliveryId: pick(event, 'user-variables', 'belfry_id') ?? null,
        at: toTime(event.timestamp),
        text: text.join(' ') || reason,
      }),
    ];
  },
  /** The secret is the webhook signing key. */
  verify(request, secret, { now }) {
    let signature: unknown;
    try {
      signature = isJson(request) ? parseObject(request).signature : Object.fromEntries(readForm(request));
    } catch (error) {
      return forged((error as Error).message);
    }
    const timestamp = pick(signature, 'timestamp');
    const time = checkTime(timestamp, now, retryWindowMs);
    if (!time.ok) return time;
    const signed = `${timestamp}${pick(signature, 'token')}`;
    const expected = hmac('sha256', secret, signed, 'hex');
    // Events of a subaccount are also signed with the key of the primary account.
    const isParents = isSame(pick(signature, 'parent-signature'), expected);
    const checked = isParents ? genuine : checkSignature(pick(signature, 'signature'), expected, 'the signature');
    // The body is not signed, only the time and a random token.
    return checked.ok
      ? { ok: true, once: { signature: signed, until: acceptedUntil(timestamp!, retryWindowMs) } }
      : checked;
  },
};

/** Brings the fields of an old webhook into the form of the new ones. */
function fromForm(form: ReadonlyMap<string, string>) {
  const event = form.get('event');
  if (event === undefined) throw new Error('has no field event');
  return {
    event,
    reason: form.get('reason'),
    recipient: form.get('recipient'),
    timestamp: form.get('timestamp'),
    'user-variables': { belfry_id: form.get('belfry_id') },
    'delivery-status': {
      code: form.get('code'),
      message: form.get('error') ?? form.get('notification'),
      description: form.get('description'),
    },
    message: { headers: { 'message-id': form.get('Message-Id') ?? form.get('message-id') ?? messageIdIn(form) } },
  };
}

/** Returns the Message-ID in the list of headers that some forms have instead of a field for it. */
function messageIdIn(form: ReadonlyMap<string, string>): string | undefined {
  try {
    const headers = parseJson({ bytes: Buffer.from(form.get('message-headers') ?? '') });
    const found = (Array.isArray(headers) ? headers : []).find(header => /^message-id$/i.test(String(pick(header, 0))));
    return pick(found, 1);
  } catch {
    return undefined;
  }
}
