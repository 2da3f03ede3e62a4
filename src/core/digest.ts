/**
 * Digests: what would be sent to one person by one channel under one key gathers, and goes out as one message. A window
 * opens with the first item. It closes after a time, or when a cron expression says so on the clock of the recipient.
 */
import { Cron } from 'croner';
import { type Static, Type } from 'typebox';
import { parseDuration } from './durations.ts';
import { expressionLimits } from './expressions.ts';
import type { JsonObject } from './json.ts';
import { isTimezone } from './quiet-hours.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;

export const digestLimits = {
  /** Items whose contexts a message may have; the others are counted. */
  most: 500,
  usualMost: 100,
  /** What the contexts of a message may be together, in bytes: as much as one trigger's. */
  contextBytes: 1_048_576,
  /** With so many items it closes early: all of them are settled in one statement. */
  fullAt: 10_000,
  days: 31,
  /** Of a preview. */
  sampleItems: 50,
  every: 100,
} as const;

export const Digest = Type.Object(
  {
    every: Type.String({
      minLength: 1,
      maxLength: digestLimits.every,
      description:
        'How long it gathers from the first item on: 30m, 1h, 1d. Or when it closes, as a cron expression on the clock of the recipient: `0 8 * * 1-5`. After 31 days at the latest.',
    }),
    key: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: expressionLimits.source,
        description: 'JMESPath over the context: what gathers by itself, such as `server`. Absent: all together.',
      }),
    ),
    first: Type.Optional(
      Type.Enum(['wait', 'send'], {
        description: 'Whether the first item waits with the others or is sent at once. Absent: wait.',
      }),
    ),
    most: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: digestLimits.most,
        description: `How many items the message has; the rest is counted in \`more\`. Absent: ${digestLimits.usualMost}.`,
      }),
    ),
  },
  { additionalProperties: false },
);
export type Digest = Static<typeof Digest>;

/** What is wrong with when it closes, or undefined. */
export function findDigestMistake(every: string): string | undefined {
  const ms = parseDuration(every);
  if (ms !== undefined) {
    if (ms < minuteMs) return 'must be 1m at least';
    return ms > digestLimits.days * dayMs ? `must be ${digestLimits.days}d at most` : undefined;
  }
  try {
    new Cron(every, cronOptions);
    return undefined;
  } catch {
    return 'must be a duration such as 30m, 1h or 1d, or a cron expression of five fields such as 0 8 * * 1-5';
  }
}

const cronOptions = { mode: '5-part', paused: true } as const;

/** When a window closes that opens now, for somebody in a zone. Remembers nothing but the parsed expression. */
export function compileDigestEnd(every: string): (timezone: string, now: number) => number {
  const ms = parseDuration(every);
  if (ms !== undefined) return (_, now) => now + ms;
  const byZone = new Map<string, Cron>();
  return (timezone, now) => {
    let cron = byZone.get(timezone);
    if (!cron) {
      // Another version of the zones' database may not know it any more.
      cron = new Cron(every, { ...cronOptions, timezone: isTimezone(timezone) ? timezone : 'UTC' });
      byZone.set(timezone, cron);
    }
    const latest = now + digestLimits.days * dayMs;
    return Math.min(cron.nextRun(new Date(now))?.getTime() ?? latest, latest);
  };
}

/** What a template knows of a digest besides what every template knows. */
export interface DigestScope {
  items: { context: JsonObject; time: string }[];
  /** Of all items. */
  count: number;
  /** How many of them are not among `items`. */
  more: number;
}

export function digestScope(items: readonly { context: JsonObject; created_at: Date }[], count: number): DigestScope {
  return {
    items: items.map(({ context, created_at }) => ({ context, time: created_at.toISOString() })),
    count,
    more: Math.max(0, count - items.length),
  };
}
