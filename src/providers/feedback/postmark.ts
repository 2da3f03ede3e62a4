/** https://postmarkapp.com/developer/webhooks/webhooks-overview */
import {
  type FeedbackEvent,
  type FeedbackReader,
  type FeedbackReason,
  feedbackEvent,
  toTime,
} from '../../core/feedback/event.ts';
import { lookUp } from '../../core/lookup.ts';
import { causeOf, type Fields, parseJson, pick, toEvents } from './payload.ts';
import { checkCredentials } from './signatures.ts';

const types: Record<string, FeedbackEvent['type']> = {
  Delivery: 'delivered',
  SpamComplaint: 'complained',
  Open: 'opened',
  Click: 'clicked',
};

/** https://postmarkapp.com/developer/api/bounce-api#bounce-types; others, such as auto-replies, are ignored. */
const bounces: Record<string, [type: FeedbackEvent['type'], permanent?: boolean, reason?: FeedbackReason]> = {
  HardBounce: ['bounced', true],
  BadEmailAddress: ['bounced', true, 'unknown_user'],
  SoftBounce: ['bounced'],
  Transient: ['deferred'],
  DnsError: ['deferred', false, 'network'],
  SpamNotification: ['bounced', false, 'content'],
  VirusNotification: ['bounced', false, 'content'],
  Blocked: ['bounced', false, 'blocked'],
  DMARCPolicy: ['bounced', false, 'authentication'],
  ManuallyDeactivated: ['bounced', false, 'suppressed'],
  Unconfirmed: ['bounced', false, 'suppressed'],
  SMTPApiError: ['bounced'],
  TemplateRenderingFailed: ['bounced'],
  SpamComplaint: ['complained'],
  Unsubscribe: ['unsubscribed'],
};

const suppressions: Record<string, FeedbackEvent['type']> = {
  ManualSuppression: 'unsubscribed',
  SpamComplaint: 'complained',
  HardBounce: 'bounced',
};

export const postmark: FeedbackReader = {
  title: 'Postmark',
  read: body =>
    toEvents(parseJson(body)).flatMap(event => {
      const text = pick(event, 'Details') ?? pick(event, 'Description') ?? null;
      const outcome = outcomeOf(event, text ?? '');
      if (!outcome) return [];
      const { BouncedAt, DeliveredAt, ReceivedAt, ChangedAt } = event;
      return feedbackEvent({
        ...outcome,
        recipient: pick(event, 'Email') ?? pick(event, 'Recipient') ?? null,
        messageId: pick(event, 'MessageID') ?? null,
        deliveryId: pick(event, 'Metadata', 'belfry_id') ?? null,
        at: toTime(BouncedAt ?? DeliveredAt ?? ReceivedAt ?? ChangedAt),
        text,
      });
    }),
  isSigned: false,
  verify: checkCredentials,
};

function outcomeOf(event: Fields, text: string): (Pick<FeedbackEvent, 'type'> & Partial<FeedbackEvent>) | undefined {
  if (event.RecordType === 'Bounce') {
    const [type, isPermanent = false, reason] = lookUp(bounces, String(event.Type)) ?? [];
    if (!type) return undefined;
    return type === 'bounced' || type === 'deferred' ? { type, ...causeOf(isPermanent, text, reason) } : { type };
  }
  if (event.RecordType === 'SubscriptionChange') {
    if (event.SuppressSending !== true) return undefined;
    const type = lookUp(suppressions, String(event.SuppressionReason)) ?? 'unsubscribed';
    return type === 'bounced' ? { type, reason: 'suppressed', permanent: true } : { type };
  }
  const type = lookUp(types, String(event.RecordType));
  return type && { type };
}
