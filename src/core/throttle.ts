/**
 * How much one person may get. A window slides: what counts is what they were told within its length before now. One
 * notification of one trigger counts once, by however many channels it comes.
 */
import { createHash } from 'node:crypto';
import { type Static, Type } from 'typebox';
import { durationPattern, parseDuration } from './durations.ts';
import { expressionLimits } from './expressions.ts';
import { canonicalJson } from './json.ts';

export const throttleLimits = { most: 1_000, days: 30 } as const;
export const dayMs = 86_400_000;

export const Throttle = Type.Object(
  {
    most: Type.Integer({ minimum: 1, maximum: throttleLimits.most, description: 'How many a person gets…' }),
    per: Type.String({
      pattern: durationPattern,
      patternHint: 'must be a duration such as 30m, 1h or 7d',
      description: '…within this time: 30m, 1h, 7d. At most 30d.',
    }),
    key: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: expressionLimits.source,
        description: 'JMESPath over the context: what is counted by itself, such as `server`. Absent: all together.',
      }),
    ),
    overflow: Type.Optional(
      Type.Enum(['drop'], { description: 'What becomes of the others. Absent: drop, they are not sent.' }),
    ),
  },
  { additionalProperties: false },
);
export type Throttle = Static<typeof Throttle>;

/** Longer ones than the longest wait of a message would outlive the history that explains them. */
export function isLongThrottle(per: string): boolean {
  return (parseDuration(per) ?? 0) > throttleLimits.days * dayMs;
}

/** A rule that one message falls under, and what it is counted by. */
export interface ThrottleClaim {
  /** 0: everything of the organization. */
  notificationId: number;
  userId: number;
  key: string;
  most: number;
  perMs: number;
}

const longestKey = 200;

/** What an expression over the context gave, as a key. What cannot be told apart is counted together. */
export function throttleKey(value: unknown): string {
  const text = value === null || value === undefined ? '' : canonicalJson(value);
  return text.length <= longestKey ? text : createHash('sha256').update(text).digest('hex');
}

export function claimName({ notificationId, userId, key }: ThrottleClaim): string {
  return `${notificationId} ${userId} ${key}`;
}

/** The times that still count, in any order. */
export type Uses = Map<string, number[]>;

/**
 * Takes a place under each of the rules, or under none of them: false when one of them is full. What was taken is added to
 * the uses.
 */
export function takePlace(claims: readonly ThrottleClaim[], uses: Uses, now: number): boolean {
  const counted = claims.map(claim => {
    const name = claimName(claim);
    return { claim, name, times: (uses.get(name) ?? []).filter(at => at > now - claim.perMs) };
  });
  if (counted.some(({ claim, times }) => times.length >= claim.most)) return false;
  for (const { name, times } of counted) uses.set(name, [...times, now]);
  return true;
}
