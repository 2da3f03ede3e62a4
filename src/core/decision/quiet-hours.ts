/**
 * Quiet hours: a window of wall-clock time on some weekdays in a time zone. A window over midnight belongs to the day on
 * which it begins. Across changes of daylight saving time, the wall clock decides.
 */
import { Temporal } from 'temporal-polyfill';
import { type Static, Type } from 'typebox';
import { lookUp } from '../lookup.ts';
import { optionalBoolean } from '../optional.ts';

/** In ISO order: Monday is 1. */
export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

const Time = (description: string) =>
  Type.String({
    pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
    patternHint: 'must be a time of day such as 22:00',
    description,
  });

export const QuietHours = Type.Object(
  {
    enabled: optionalBoolean({
      description: "False turns quiet hours off, overriding the organization's. Defaults to true.",
    }),
    from: Type.Optional(Time('When they begin, in local time: 22:00')),
    to: Type.Optional(Time('When they end: 07:00. A time before `from` is on the next day.')),
    weekdays: Type.Optional(
      Type.Array(Type.Enum([...weekdays]), {
        minItems: 1,
        maxItems: 7,
        uniqueItems: true,
        description: 'Days on which they begin. Defaults to every day.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type QuietHours = Static<typeof QuietHours>;

/** Returns the mistakes that the schema cannot express, by field. */
export function findQuietMistakes({ enabled, from, to }: QuietHours): Record<string, string> {
  if (enabled === false) return {};
  if (from === undefined) return { from: 'is required, unless enabled is false' };
  if (to === undefined) return { to: 'is required, unless enabled is false' };
  return from === to ? { to: 'must differ from `from`' } : {};
}

export const notATimezone = 'is not a time zone such as Europe/Berlin';

/** Returns whether the text is an IANA time zone name. Offsets are not accepted, as they have no daylight saving time. */
export function isTimezone(text: string): boolean {
  if (!/^[A-Za-z][\w+\-/]{0,99}$/.test(text)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}

/** Returns when the current quiet hours end, in milliseconds since 1970; undefined outside quiet hours. */
export function quietUntil(hours: QuietHours, timezone: string, now: number): number | undefined {
  const { enabled, from, to, weekdays: days } = hours;
  if (enabled === false || from === undefined || to === undefined || from === to) return undefined;
  // A stored zone may be missing from this version of the time zone database.
  const zone = isTimezoneCached(timezone) ? timezone : 'UTC';
  const local = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone);
  const date = local.toPlainDate();
  const clock = local.toPlainTime().toString({ smallestUnit: 'minute' });
  const begins = (day: Temporal.PlainDate) => !days || days.includes(weekdays[day.dayOfWeek - 1]!);
  const overMidnight = to < from;
  const isInside = (begun: Temporal.PlainDate) =>
    begins(begun) && (begun.equals(date) ? clock >= from && (overMidnight || clock < to) : overMidnight && clock < to);
  if (isInside(date)) return endOf(overMidnight ? date.add({ days: 1 }) : date, to, zone);
  return isInside(date.subtract({ days: 1 })) ? endOf(date, to, zone) : undefined;
}

/**
 * Returns the instant after which the wall clock is never before `to` again: the second occurrence when the clock is turned
 * back to before `to`, the moment of the change when it skips `to`.
 */
function endOf(date: Temporal.PlainDate, to: string, zone: string): number {
  const target = date.toPlainDateTime(Temporal.PlainTime.from(to));
  const [earlier, later] = (['earlier', 'later'] as const).map(disambiguation =>
    target.toZonedDateTime(zone, { disambiguation }),
  ) as [Temporal.ZonedDateTime, Temporal.ZonedDateTime];
  if (earlier.equals(later)) return later.epochMilliseconds;
  const change = earlier.getTimeZoneTransition('next');
  if (!change) return later.epochMilliseconds;
  if (!later.toPlainDateTime().equals(target)) return change.epochMilliseconds;
  const isBefore = Temporal.PlainDateTime.compare(change.toPlainDateTime(), target) < 0;
  return (isBefore ? later : earlier).epochMilliseconds;
}

const timezoneCache = new Map<string, boolean>();

/** Returns what `isTimezone` returns, from a cache. */
function isTimezoneCached(timezone: string): boolean {
  let isValid = timezoneCache.get(timezone);
  if (isValid === undefined) {
    if (timezoneCache.size > 1_000) timezoneCache.clear();
    isValid = isTimezone(timezone);
    timezoneCache.set(timezone, isValid);
  }
  return isValid;
}

/** Returns a fixed delay per user of up to five minutes, which spreads the load when quiet hours end. */
export function spreadMs(userId: number): number {
  return (((userId * 2_654_435_761) % 2 ** 32) / 2 ** 32) * 300_000;
}

const minuteMs = 60_000;
let endCache: { minute: number; ends: Map<string, number | undefined> } = { minute: 0, ends: new Map() };

/** Returns what `quietUntil` returns, cached for a minute: most recipients of a fan-out share hours and time zone. */
export function findQuietEnd(hours: QuietHours, timezone: string, now: number): number | undefined {
  const minute = Math.floor(now / minuteMs);
  if (endCache.minute !== minute) endCache = { minute, ends: new Map() };
  const key = `${timezone} ${hours.enabled} ${hours.from} ${hours.to} ${hours.weekdays}`;
  const { ends } = endCache;
  if (!ends.has(key)) ends.set(key, quietUntil(hours, timezone, minute * minuteMs));
  return ends.get(key);
}

/** Current names of zones that JavaScript still lists under an outdated name. */
const currentNames: Record<string, string> = {
  'Africa/Asmera': 'Africa/Asmara',
  'America/Buenos_Aires': 'America/Argentina/Buenos_Aires',
  'America/Godthab': 'America/Nuuk',
  'Asia/Calcutta': 'Asia/Kolkata',
  'Asia/Katmandu': 'Asia/Kathmandu',
  'Asia/Rangoon': 'Asia/Yangon',
  'Asia/Saigon': 'Asia/Ho_Chi_Minh',
  'Atlantic/Faeroe': 'Atlantic/Faroe',
  'Europe/Kiev': 'Europe/Kyiv',
  'Pacific/Enderbury': 'Pacific/Kanton',
  'Pacific/Ponape': 'Pacific/Pohnpei',
  'Pacific/Truk': 'Pacific/Chuuk',
};

/** Returns the time zones to choose from, sorted by name, UTC first. */
export function listTimezones(): string[] {
  const names = Intl.supportedValuesOf('timeZone').map(name => lookUp(currentNames, name) ?? name);
  return [...new Set(['UTC', ...names.sort()])];
}
