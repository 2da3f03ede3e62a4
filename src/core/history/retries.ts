/** How long a message is retried after a temporary failure, and how long it waits between two attempts. */
import { type Static, Type } from 'typebox';
import { parseDuration } from '../durations.ts';
import { lookUp } from '../lookup.ts';

const hourMs = 3_600_000;
const maxDays = 7;

/** What fits the medium: a mail server may be down for a night, but a one-time code by text message is worthless after an hour. */
const defaultHours = { email: 48, sms: 1, voice: 1, push: 1, webpush: 1, inbox: 1 } as const;
/** Webhooks and chats. */
const otherHours = 24;

export const Retry = Type.Object(
  {
    for: Type.String({
      pattern: '^(0|[1-9][0-9]{0,8})[smhd]$',
      patternHint: 'must be a duration such as 30m, 4h or 2d, or 0s for no retries',
      description:
        `How long a message is retried after its first attempt failed temporarily: ${maxDays}d at most, 0s for no retries. Defaults to ` +
        `${defaultHours.email}h for email, ${defaultHours.sms}h for SMS, voice and push, and ${otherHours}h for webhooks and chats.`,
    }),
  },
  { additionalProperties: false },
);
export type Retry = Static<typeof Retry>;

/** Returns how long messages of a channel are retried, in milliseconds. */
export function retryMsOf({ type, retry }: { type: string; retry: Retry | null }): number {
  if (!retry) return (lookUp<number>(defaultHours, type) ?? otherHours) * hourMs;
  return parseDuration(retry.for) ?? 0;
}

/** SQL text: the same for a channel `c`, as an interval. */
export const retryIntervalText = `coalesce((c.retry ->> 'for')::interval, case c.type
  ${Object.entries(defaultHours)
    .map(([type, hours]) => `when '${type}' then interval '${hours} hours'`)
    .join(' ')} else interval '${otherHours} hours' end)`;

/** Returns what is wrong with a valid entry on a channel of this type, at which field. */
export function findRetryMistake(type: unknown, retry: unknown): { field: string; message: string } | undefined {
  if (retry === undefined || retry === null) return undefined;
  if (type === 'inbox') return { field: 'retry', message: 'must be absent: in-app messages are stored, not sent' };
  const duration = (retry as Partial<Retry>).for;
  const ms = typeof duration === 'string' ? parseDuration(duration) : undefined;
  return ms !== undefined && ms > maxDays * 24 * hourMs
    ? { field: 'retry/for', message: `must be at most ${maxDays}d` }
    : undefined;
}

/** The delay after the first attempt, which doubles with each further one, and its maximum. */
const delays = {
  /** Most failures are short. */
  provider: { firstMs: 5_000, maxMs: hourMs },
  /** A full mailbox is emptied by its owner, not by waiting for seconds. */
  mailbox: { firstMs: hourMs / 4, maxMs: 4 * hourMs },
} as const;

/**
 * Returns how long a message waits after this many attempts: between half of the delay and all of it, so that messages that
 * failed together are not all retried at once.
 */
export function retryDelayMs(attempts: number, cause: keyof typeof delays = 'provider'): number {
  const { firstMs, maxMs } = delays[cause];
  return jitter(Math.min(firstMs * 2 ** Math.max(0, attempts - 1), maxMs));
}

/**
 * Returns how long a message waits for a provider that fails, without an attempt: as long as it has waited already, so that a long
 * outage costs little. It goes on earlier if the provider is back: see engine/deliver/channel-outages.ts.
 */
export function outageDelayMs(waitedMs: number): number {
  return jitter(Math.min(waitedMs, delays.provider.maxMs));
}

function jitter(ms: number): number {
  return ms * (0.5 + Math.random() / 2);
}

/** The failed attempts of a delivery that are kept: the first ones, which show how it began, and the last ones. */
export const keptAttempts = { first: 5, last: 15 } as const;
