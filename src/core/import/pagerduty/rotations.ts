/** Turns of PagerDuty as layers: where a layer begins or ends in the middle of a turn, its first turn becomes a layer too. */
import { type Layer, rotationLimits } from '../../oncall/rotation.ts';
import { dayMs, hourMs, type Zone } from '../../oncall/zone.ts';
import { gcd, localTime, minuteMs, mod, toUsers } from '../layers.ts';
import { dayMinutes, everyDay, type WeekSpan, type Windows } from '../windows.ts';

const weekMinutes = 7 * dayMinutes;
const maxCount = 999;

export interface Turns {
  every: string;
  lengthMs: number;
  /** When turn n begins, in local time; n may be negative. */
  startOf(n: number): number;
  /** Turn n is that of `users[n modulo its length]`. */
  users: string[][];
  only?: Windows | undefined;
  /** The turns end at this instant. */
  until?: number;
}

export interface Span {
  since: number;
  until: number;
}

/** Returns the layers of the turns within a span of instants; none if it is over. */
export function toLayers(name: string, turns: Turns, span: Span, { now, zone }: { now: number; zone: Zone }): Layer[] {
  const until = Math.min(span.until, turns.until ?? Number.POSITIVE_INFINITY);
  const { startOf, lengthMs, users, every, only } = turns;
  const startAt = (n: number) => zone.toInstant(startOf(n));
  const { since } = span;
  if (until <= now || until <= since) return [];
  let n = Math.floor((since + zone.offsetAt(since) - startOf(0)) / lengthMs);
  while (startAt(n) > since) n--;
  while (startAt(n + 1) <= since) n++;
  const make = (first: number, from: number, end: number): Layer[] => {
    const ends = end === Number.POSITIVE_INFINITY ? undefined : localTime(end + zone.offsetAt(end));
    const begins = localTime(from);
    if (ends !== undefined && ends <= begins) return [];
    const rotated = users.map((_, i) => users[mod(first + i, users.length)]!);
    return [
      { name, every, from: begins, ...(ends && { until: ends }), users: toUsers(rotated), ...(only && { only }) },
    ];
  };
  if (since <= now || startAt(n) === since) return make(n, startOf(n), until);
  // The first turn begins late.
  const rest = startAt(n + 1);
  const begins = since + zone.offsetAt(since);
  const partial = make(n, begins, Math.min(until, rest)).map(layer => ({ ...layer, users: layer.users.slice(0, 1) }));
  // So long that it has no second one.
  const alone = partial.map(layer => ({ ...layer, every: `${Math.min(maxCount, Math.ceil(lengthMs / dayMs) + 1)}d` }));
  return [...alone, ...(rest < until ? make(n + 1, startOf(n + 1), until) : [])];
}

/** Turns of so many days, at the same local time. */
export function daily(first: number, days: number, users: string[][]): Turns | undefined {
  const weeks = days / 7;
  const every =
    Number.isInteger(weeks) && weeks <= maxCount
      ? `${weeks}w`
      : days <= maxCount && Number.isInteger(days)
        ? `${days}d`
        : undefined;
  return every === undefined
    ? undefined
    : { every, lengthMs: days * dayMs, startOf: n => first + n * days * dayMs, users };
}

/** Turns of so many elapsed hours. */
export function hourly(begin: number, lengthMs: number, users: string[][], zone: Zone): Turns | undefined {
  const hours = lengthMs / hourMs;
  if (!Number.isInteger(hours) || hours > maxCount) return undefined;
  const startOf = (n: number) => {
    const instant = begin + n * lengthMs;
    return instant + zone.offsetAt(instant);
  };
  return { every: `${hours}h`, lengthMs, startOf, users };
}

/** Turns of a part of a day, at the same local times: one series of turns for each part. */
export function parts(
  first: number,
  lengthMs: number,
  users: string[][],
  only: WeekSpan[] | undefined,
): PartTurns[] | undefined {
  const count = dayMs / lengthMs;
  if (!Number.isInteger(count) || count > rotationLimits.layers || lengthMs % minuteMs !== 0) return undefined;
  const turns = users.length / gcd(count, users.length);
  return Array.from({ length: count }, (_, part) => {
    const from = first + part * lengthMs;
    const own = Array.from({ length: turns }, (_each, day) => users[(part + day * count) % users.length]!);
    const span = everyDay(Math.floor(mod(from, dayMs) / minuteMs), lengthMs / minuteMs);
    const turn = daily(from, 1, own)!;
    return { turns: turn, spans: only ? intersect(span, only) : span };
  });
}

export interface PartTurns {
  turns: Turns;
  /** Empty: none of it is left. */
  spans: WeekSpan[];
}

function intersect(some: readonly WeekSpan[], others: readonly WeekSpan[]): WeekSpan[] {
  const shifts = [-weekMinutes, 0, weekMinutes];
  return some.flatMap(a =>
    others.flatMap(b =>
      shifts.flatMap(shift => {
        const start = Math.max(a.start, b.start + shift);
        const end = Math.min(a.start + a.minutes, b.start + shift + b.minutes);
        return end > start ? [{ start: mod(start, weekMinutes), minutes: end - start }] : [];
      }),
    ),
  );
}

/** Whether the clocks of the zone do not change in the next two years. */
export function isFixed(zone: Zone, now: number): boolean {
  return Array.from({ length: 730 }, (_, day) => now + day * dayMs).every(
    at => zone.offsetAt(at) === zone.offsetAt(now),
  );
}

export const cutSeconds = (at: number) => Math.floor(at / minuteMs) * minuteMs;
/** Whether it is the same user in all turns. */
export const isAlone = (users: readonly string[][]) => users.every(turn => turn.join('\n') === users[0]!.join('\n'));
