/**
 * Instants and the wall clock of a time zone, both in milliseconds: a wall-clock time is written as the instant at which a clock in
 * UTC shows it. The changes of a zone are looked up once per year, so that a shift is decided in a microsecond instead of a hundred.
 */
import { Temporal } from 'temporal-polyfill';

export const dayMs = 86_400_000;
export const hourMs = 3_600_000;

export interface Zone {
  /** What has to be added to an instant to get the wall-clock time. */
  offsetAt(instant: number): number;
  /** A time that the clocks skip is the moment at which they do; of one that they show twice, the first counts. */
  toInstant(wall: number): number;
}

interface Year {
  /** At its beginning in UTC. */
  offset: number;
  changes: { at: number; before: number; after: number }[];
}

const zones = new Map<string, Zone>();
const maxZones = 1_000;

/** Returns the zone of an IANA name. */
export function zoneOf(timezone: string): Zone {
  let zone = zones.get(timezone);
  if (!zone) {
    if (zones.size >= maxZones) zones.clear();
    zone = makeZone(timezone);
    zones.set(timezone, zone);
  }
  return zone;
}

function makeZone(timezone: string): Zone {
  const years = new Map<number, Year>();
  const yearOf = (instant: number): Year => {
    const number = new Date(instant).getUTCFullYear();
    let year = years.get(number);
    if (!year) {
      year = readYear(timezone, number);
      years.set(number, year);
    }
    return year;
  };
  const offsetAt = (instant: number): number => {
    const { offset, changes } = yearOf(instant);
    let found = offset;
    for (const { at, after } of changes) if (at <= instant) found = after;
    return found;
  };
  // No clock differs from UTC by more.
  const margin = 1.5 * dayMs;
  return {
    offsetAt,
    toInstant(wall) {
      const [first, last] = [offsetAt(wall - margin), offsetAt(wall + margin)];
      if (first === last) return wall - first;
      const changes = [wall - margin, wall + margin]
        .flatMap(instant => yearOf(instant).changes)
        .filter(({ at }) => Math.abs(at - wall) <= margin);
      const instants = [first, ...changes.map(({ after }) => after)]
        .map(offset => wall - offset)
        .filter(instant => instant + offsetAt(instant) === wall);
      if (instants.length > 0) return Math.min(...instants);
      return changes.find(({ at, before, after }) => wall >= at + before && wall < at + after)!.at;
    },
  };
}

function readYear(timezone: string, number: number): Year {
  const end = Date.UTC(number + 1, 0, 1);
  const start = Temporal.Instant.fromEpochMilliseconds(Date.UTC(number, 0, 1)).toZonedDateTimeISO(timezone);
  const year: Year = { offset: offsetOf(start), changes: [] };
  let before = year.offset;
  for (
    let change = start.getTimeZoneTransition('next');
    change && change.epochMilliseconds < end;
    change = change.getTimeZoneTransition('next')
  ) {
    const after = offsetOf(change);
    year.changes.push({ at: change.epochMilliseconds, before, after });
    before = after;
  }
  return year;
}

function offsetOf(time: Temporal.ZonedDateTime): number {
  return time.offsetNanoseconds / 1_000_000;
}
