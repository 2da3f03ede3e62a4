/** https://docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-contents.html, through Amazon SNS. */
import { createVerify, X509Certificate } from 'node:crypto';
import {
  type FeedbackBody,
  type FeedbackEvent,
  type FeedbackReader,
  type FeedbackReason,
  type FeedbackRequest,
  feedbackEvent,
  toTime,
  type Verification,
  type VerificationTools,
} from '../../core/feedback/event.ts';
import { isObject } from '../../core/json.ts';
import { lookUp } from '../../core/lookup.ts';
import { causeOf, type Fields, parseObject, pick } from './payload.ts';
import { forged, genuine, retryWindowMs } from './signatures.ts';

const reasons: Record<string, FeedbackReason> = {
  Suppressed: 'suppressed',
  OnAccountSuppressionList: 'suppressed',
  MailboxFull: 'mailbox_full',
  MessageTooLarge: 'size',
  ContentRejected: 'content',
  AttachmentRejected: 'content',
  CustomTimeoutExceeded: 'expired',
  SpamDetected: 'content',
  IPFailure: 'blocked',
  TransientCommunicationFailure: 'network',
};

export const ses: FeedbackReader = {
  title: 'Amazon SES',
  read(body) {
    const envelope = parseObject(body);
    // With raw message delivery, the body is the event itself.
    if (typeof envelope.Message !== 'string') return readSesEvent(envelope);
    if (envelope.Type !== undefined && envelope.Type !== 'Notification') return [];
    // Other topics may publish text.
    if (!envelope.Message.trimStart().startsWith('{')) return [];
    return readSesEvent(parseObject({ bytes: Buffer.from(envelope.Message) }), envelope.Timestamp);
  },
  verify: verifySns,
  confirmationUrl(body: FeedbackBody) {
    const { Type, SubscribeURL } = parseObject(body);
    return Type === 'SubscriptionConfirmation' && isSnsUrl(SubscribeURL) ? SubscribeURL : undefined;
  },
};

/** Also used for events that SNS delivers by mail. */
export function readSesEvent(event: Fields, publishedAt?: unknown): FeedbackEvent[] {
  const kind = event.eventType ?? event.notificationType;
  const common = {
    messageId: pick(event, 'mail', 'messageId') ?? null,
    deliveryId: pick(event, 'mail', 'tags', 'belfry_id', 0) ?? null,
  };
  const at = (part: string) =>
    toTime(pick(event, part, 'timestamp') ?? publishedAt ?? pick(event, 'mail', 'timestamp'));
  const each = (
    list: unknown,
    toEvent: (recipient: string | null, fields: Fields) => FeedbackEvent,
  ): FeedbackEvent[] => {
    const items = Array.isArray(list) && list.length > 0 ? list.slice(0, 1_000) : [undefined];
    return items.map(item =>
      isObject(item) ? toEvent(pick(item, 'emailAddress') ?? null, item) : toEvent(item ? String(item) : null, {}),
    );
  };
  const destination = isObject(event.mail) ? event.mail.destination : undefined;
  const part = (name: string): Fields => (isObject(event[name]) ? event[name] : {});
  const simple = (type: FeedbackEvent['type'], name: string, list: unknown = destination) =>
    each(list, recipient => feedbackEvent({ ...common, type, recipient, at: at(name) }));
  switch (kind) {
    case 'Delivery':
      return simple('delivered', 'delivery', part('delivery').recipients ?? destination);
    case 'Open':
      return simple('opened', 'open');
    case 'Click':
      return simple('clicked', 'click');
    case 'Complaint':
      if (part('complaint').complaintFeedbackType === 'not-spam') return [];
      return simple('complained', 'complaint', part('complaint').complainedRecipients ?? destination);
    case 'Subscription':
      return pick(event, 'subscription', 'source') === undefined ? [] : simple('unsubscribed', 'subscription');
    case 'Bounce': {
      const { bounceType, bounceSubType, bouncedRecipients } = part('bounce');
      return each(bouncedRecipients ?? destination, (recipient, fields) => {
        const text = pick(fields, 'diagnosticCode');
        const cause = causeOf(bounceType === 'Permanent', text, lookUp(reasons, String(bounceSubType)));
        return feedbackEvent({ ...common, ...cause, type: 'bounced', recipient, at: at('bounce'), text: text ?? null });
      });
    }
    case 'DeliveryDelay': {
      const { delayType, delayedRecipients } = part('deliveryDelay');
      return each(delayedRecipients ?? destination, (recipient, fields) => {
        const text = pick(fields, 'diagnosticCode');
        const cause = causeOf(false, text, lookUp(reasons, String(delayType)));
        return feedbackEvent({
          ...common,
          ...cause,
          type: 'deferred',
          recipient,
          at: at('deliveryDelay'),
          text: text ?? null,
        });
      });
    }
    case 'Reject':
      return each(destination, recipient =>
        feedbackEvent({
          ...common,
          type: 'bounced',
          reason: 'content',
          recipient,
          at: at('reject'),
          text: pick(event, 'reject', 'reason') ?? null,
        }),
      );
    case 'Rendering Failure': {
      const text = pick(event, 'failure', 'errorMessage') ?? null;
      return each(destination, recipient =>
        feedbackEvent({ ...common, type: 'bounced', recipient, at: at('failure'), text }),
      );
    }
    default:
      return [];
  }
}

