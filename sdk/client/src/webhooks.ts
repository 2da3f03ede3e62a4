/** Verifies the requests of Belfry's webhooks, and types their events. Uses the runtime's own WebCrypto. */

interface DeliveryData {
  delivery: number;
  occurrence: string;
  /** project/application/event */
  event: string;
  channel: string | null;
  user_id: number;
  status: 'sent' | 'failed' | 'unknown';
  reason: string | null;
  provider: string | null;
  attempts: number;
  /** Absent if the operator has not set BASE_URL. */
  links?: { occurrence: string; delivery: string };
}

interface OccurrenceData {
  occurrence: string;
  /** project/application/event */
  event: string;
  correlation_id: string | null;
  /** Absent if the operator has not set BASE_URL. */
  links?: { occurrence: string };
}

interface Links {
  channels: string;
}

interface CanaryFigures {
  notification: string;
  audience: number;
  messages: number;
  attempted: number;
  failed: number;
  bounced: number;
  complained: number;
  stop_at: { failed: number; bounced: number; complained: number };
  stopped_by?: ('failed' | 'bounced' | 'complained' | 'attempted')[];
}

type Counts = Record<'sent' | 'failed' | 'suppressed' | 'cancelled' | 'expired' | 'unknown', number>;

/** The data of each type of event, besides `organization`. Later versions may add fields and types. */
export interface WebhookData {
  'delivery.sent': DeliveryData;
  'delivery.failed': DeliveryData;
  'delivery.unknown': DeliveryData;
  'delivery.complained': DeliveryData;
  'occurrence.held': Omit<OccurrenceData, 'correlation_id' | 'links'> & {
    reason: string;
    /** Null: they could not be counted. */
    recipients: number | null;
    threshold: number;
    /** The largest audience of the last 90 days; null: there was none. */
    largest: number | null;
    expires_at: string;
    /** What became of the sample of a canary, by notification; null: there was none. */
    figures: CanaryFigures[] | null;
    links?: { occurrence: string; console: string };
  };
  'occurrence.completed': OccurrenceData & { outcome: string; counts: Counts };
  'occurrence.acknowledged': OccurrenceData;
  'occurrence.snoozed': OccurrenceData & { until: string };
  /** It escalates again. */
  'occurrence.reopened': OccurrenceData & { reason: 'expired' | 'snooze_ended' | 'unacknowledged' };
  'occurrence.resolved': OccurrenceData;
  'trigger.rate_high': {
    kind: 'key' | 'event' | 'application';
    /** Slugs; the name of a key. */
    path: string;
    reason: string;
    /** Whether urgent messages are held, too. */
    urgent: boolean;
    /** In a minute, and how many are allowed. */
    triggers: number;
    limit: number;
  };
  /** At most one per hour about a source. */
  'source.rejected': {
    /** Slugs. */
    source: string;
    /** Id of the payload. */
    payload: string;
    state: 'partly' | 'rejected' | 'refused';
    /** Of the first alert that was rejected, or of the request. */
    error: string;
  };
  'address.disabled': { address: number; name: string; user_id: number; by: 'provider' | 'person' };
  'channel.unhealthy': { channel: string; provider: string; links?: Links };
  'channel.recovered': { channel: string; since: string; links?: Links };
  'channel.reputation_low': {
    channel: string;
    reason: string;
    messages: number;
    bounced: number;
    complained: number;
    links?: Links;
  };
  'webhook.test': { webhook: string };
}

/** An event; its `type` tells which `data` it has. */
export type WebhookEvent = {
  [Type in keyof WebhookData]: {
    /** The same for each attempt to send this event: remember it, to recognize duplicates. */
    id: string;
    type: Type;
    /** When it happened, as an ISO 8601 time. */
    timestamp: string;
    data: { organization: string } & WebhookData[Type];
  };
}[keyof WebhookData];

/** Thrown when a request does not come from Belfry, or is too old. Respond with 401. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}

export interface VerifyOptions {
  /** How far the time of the request may differ from the clock. Default: 5 minutes. */
  toleranceSeconds?: number;
}

/**
 * Returns the event of a request, once its signature is verified. `body` must be the raw body, as it was received;
 * `headers` can be those of `fetch`, Node.js or a plain object with lower-case names.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: Headers | Record<string, string | string[] | undefined>,
  secret: string,
  { toleranceSeconds = 300 }: VerifyOptions = {},
): Promise<WebhookEvent> {
  const read = (name: string): string => {
    const value = headers instanceof Headers ? headers.get(name) : headers[name];
    if (typeof value !== 'string' || value === '') throw new WebhookVerificationError(`the header ${name} is missing`);
    return value;
  };
  const [id, timestamp, signatures] = [read('webhook-id'), read('webhook-timestamp'), read('webhook-signature')];
  const ageSeconds = Math.abs(Date.now() / 1_000 - Number(timestamp));
  // Also refuses a timestamp that is not a number.
  if (!(ageSeconds <= toleranceSeconds)) throw new WebhookVerificationError('the request is too old, or dated ahead');
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const key = await importKey(secret);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  // There are two signatures while a secret is rotated.
  for (const signature of signatures.split(' ')) {
    const bytes = signature.startsWith('v1,') ? fromBase64(signature.slice(3)) : undefined;
    // Compares in constant time.
    if (bytes && (await crypto.subtle.verify('HMAC', key, bytes, signed))) return { id, ...JSON.parse(text) };
  }
  throw new WebhookVerificationError('no signature matches the secret');
}

function importKey(secret: string) {
  const bytes = secret.startsWith('whsec_') ? fromBase64(secret.slice('whsec_'.length)) : undefined;
  if (!bytes) throw new TypeError('secret: is not of the form whsec_…');
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), character => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
