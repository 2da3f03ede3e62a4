/** What a silence consists of, and which rules it has to follow. */
import { type Static, Type } from 'typebox';
import { durationPattern, findStartMistake } from '../durations.ts';
import { time } from '../optional.ts';
import { limits, singleLine } from '../text/text.ts';
import { findQuietMistakes, isTimezone, notATimezone, QuietHours } from './quiet-hours.ts';

export const silenceLimits = {
  /** Silences of an organization that are not over. */
  open: 500,
  matchers: 10,
  field: 255,
  value: 255,
  /** A longer text of the context never matches a pattern. */
  text: 1_024,
  /** How long a silence may last, and a recurring one. */
  days: 90,
  recurringDays: 366,
  /** How far ahead it may be planned. */
  aheadDays: 366,
  /** Counting what a silence did stops here, so that it stays cheap. */
  counted: 10_000,
  /** How long silences are kept after they ended. */
  keptDays: 90,
} as const;

export const matcherOps = ['=', '!=', '~', '!~'] as const;

export const Matcher = Type.Object(
  {
    field: Type.String({
      minLength: 1,
      maxLength: silenceLimits.field,
      description: 'Path in the context, such as `labels.alertname`. A field that is missing counts as empty.',
    }),
    op: Type.Enum([...matcherOps], {
      description: '`=` and `!=` compare the whole text, `~` and `!~` a pattern in which `*` stands for any text.',
    }),
    value: Type.String({ maxLength: silenceLimits.value }),
  },
  { additionalProperties: false },
);
export type Matcher = Static<typeof Matcher>;

const { enabled: _, ...hours } = QuietHours.properties;

export const Recurrence = Type.Object(
  {
    timezone: Type.String({ maxLength: 100, description: 'Time zone of the hours, such as `Europe/Berlin`.' }),
    ...hours,
  },
  { additionalProperties: false },
);
export type Recurrence = Static<typeof Recurrence>;

/** What a caller names: what matches, and wherein. */
export const silenceTarget = {
  path: Type.Optional(
    Type.Union([Type.String({ maxLength: 3 * limits.slug + 2 }), Type.Null()], {
      description: 'What it is limited to: `prj`, `prj/app` or `prj/app/evt`. Null: the whole organization.',
    }),
  ),
  matchers: Type.Optional(
    Type.Array(Matcher, { maxItems: silenceLimits.matchers, description: 'All of them have to match.' }),
  ),
};

export const NewSilence = Type.Object(
  {
    ...silenceTarget,
    reason: Type.String({
      minLength: 1,
      maxLength: limits.reason,
      ...singleLine,
      description: 'Why, in one line, for everyone who asks why a message was not sent.',
    }),
    starts_at: Type.Optional(time('Absent: now. At most 31 days ago.')),
    ends_at: Type.Optional(
      time(`At most ${silenceLimits.days} days after its start, or ${silenceLimits.recurringDays} if it recurs.`),
    ),
    duration: Type.Optional(
      Type.String({
        pattern: durationPattern,
        patternHint: 'must be a duration such as 90m or 24h',
        description: 'How long after its start it ends, instead of `ends_at`.',
      }),
    ),
    recurrence: Type.Optional(
      Type.Union([Recurrence, Type.Null()], {
        description: 'The hours in which it applies. Null: all of the time.',
      }),
    ),
  },
  { $id: 'NewSilence', additionalProperties: false },
);
export type NewSilence = Static<typeof NewSilence>;

/** What a silence is limited to; null: not limited. */
export interface SilenceScope {
  project_id: number | null;
  application_id: number | null;
  event_id: number | null;
}

export interface Silence extends SilenceScope {
  id: string;
  matchers: Matcher[];
  reason: string;
  starts_at: Date;
  ends_at: Date;
  recurrence: Recurrence | null;
  created_by: string;
}

const dayMs = 86_400_000;

/** Returns the mistakes that the schemas cannot express, by field. */
export function findSilenceMistakes(
  {
    matchers,
    reason,
    starts_at,
    ends_at,
    recurrence,
  }: Pick<Silence, 'matchers' | 'reason' | 'starts_at' | 'ends_at' | 'recurrence'>,
  isScoped: boolean,
  now: number,
): Record<string, string> {
  const maxDays = recurrence ? silenceLimits.recurringDays : silenceLimits.days;
  const mistakes: Record<string, string> = {};
  if (reason.trim() === '') mistakes.reason = 'must say why, for everyone who misses a message';
  if (matchers.length === 0 && !isScoped)
    mistakes.matchers = 'are required without a project: to stop everything, pause the organization';
  if (ends_at.getTime() <= Math.max(now, starts_at.getTime()))
    mistakes.ends_at = 'must be after its start, and later than now';
  else if (ends_at.getTime() - Math.max(now, starts_at.getTime()) > maxDays * dayMs)
    mistakes.ends_at = `must be at most ${maxDays} days after its start: a silence is never endless`;
  const startMistake = findStartMistake(starts_at.getTime(), now, silenceLimits.aheadDays);
  if (startMistake) mistakes.starts_at = startMistake;
  if (!recurrence) return mistakes;
  if (!isTimezone(recurrence.timezone)) mistakes['recurrence/timezone'] = notATimezone;
  for (const [field, mistake] of Object.entries(findQuietMistakes(recurrence))) {
    mistakes[`recurrence/${field}`] = mistake.replace(', unless enabled is false', '');
  }
  return mistakes;
}