const signedFields: Record<string, string[]> = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
  UnsubscribeConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
};
const algorithms: Record<string, string> = { 1: 'RSA-SHA1', 2: 'RSA-SHA256' };

/**
 * https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html. The secret is the ARN of the topic: anyone
 * can have Amazon sign messages of another topic.
 */
async function verifySns(request: FeedbackRequest, secret: string, tools: VerificationTools): Promise<Verification> {
  let message: Fields;
  try {
    message = parseObject(request);
  } catch (error) {
    return forged((error as Error).message);
  }
  const fields = lookUp(signedFields, String(message.Type));
  const algorithm = lookUp(algorithms, String(message.SignatureVersion));
  if (!fields || !algorithm || typeof message.Signature !== 'string')
    return forged('the message is not signed by Amazon SNS');
  if (message.TopicArn !== secret) return forged('the message is of another topic');
  const time = Date.parse(String(message.Timestamp));
  if (!(Math.abs(tools.now - time) <= retryWindowMs)) return forged('the message is too old: it may be a replay');
  const { SigningCertURL } = message;
  if (!isSnsUrl(SigningCertURL) || !certificatePath.test(new URL(SigningCertURL).pathname)) {
    return forged('the certificate is not at sns.<region>.amazonaws.com');
  }
  const text = fields.filter(name => typeof message[name] === 'string').map(name => `${name}\n${message[name]}\n`);
  try {
    const certificate = new X509Certificate(await tools.fetchText(SigningCertURL));
    if (Date.parse(certificate.validTo) < tools.now) return forged('the certificate has expired');
    const verify = createVerify(algorithm).update(text.join(''), 'utf8');
    return verify.verify(certificate.publicKey, message.Signature, 'base64')
      ? genuine
      : forged('the signature does not match');
  } catch (error) {
    return forged(`the certificate cannot be used: ${(error as Error).message}`);
  }
}

/** A region has two letters, one or two words and a number, such as us-gov-west-1. Others, such as `s3`, serve what anyone uploads. */
const snsHost =
  /^sns\.(?!cn-)[a-z]{2}(-[a-z]{3,12}){1,2}-\d{1,2}\.amazonaws\.com$|^sns\.cn-[a-z]{3,12}-\d\.amazonaws\.com\.cn$/;
const certificatePath = /^\/SimpleNotificationService-[\w-]{1,100}\.pem$/;

function isSnsUrl(value: unknown): value is string {
  if (typeof value !== 'string' || !URL.canParse(value)) return false;
  const { protocol, hostname, port, username } = new URL(value);
  return protocol === 'https:' && port === '' && username === '' && snsHost.test(hostname);
}
