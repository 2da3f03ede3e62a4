/** Swaps: a user asks others to take a shift. The first who accepts gets it, by an override. */
import { type Static, Type } from 'typebox';
import { optionalString, time } from '../optional.ts';
import { limits, singleLine } from '../text/text.ts';
import { overrideLimits } from './overrides.ts';
import { dayMs } from './zone.ts';

export const swapLimits = {
  /** Swaps of a schedule that are open. */
  open: 100,
  /** All that are kept of a schedule. */
  all: 5_000,
  /** How long they are kept after their shift ended, like overrides. */
  keptDays: overrideLimits.keptDays,
} as const;

export const swapStates = ['open', 'accepted', 'withdrawn', 'expired'] as const;
export type SwapState = (typeof swapStates)[number];

const username = { minLength: 1, maxLength: limits.email };

export const NewSwap = Type.Object(
  {
    user: Type.String({ ...username, description: 'Username of the one who asks, and is on call then.' }),
    starts_at: time('When the shift begins that someone else is to take: later than now.'),
    ends_at: time(`When it ends, at most ${overrideLimits.days} days later.`),
    message: optionalString({
      maxLength: limits.reason,
      ...singleLine,
      description: 'For the others of the schedule, in one line. It becomes the reason of the override.',
    }),
  },
  { $id: 'NewSwap', additionalProperties: false },
);
export type NewSwap = Static<typeof NewSwap>;

export const SwapAcceptance = Type.Object(
  { user: Type.String({ ...username, description: 'Username of the one who takes the shift.' }) },
  { $id: 'SwapAcceptance', additionalProperties: false },
);

/** Returns the mistakes that the schema cannot express, by field. */
export function findSwapMistakes({ starts_at, ends_at }: NewSwap, now: number): Record<string, string> {
  const [start, end] = [starts_at, ends_at].map(at => new Date(at).getTime()) as [number, number];
  const mistakes: Record<string, string> = {};
  if (start <= now)
    mistakes.starts_at = 'must be later than now: a shift that has begun can be covered, but not swapped';
  else if (start > now + overrideLimits.aheadDays * dayMs)
    mistakes.starts_at = `must be within ${overrideLimits.aheadDays} days`;
  if (end <= start) mistakes.ends_at = 'must be after its start';
  else if (end - start > overrideLimits.days * dayMs)
    mistakes.ends_at = `must be at most ${overrideLimits.days} days after its start`;
  return mistakes;
}
