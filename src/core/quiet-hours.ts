/**
 * Quiet hours: a window of the wall clock, on some weekdays, in somebody's zone. A window over midnight belongs to the day on
 * which it begins. Whatever daylight saving does to a night, it is quiet exactly while the clock on the wall says so.
 */
import { Temporal } from 'temporal-polyfill';
import { type Static, Type } from 'typebox';

/** In the order of ISO: Monday is 1. */
export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof weekdays)[number];

const Time = (description: string) =>
  Type.String({
    pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
    patternHint: 'must be a time of day such as 22:00',
    description,
  });

export const QuietHours = Type.Object(
  {
    enabled: Type.Optional(Type.Boolean({ description: 'False: none, whatever is usual. Absent: true.' })),
    from: Type.Optional(Time('When they begin, on the wall clock: 22:00')),
    to: Type.Optional(Time('When they end; before `from`, on the next day: 07:00')),
    weekdays: Type.Optional(
      Type.Array(Type.Enum([...weekdays]), {
        minItems: 1,
        maxItems: 7,
        uniqueItems: true,
        description: 'On which they begin. Absent: every day.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type QuietHours = Static<typeof QuietHours>;

/** What is wrong with them beyond their form: field to message. */
export function findQuietMistakes({ enabled, from, to }: QuietHours): Record<string, string> {
  if (enabled === false) return {};
  if (from === undefined) return { from: 'is required, unless enabled is false' };
  if (to === undefined) return { to: 'is required, unless enabled is false' };
  return from === to ? { to: 'must differ from the beginning' } : {};
}

export const notATimezone = 'is not a time zone such as Europe/Berlin';

/** By its name in the IANA database, not by an offset: an offset knows no daylight saving. */
export function isTimezone(text: string): boolean {
  if (!/^[A-Za-z][\w+\-/]{0,99}$/.test(text)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}

/** When the quiet hours end that are now, as milliseconds since 1970; undefined when it is not quiet. */
export function quietUntil(hours: QuietHours, timezone: string, now: number): number | undefined {
  const { enabled, from, to, weekdays: days } = hours;
  if (enabled === false || from === undefined || to === undefined || from === to) return undefined;
  // Another version of the zones' database may not know it any more.
  const zone = isKnown(timezone) ? timezone : 'UTC';
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
 * The first moment from which on the clock never stands before that time again. Where it is turned back to before the time,
 * that is the second time; where it jumps over the time, the jump.
 */
function endOf(date: Temporal.PlainDate, to: string, zone: string): number {
  const wanted = date.toPlainDateTime(Temporal.PlainTime.from(to));
  const [earlier, later] = (['earlier', 'later'] as const).map(disambiguation =>
    wanted.toZonedDateTime(zone, { disambiguation }),
  ) as [Temporal.ZonedDateTime, Temporal.ZonedDateTime];
  if (earlier.equals(later)) return later.epochMilliseconds;
  const change = earlier.getTimeZoneTransition('next');
  if (!change) return later.epochMilliseconds;
  if (!later.toPlainDateTime().equals(wanted)) return change.epochMilliseconds;
  const isBefore = Temporal.PlainDateTime.compare(change.toPlainDateTime(), wanted) < 0;
  return (isBefore ? later : earlier).epochMilliseconds;
}

const known = new Map<string, boolean>();

function isKnown(timezone: string): boolean {
  let answer = known.get(timezone);
  if (answer === undefined) {
    if (known.size > 1_000) known.clear();
    answer = isTimezone(timezone);
    known.set(timezone, answer);
  }
  return answer;
}

/** So that mornings do not stampede: the same for a person every day, up to five minutes. */
export function spreadMs(userId: number): number {
  return (((userId * 2_654_435_761) % 2 ** 32) / 2 ** 32) * 300_000;
}

const minuteMs = 60_000;
let remembered: { minute: number; answers: Map<string, number | undefined> } = { minute: 0, answers: new Map() };

/** The same, remembered for a minute: of a fan-out most people have the same hours in the same zone. */
export function findQuietEnd(hours: QuietHours, timezone: string, now: number): number | undefined {
  const minute = Math.floor(now / minuteMs);
  if (remembered.minute !== minute) remembered = { minute, answers: new Map() };
  const key = `${timezone} ${hours.enabled} ${hours.from} ${hours.to} ${hours.weekdays}`;
  const { answers } = remembered;
  if (!answers.has(key)) answers.set(key, quietUntil(hours, timezone, minute * minuteMs));
  return answers.get(key);
}

/** Where the database of zones in JavaScript still has a name that the people who live there gave up. */
const renamed: Record<string, string> = {
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

/** To choose from, in the order of their names. */
export function listTimezones(): string[] {
  const names = Intl.supportedValuesOf('timeZone').map(name => renamed[name] ?? name);
  return [...new Set(['UTC', ...names.sort()])];
}
