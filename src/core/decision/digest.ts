/**
 * Digests: messages to one recipient via one channel with the same key are collected and sent as one message. The window
 * opens with the first item and closes after a duration, or at the time of a cron expression in the recipient's time zone.
 */
import { Cron } from 'croner';
import { type Static, Type } from 'typebox';
import { parseDuration } from '../durations.ts';
import { expressionLimits } from '../expressions/expressions.ts';
import type { JsonObject } from '../json.ts';
import { optionalInteger, optionalString } from '../optional.ts';
import { isTimezone } from './quiet-hours.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;

export const digestLimits = {
  /** The maximum number of items with context in a message; further items are only counted. */
  max: 500,
  defaultMax: 100,
  /** The maximum size of all contexts in a message, in bytes: the same as for one trigger. */
  contextBytes: 1_048_576,
  /** A digest closes early with this many items, because all of them are settled in one statement. */
  fullAt: 10_000,
  days: 31,
  /** The maximum number of items in a preview. */
  sampleItems: 50,
  every: 100,
} as const;

export const Digest = Type.Object(
  {
    every: Type.String({
      minLength: 1,
      maxLength: digestLimits.every,
      description:
        "How long items are collected, counted from the first one: 30m, 1h, 1d. Or when the digest closes, as a cron expression in the recipient's time zone: `0 8 * * 1-5`. It closes after 31 days at the latest.",
    }),
    key: optionalString({
      minLength: 1,
      maxLength: expressionLimits.source,
      description:
        'JMESPath over the context, such as `server`: items with different values go into separate digests. Defaults to one digest for all items.',
    }),
    first: Type.Optional(
      Type.Enum(['wait', 'send'], {
        description: 'Whether the first item waits with the others or is sent immediately. Defaults to wait.',
      }),
    ),
    max: optionalInteger({
      minimum: 1,
      maximum: digestLimits.max,
      description: `The maximum number of items in the message; the rest is counted in \`more\`. Defaults to ${digestLimits.defaultMax}.`,
    }),
  },
  { additionalProperties: false },
);
export type Digest = Static<typeof Digest>;

/** Returns the mistake in `every`, or undefined. */
export function findDigestMistake(every: string): string | undefined {
  const ms = parseDuration(every);
  if (ms !== undefined) {
    if (ms < minuteMs) return 'must be at least 1m';
    return ms > digestLimits.days * dayMs ? `must be at most ${digestLimits.days}d` : undefined;
  }
  try {
    new Cron(every, cronOptions);
    return undefined;
  } catch {
    return 'must be a duration such as 30m, 1h or 1d, or a cron expression of five fields such as 0 8 * * 1-5';
  }
}

const cronOptions = { mode: '5-part', paused: true } as const;

/** Returns a function that computes when a window that opens now closes for a recipient in a time zone. */
export function compileDigestEnd(every: string): (timezone: string, now: number) => number {
  const ms = parseDuration(every);
  if (ms !== undefined) return (_, now) => now + ms;
  const byZone = new Map<string, Cron>();
  return (timezone, now) => {
    let cron = byZone.get(timezone);
    if (!cron) {
      // A stored zone may be missing from this version of the time zone database.
      cron = new Cron(every, { ...cronOptions, timezone: isTimezone(timezone) ? timezone : 'UTC' });
      byZone.set(timezone, cron);
    }
    const latest = now + digestLimits.days * dayMs;
    return Math.min(cron.nextRun(new Date(now))?.getTime() ?? latest, latest);
  };
}

/** Variables that templates of digests have in addition. */
interface DigestScope {
  items: { context: JsonObject; time: string }[];
  /** The number of all items. */
  count: number;
  /** The number of items that are not in `items`. */
  more: number;
}

export function digestScope(items: readonly { context: JsonObject; created_at: Date }[], count: number): DigestScope {
  return {
    items: items.map(({ context, created_at }) => ({ context, time: created_at.toISOString() })),
    count,
    more: Math.max(0, count - items.length),
  };
}
