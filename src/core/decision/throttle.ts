/**
 * Throttles: limits on the messages one user gets within a sliding window. A notification of one trigger counts once,
 * however many channels it is sent via.
 */
import { type Static, Type } from 'typebox';
import { durationPattern, parseDuration } from '../durations.ts';
import { expressionLimits } from '../expressions/expressions.ts';
import { optionalString } from '../optional.ts';

export const throttleLimits = { max: 1_000, days: 30 } as const;
export const dayMs = 86_400_000;

export const Throttle = Type.Object(
  {
    max: Type.Integer({
      minimum: 1,
      maximum: throttleLimits.max,
      description: 'The maximum number of messages per user…',
    }),
    per: Type.String({
      pattern: durationPattern,
      patternHint: 'must be a duration such as 30m, 1h or 7d',
      description: '…within this time: 30m, 1h, 7d. The maximum is 30d.',
    }),
    key: optionalString({
      minLength: 1,
      maxLength: expressionLimits.source,
      description:
        'JMESPath over the context, such as `server`: messages with different values are counted separately. Defaults to counting all messages together.',
    }),
    overflow: Type.Optional(
      Type.Enum(['drop', 'digest'], {
        description:
          'What happens to messages over the limit. `drop`, the default: they are not sent. `digest`: they are sent as one message as soon as the user may get the next one.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type Throttle = Static<typeof Throttle>;

/** Returns whether the window is too long: it would outlive the history that explains the decisions. */
export function isLongThrottle(per: string): boolean {
  return (parseDuration(per) ?? 0) > throttleLimits.days * dayMs;
}

/** A throttle that applies to a message, and the key under which it is counted. */
export interface ThrottleClaim {
  /** 0 for the limit of the organization. */
  notificationId: number;
  userId: number;
  key: string;
  max: number;
  perMs: number;
  /** Whether messages over the limit go into a digest. */
  digestsOverflow?: boolean;
}

export function throttleKey({ notificationId, userId, key }: ThrottleClaim): string {
  return `${notificationId} ${userId} ${key}`;
}

/** The times of counted messages by claim name, in any order. */
export type ThrottleUses = Map<string, number[]>;

/** The message is sent (`taken`), refused (`full`), or waits in a digest that closes at `until`. */
type ThrottleResult = 'taken' | 'full' | { until: number };

/**
 * Counts the message under each of the throttles, or under none of them, and adds the counted times to `uses`. A digest is
 * counted when it opens, at the time when it closes: it counts like any other message, and a use in the future is an open
 * digest.
 */
export function takeThrottleSlot(claims: readonly ThrottleClaim[], uses: ThrottleUses, now: number): ThrottleResult {
  const counted = claims.map(claim => {
    const name = throttleKey(claim);
    const times = (uses.get(name) ?? []).filter(at => at > now - claim.perMs).sort((a, b) => a - b);
    return { claim, name, times };
  });
  const full = counted.filter(({ claim, times }) => times.length >= claim.max);
  const digested = full.find(({ claim }) => claim.digestsOverflow);
  if (digested) {
    const closesAt = digested.times.at(-1)!;
    if (closesAt > now) return { until: closesAt };
  }
  if (full.length > (digested ? 1 : 0)) return 'full';
  const until = digested && digested.times.at(-digested.claim.max)! + digested.claim.perMs;
  for (const one of counted) uses.set(one.name, [...one.times, one === digested ? until! : now]);
  return until === undefined ? 'taken' : { until };
}
