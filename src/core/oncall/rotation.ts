/**
 * Rotations: turn n of a layer begins n × (days, weeks, months) after the first one, at the same local time. Hours are elapsed
 * hours. The end of a month counts for a day that it does not have. Recurrence rules of calendars are not used: they leave out a
 * turn whose beginning the clocks skip, and then no one would be on call.
 */
import { type Static, Type } from 'typebox';
import { closed, Name } from '../configuration/nouns/schemas.ts';
import { weekdays } from '../decision/quiet-hours.ts';
import { limits } from '../text/text.ts';
import { dayMs, hourMs, type Zone } from './zone.ts';

export const rotationLimits = { layers: 50, turns: 200, together: 20, windows: 20 } as const;

const LocalTime = (description: string) =>
  Type.String({
    pattern: '^[0-9]{4}-[01][0-9]-[0-3][0-9]T([01][0-9]|2[0-3]):[0-5][0-9]$',
    patternHint: 'must be a local time such as 2027-01-04T09:00',
    description,
  });
const TimeOfDay = (description: string) =>
  Type.String({
    pattern: '^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$',
    patternHint: 'must be a time of day such as 18:00',
    description,
  });

export const Layer = Type.Object(
  {
    name: Name,
    every: Type.String({
      pattern: '^[1-9][0-9]{0,2}(h|d|w|mo)$',
      patternHint: 'must be a number from 1 to 999 of hours, days, weeks or months, such as 12h, 1d, 1w or 1mo',
      description: 'How long a turn lasts.',
    }),
    from: LocalTime('When the first turn begins, in local time.'),
    until: Type.Optional(LocalTime('When the last turn ends. Absent: never.')),
    users: Type.Array(
      // Not a union, which would report each mistake once per branch.
      Type.Unsafe<string | string[]>({
        // Serializers try the types in this order, and an array can be written as a string.
        type: ['array', 'string'],
        minLength: 1,
        maxLength: limits.email,
        items: { type: 'string', minLength: 1, maxLength: limits.email },
        maxItems: rotationLimits.together,
      }),
      {
        minItems: 1,
        maxItems: rotationLimits.turns,
        description:
          'Usernames in the order of their turns. Those of an inner list are on call together; an empty one is no one.',
      },
    ),
    only: Type.Optional(
      Type.Array(
        Type.Object(
          {
            days: Type.Optional(
              Type.Array(Type.Enum([...weekdays]), {
                minItems: 1,
                maxItems: 7,
                uniqueItems: true,
                description: 'Days on which it begins. Absent: every day.',
              }),
            ),
            from: TimeOfDay('In local time.'),
            until: TimeOfDay('A time that is not after `from` is on the next day.'),
          },
          closed,
        ),
        { minItems: 1, maxItems: rotationLimits.windows, description: 'Restricts the layer to these times.' },
      ),
    ),
  },
  closed,
);
export type Layer = Static<typeof Layer>;

interface Window {
  /** Numbers of weekdays, Monday first. */
  days: ReadonlySet<number>;
  /** In milliseconds after midnight. */
  from: number;
  /** More than a day if it ends on the next one. */
  until: number;
}

export interface Rotation {
  name: string;
  turns: readonly (readonly string[])[];
  /** Returns the users who have their turn; undefined if the layer has none then. */
  usersAt(instant: number): readonly string[] | undefined;
  /** Returns the instants of a span at which `usersAt` may change, in no order. */
  changesIn(from: number, until: number): number[];
}

