/** Overrides: someone takes, gives or covers a shift. */
import { type Static, Type } from 'typebox';
import { durationPattern, findStartMistake } from '../durations.ts';
import { optionalString, time } from '../optional.ts';
import { limits, singleLine } from '../text/text.ts';
import { dayMs } from './zone.ts';

export const overrideLimits = {
  /** Overrides of a schedule that are not over. */
  open: 500,
  /** All that are kept of a schedule. */
  all: 5_000,
  /** How long one may last, and how far ahead it may begin. */
  days: 92,
  aheadDays: 366,
  /** How long they are kept after they ended. */
  keptDays: 90,
} as const;

export const overrideStates = ['active', 'planned', 'ended'] as const;
export type OverrideState = (typeof overrideStates)[number];

const username = { minLength: 1, maxLength: limits.email };

export const NewOverride = Type.Object(
  {
    user: Type.String({ ...username, description: 'Username of the one who is on call instead.' }),
    replaces: Type.Optional(
      Type.Union([Type.String(username), Type.Null()], {
        description: 'Username of the one whose place is taken, while that one is on call. Null: everyone.',
      }),
    ),
    starts_at: Type.Optional(time('Absent, or in the past: now. At most 31 days ago.')),
    ends_at: Type.Optional(time(`At most ${overrideLimits.days} days after its start.`)),
    duration: optionalString({
      pattern: durationPattern,
      patternHint: 'must be a duration such as 90m or 12h',
      description: 'How long after its start it ends, instead of `ends_at`.',
    }),
    reason: optionalString({
      maxLength: limits.reason,
      ...singleLine,
      description: 'Why, in one line, for everyone who looks at the schedule.',
    }),
  },
  { $id: 'NewOverride', additionalProperties: false },
);
export type NewOverride = Static<typeof NewOverride>;

interface OverrideTimes {
  starts_at: Date;
  ends_at: Date;
}

/** Returns the mistakes that the schema cannot express, by field. */
export function findOverrideMistakes({ starts_at, ends_at }: OverrideTimes, now: number): Record<string, string> {
  const mistakes: Record<string, string> = {};
  const start = starts_at.getTime();
  const end = ends_at.getTime();
  const startMistake = findStartMistake(start, now, overrideLimits.aheadDays);
  if (startMistake) mistakes.starts_at = startMistake;
  if (end <= Math.max(now, start)) mistakes.ends_at = 'must be after its start, and later than now';
  else if (end - Math.max(now, start) > overrideLimits.days * dayMs)
    mistakes.ends_at = `must be at most ${overrideLimits.days} days after its start`;
  return mistakes;
}

export function overrideStateOf({ starts_at, ends_at }: OverrideTimes, now: number): OverrideState {
  return ends_at.getTime() <= now ? 'ended' : starts_at.getTime() <= now ? 'active' : 'planned';
}
