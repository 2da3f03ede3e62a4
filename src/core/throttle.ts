/**
 * How much one person may get. A window slides: what counts is what they were told within its length before now. One
 * notification of one trigger counts once, by however many channels it comes.
 */
import { type Static, Type } from 'typebox';
import { durationPattern, parseDuration } from './durations.ts';
import { expressionLimits } from './expressions.ts';

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
      Type.Enum(['drop', 'digest'], {
        description:
          'What becomes of the others. `drop`, and absent: they are not sent. `digest`: they gather, and go out as one message as soon as the person may get the next one.',
      }),
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
  /** Whether what is over gathers in a digest. */
  gathers?: boolean;
}

export function claimName({ notificationId, userId, key }: ThrottleClaim): string {
  return `${notificationId} ${userId} ${key}`;
}

/** The times that still count, in any order. */
export type Uses = Map<string, number[]>;

/** Taken, full, or until when what is over gathers. */
export type Place = 'taken' | 'full' | { until: number };

/**
 * Takes a place under each of the rules, or under none of them. What was taken is added to the uses. A digest takes its place
 * when it opens, at the time when it closes: so it counts like any other message, and a use in the future is a digest that is
 * open.
 */
export function takePlace(claims: readonly ThrottleClaim[], uses: Uses, now: number): Place {
  const counted = claims.map(claim => {
    const name = claimName(claim);
    const times = (uses.get(name) ?? []).filter(at => at > now - claim.perMs).sort((a, b) => a - b);
    return { claim, name, times };
  });
  const full = counted.filter(({ claim, times }) => times.length >= claim.most);
  const gathering = full.find(({ claim }) => claim.gathers);
  if (gathering) {
    const open = gathering.times.at(-1)!;
    if (open > now) return { until: open };
  }
  if (full.length > (gathering ? 1 : 0)) return 'full';
  const until = gathering && gathering.times.at(-gathering.claim.most)! + gathering.claim.perMs;
  for (const one of counted) uses.set(one.name, [...one.times, one === gathering ? until! : now]);
  return until === undefined ? 'taken' : { until };
}
