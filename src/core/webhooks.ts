/** Operational webhooks: what an endpoint can be told of, when a message is tried again, and what may be set. */
import { randomBytes } from 'node:crypto';
import { type Static, Type } from 'typebox';
import { limits, slugPattern } from './text.ts';

export const webhookTypes = [
  'delivery.sent',
  'delivery.failed',
  'delivery.unknown',
  'occurrence.completed',
  'occurrence.acknowledged',
  'occurrence.resolved',
  'address.disabled',
  'channel.unhealthy',
  'channel.recovered',
] as const;
export type WebhookType = (typeof webhookTypes)[number];

/** What a person sends to see whether an endpoint works. Nobody subscribes to it. */
export const testType = 'webhook.test';

export const webhookLimits = {
  /** Of one organization. */
  endpoints: 20,
  url: 2_048,
  /** Messages a second to one endpoint, of all workers. */
  perSecond: 100,
  /** Under way at once to one endpoint, of all workers. */
  concurrency: 10,
  /** The same while it is failing: one that does not answer holds nobody up. */
  failingConcurrency: 1,
  timeoutMs: 15_000,
  /** An endpoint that nothing got through to for so long is disabled. */
  failingDays: 5,
  /** So long are messages kept at the most. */
  keptDays: 30,
  /** Of one message, the last ones. */
  keptAttempts: 20,
} as const;

/** Seconds until the next attempt, as Standard Webhooks recommends: ten attempts in three days. */
const retrySeconds = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
export const mostWebhookAttempts = retrySeconds.length + 1;

/** After that attempt; undefined when it was the last one. Up to a tenth more, so that failures do not come back as a wave. */
export function webhookRetrySeconds(attempt: number, random: number, asked = 0): number | undefined {
  const seconds = retrySeconds[attempt - 1];
  return seconds === undefined ? undefined : Math.max(seconds * (1 + random / 10), asked);
}

/** A schema of its form: 24 to 64 bytes, as the specification asks, and padded: some receivers' libraries insist on it. */
export const webhookSecret = {
  pattern: '^whsec_(([A-Za-z0-9+/]{4}){8,21}([A-Za-z0-9+/]{2}==)?|([A-Za-z0-9+/]{4}){8,20}[A-Za-z0-9+/]{3}=)$',
  patternHint: 'must be whsec_ and then 24 to 64 bytes in base64',
} as const;

/** The header `webhook-id` of a message. */
export function messageIdOf(key: string): string {
  return `msg_${key}`;
}

export function generateWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** An http or https address. A password in it would be stored and exported in the clear. */
export const webhookUrl = {
  maxLength: webhookLimits.url,
  pattern: '^https?://[^\\s/?#@]+([/?#]\\S*)?$',
  patternHint: 'must be an http or https address without a user name in it',
} as const;

export const WebhookEntry = Type.Object(
  {
    slug: Type.String({
      maxLength: limits.slug,
      pattern: slugPattern,
      patternHint: 'must be lower-case letters and digits, with single dashes or underscores between them',
    }),
    name: Type.String({ minLength: 1, maxLength: limits.name, pattern: '\\S', patternHint: 'must not be blank' }),
    url: Type.String({ ...webhookUrl, description: 'Where to post. Redirects are not followed.' }),
    types: Type.Array(Type.Enum([...webhookTypes]), {
      minItems: 1,
      maxItems: webhookTypes.length,
      description: 'The event types that it is told of.',
    }),
    enabled: Type.Optional(Type.Boolean({ description: 'Absent: true.' })),
    secret: Type.Optional(
      Type.String({
        ...webhookSecret,
        description:
          'Signs every message; the receiver knows it too. Absent: the stored one stays, and a new endpoint is given one.',
      }),
    ),
  },
  { additionalProperties: false, description: 'An endpoint of yours that is told of what happens.' },
);
export type WebhookEntry = Static<typeof WebhookEntry>;