export function compileLayer(layer: Layer, zone: Zone): Rotation {
  const turns = layer.users.map(users => (typeof users === 'string' ? [users] : users));
  const [, count, unit] = /^(\d+)(h|d|w|mo)$/.exec(layer.every)!;
  const first = parseLocalTime(layer.from)!;
  const end = layer.until === undefined ? Number.POSITIVE_INFINITY : zone.toInstant(parseLocalTime(layer.until)!);
  const { startOf, estimate } = turnsOf(first, Number(count), unit as Unit, zone);
  const begin = startOf(0);
  const windows = layer.only?.map(readWindow);
  const turnAt = (instant: number): number => {
    let n = Math.max(0, estimate(instant));
    while (n > 0 && startOf(n) > instant) n--;
    while (startOf(n + 1) <= instant) n++;
    return n;
  };
  return {
    name: layer.name,
    turns,
    usersAt(instant) {
      if (instant < begin || instant >= end) return undefined;
      if (windows && !windows.some(window => isInside(window, instant, zone))) return undefined;
      const users = turns[turnAt(instant) % turns.length]!;
      return users.length > 0 ? users : undefined;
    },
    changesIn(from, until) {
      const changes = [begin, end];
      if (begin < until && end > from) {
        for (let n = turnAt(Math.max(from, begin)); startOf(n) < Math.min(until, end); n++) changes.push(startOf(n));
        for (const window of windows ?? []) changes.push(...edgesOf(window, from, until, zone));
      }
      return changes.filter(change => change >= from && change < until);
    },
  };
}

type Unit = 'h' | 'd' | 'w' | 'mo';

/** Returns when turns begin, and about which turn an instant is in. */
function turnsOf(first: number, count: number, unit: Unit, zone: Zone) {
  if (unit === 'mo') {
    const months = (wall: number) => new Date(wall).getUTCFullYear() * 12 + new Date(wall).getUTCMonth();
    return {
      startOf: (n: number) => zone.toInstant(addMonths(first, n * count)),
      estimate: (instant: number) => Math.floor((months(instant) - months(first)) / count),
    };
  }
  const length = count * { h: hourMs, d: dayMs, w: 7 * dayMs }[unit];
  const begin = zone.toInstant(first);
  return {
    startOf: unit === 'h' ? (n: number) => begin + n * length : (n: number) => zone.toInstant(first + n * length),
    estimate: (instant: number) => Math.floor((instant - begin) / length),
  };
}

function addMonths(wall: number, months: number): number {
  const date = new Date(wall);
  const day = date.getUTCDate();
  const month = date.getUTCMonth() + months;
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), month + 1, 0)).getUTCDate();
  return Date.UTC(date.getUTCFullYear(), month, Math.min(day, lastDay)) + (((wall % dayMs) + dayMs) % dayMs);
}

/** Returns the wall-clock time; undefined if there is no such date. */
export function parseLocalTime(text: string): number | undefined {
  const wall = Date.parse(`${text}:00Z`);
  return new Date(wall || 0).toISOString().startsWith(text) ? wall : undefined;
}

function readWindow({ days, from, until }: NonNullable<Layer['only']>[number]): Window {
  const [begin, end] = [from, until].map(text => {
    const [hours, minutes] = text.split(':').map(Number) as [number, number];
    return hours * hourMs + minutes * 60_000;
  }) as [number, number];
  const numbers = days?.map(day => weekdays.indexOf(day)) ?? weekdays.map((_, i) => i);
  return { days: new Set(numbers), from: begin, until: end > begin ? end : end + dayMs };
}

/** Day 0, 1 January 1970, was a Thursday. */
const weekdayOf = (day: number) => (((day + 3) % 7) + 7) % 7;

function isInside({ days, from, until }: Window, instant: number, zone: Zone): boolean {
  const today = Math.floor((instant + zone.offsetAt(instant)) / dayMs);
  // It may have begun yesterday; or tomorrow, where clocks are set back over midnight.
  for (let day = today - 1; day <= today + 1; day++) {
    const midnight = day * dayMs;
    const canBegin = days.has(weekdayOf(day));
    if (canBegin && zone.toInstant(midnight + from) <= instant && instant < zone.toInstant(midnight + until))
      return true;
  }
  return false;
}

function edgesOf({ days, from, until }: Window, begin: number, end: number, zone: Zone): number[] {
  const edges: number[] = [];
  const last = Math.ceil(end / dayMs) + 1;
  for (let day = Math.floor(begin / dayMs) - 2; day <= last; day++) {
    if (days.has(weekdayOf(day))) edges.push(zone.toInstant(day * dayMs + from), zone.toInstant(day * dayMs + until));
  }
  return edges;
}
