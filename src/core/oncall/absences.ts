/** Absences: times at which a user is away. They never change who is on call. */
import { type Static, Type } from 'typebox';
import { optionalString, time } from '../optional.ts';
import { limits, singleLine } from '../text/text.ts';
import { dayMs } from './zone.ts';

export const absenceLimits = {
  /** Absences of a user that are not over. */
  open: 200,
  /** All that are kept of a user. */
  all: 2_000,
  /** How long one may last, and how far ahead it may begin. */
  days: 366,
  aheadDays: 731,
  /** How long they are kept after they ended. */
  keptDays: 90,
  /** Absences that are shown with shifts. */
  shown: 1_000,
} as const;

export const NewAbsence = Type.Object(
  {
    starts_at: time('When it begins; may be in the past.'),
    ends_at: time(`When it ends: later than now, and at most ${absenceLimits.days} days after its start.`),
    reason: optionalString({
      maxLength: limits.reason,
      ...singleLine,
      description: 'Why, in one line, for everyone who looks at a schedule and may read users.',
    }),
  },
  { $id: 'NewAbsence', additionalProperties: false },
);
export type NewAbsence = Static<typeof NewAbsence>;

/** Returns the mistakes that the schema cannot express, by field. */
export function findAbsenceMistakes({ starts_at, ends_at }: NewAbsence, now: number): Record<string, string> {
  const [start, end] = [starts_at, ends_at].map(at => new Date(at).getTime()) as [number, number];
  const mistakes: Record<string, string> = {};
  if (start > now + absenceLimits.aheadDays * dayMs)
    mistakes.starts_at = `must be within ${absenceLimits.aheadDays} days`;
  if (end <= Math.max(now, start)) mistakes.ends_at = 'must be after its start, and later than now';
  else if (end - start > absenceLimits.days * dayMs)
    mistakes.ends_at = `must be at most ${absenceLimits.days} days after its start`;
  return mistakes;
}
