/** Operational webhooks: event types, limits, and the retry schedule. */
import { randomBytes } from 'node:crypto';
import type { OccurrenceOutcome } from '../decision/outcome.ts';
import { type SummaryFacts, summarizeOccurrence } from '../decision/summary.ts';
import { occurrenceStateOf } from '../history/states.ts';
import type { JsonObject } from '../json.ts';

export const webhookTypes = [
  'delivery.sent',
  'delivery.failed',
  'delivery.unknown',
  'delivery.complained',
  'occurrence.held',
  'occurrence.completed',
  'occurrence.acknowledged',
  'occurrence.snoozed',
  'occurrence.reopened',
  'occurrence.resolved',
  'trigger.rate_high',
  'source.rejected',
  'address.disabled',
  'channel.unhealthy',
  'channel.recovered',
  'channel.reputation_low',
] as const;
export type WebhookType = (typeof webhookTypes)[number];

/** The type of a test message, which is sent on request only and is not in the list of subscribable types. */
export const testType = 'webhook.test';

export const webhookLimits = {
  /** Per organization. */
  endpoints: 20,
  url: 2_048,
  /** Messages per second to one endpoint, across all workers. */
  perSecond: 100,
  /** Requests in flight to one endpoint, across all workers. */
  concurrency: 10,
  /** The same while the endpoint is failing, so that one that does not respond delays no others. */
  failingConcurrency: 1,
  timeoutMs: 15_000,
  /** An endpoint is disabled after failing for this long without a success. */
  failingDays: 5,
  /** Maximum retention of messages. */
  keptDays: 30,
  /** The most recent attempts kept for each message. */
  keptAttempts: 20,
} as const;

/** Seconds until the next attempt, as recommended by Standard Webhooks: ten attempts in three days. */
const retrySeconds = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

/**
 * Returns the delay after this attempt; undefined after the last one. Jitter adds up to 10 %, so that failed messages are
 * not all retried at once. `minSeconds` is the minimum that the endpoint asked for.
 */
export function webhookRetrySeconds(attempt: number, random: number, minSeconds = 0): number | undefined {
  const seconds = retrySeconds[attempt - 1];
  return seconds === undefined ? undefined : Math.max(seconds * (1 + random / 10), minSeconds);
}

/** The format of a signing secret: 24 to 64 bytes, as specified, with base64 padding, which some receivers' libraries require. */
export const webhookSecret = {
  pattern: '^whsec_(([A-Za-z0-9+/]{4}){8,21}([A-Za-z0-9+/]{2}==)?|([A-Za-z0-9+/]{4}){8,20}[A-Za-z0-9+/]{3}=)$',
  patternHint: 'must be whsec_ followed by 24 to 64 bytes in base64',
} as const;

/** What is stored about an ended occurrence; messages of a previous version have no more than `outcome` and `counts`. */
interface Completion extends Omit<SummaryFacts, 'state' | 'until'> {
  outcome: OccurrenceOutcome;
  dry_run?: boolean;
}

/** Returns the data of a message as its receiver gets it: with the state and the summary of an ended occurrence. */
export function withSummary(type: string, data: JsonObject): JsonObject {
  if (type !== 'occurrence.completed') return data;
  const { outcome, dry_run = false, ...facts } = data as unknown as Completion;
  const state = occurrenceStateOf({ outcome, isDryRun: dry_run, wait: undefined });
  return { ...data, state, summary: summarizeOccurrence({ ...facts, state }) };
}

/**
 * Returns API URLs with more details, and the console's page where someone decides about an occurrence that is held. There are none
 * without a public address: the receiver could not follow a path.
 */
export function linksOf(
  type: string,
  { occurrence, delivery, channel }: JsonObject,
  organization: string,
  baseUrl: string | undefined,
): JsonObject {
  if (baseUrl === undefined) return {};
  const base = `${baseUrl}/api/o/${organization}`;
  if (typeof occurrence === 'string') {
    const url = `${base}/occurrence/${occurrence}/`;
    const page = type === 'occurrence.held' && { console: `${baseUrl}/o/${organization}/occurrences/${occurrence}` };
    const own = delivery !== undefined && { delivery: `${url}deliveries/${delivery}/` };
    return { links: { occurrence: url, ...own, ...page } };
  }
  return typeof channel === 'string' ? { links: { channels: `${base}/channel/` } } : {};
}

/** Returns the `webhook-id` header of a message. */
export function messageIdOf(key: string): string {
  return `msg_${key}`;
}

export function generateWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** An http or https URL without credentials, which would be stored and exported in plain text. */
export const webhookUrl = {
  maxLength: webhookLimits.url,
  pattern: '^https?://[^\\s/?#@]+([/?#]\\S*)?$',
  format: 'url',
  patternHint: 'must be an http or https URL without a user name',
} as const;
