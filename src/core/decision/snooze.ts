/** Snoozing: an occurrence is acknowledged until a time, and then escalates again. */
import { Temporal } from 'temporal-polyfill';
import { type Static, Type } from 'typebox';
import { durationPattern, parseDuration } from '../durations.ts';
import { invalid } from '../errors.ts';
import { isTimezone, notATimezone } from './quiet-hours.ts';

export const snoozeLimits = { days: 7 } as const;
const maxMs = snoozeLimits.days * 86_400_000;
const timeOfDay = /^([01][0-9]|2[0-3]):[0-5][0-9]$/;

export const Snooze = Type.Object(
  {
    for: Type.Optional(
      Type.String({
        pattern: durationPattern,
        patternHint: 'must be a duration such as 30m, 1h or 2d',
        description: 'How long; at most 7d.',
        examples: ['1h'],
      }),
    ),
    until: Type.Optional(
      Type.String({
        maxLength: 40,
        description:
          'Until when, instead of `for`: a time of day such as 08:00, whichever comes next, or a time in RFC 3339.',
        examples: ['08:00', '2027-01-31T08:00:00Z'],
      }),
    ),
    timezone: Type.Optional(
      Type.String({
        maxLength: 100,
        description: "Of a time of day. Default: the organization's time zone, else UTC.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type Snooze = Static<typeof Snooze>;

/** Returns when the snooze ends, in milliseconds since 1970. Throws if the request is not valid. */
export function snoozeEnd({ for: duration, until, timezone }: Snooze, defaultTimezone: string, now: number): number {
  if ((duration === undefined) === (until === undefined)) throw invalid({ for: ['set either for or until'] });
  if (timezone !== undefined && !isTimezone(timezone)) throw invalid({ timezone: [notATimezone] });
  if (duration !== undefined) return within(now + (parseDuration(duration) ?? Number.NaN), now, 'for');
  if (timeOfDay.test(until!)) {
    return nextTimeOfDay(until!, timezone ?? (isTimezone(defaultTimezone) ? defaultTimezone : 'UTC'), now);
  }
  const isComplete = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d.*([Zz]|[+-]\d\d:?\d\d)$/.test(until!);
  return within(isComplete ? Date.parse(until!) : Number.NaN, now, 'until');
}

function within(end: number, now: number, field: 'for' | 'until'): number {
  if (Number.isNaN(end))
    throw invalid({ [field]: ['must be a time of day such as 08:00, or a time such as 2027-01-31T08:00:00Z'] });
  if (end <= now) throw invalid({ [field]: ['must be in the future'] });
  if (end > now + maxMs) throw invalid({ [field]: [`must be at most ${snoozeLimits.days}d from now`] });
  return end;
}

/**
 * Returns the next instant at which the wall clock shows this time. One that the clock skips becomes the next valid instant; of one that
 * it shows twice, the first counts.
 */
function nextTimeOfDay(clock: string, timezone: string, now: number): number {
  const local = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(timezone);
  const on = (date: Temporal.PlainDate) =>
    date.toZonedDateTime({ timeZone: timezone, plainTime: Temporal.PlainTime.from(clock) }).epochMilliseconds;
  const today = on(local.toPlainDate());
  return today > now ? today : on(local.toPlainDate().add({ days: 1 }));
}
