/**
 * Finds absences in an iCalendar file (RFC 5545). Times are wall-clock times until they are converted, because a repeated event keeps its
 * local time when the clocks change. Runs in a thread that is stopped if it takes too long: see services/audience/on-call/calendars/.
 */
import ICAL from 'ical.js';
import { isTimezone } from '../../decision/quiet-hours.ts';
import { limits } from '../../text/text.ts';
import { dayMs, zoneOf } from '../zone.ts';
import { calendarLimits, foldTitle } from './calendar.ts';

export interface CalendarToRead {
  text: string;
  /** Of all-day events, and of times without a zone. */
  timezone: string;
  words: readonly string[];
  now: number;
}

/** Times are instants in milliseconds. */
export interface FoundAbsence {
  from: number;
  until: number;
  /** Title of the event. Null: it has none, or is private. */
  reason: string | null;
}

export interface CalendarContent {
  absences: FoundAbsence[];
  events: number;
  /** Events that could not be read. */
  skipped: number;
  /** There are more absences. */
  isCut: boolean;
}

export class NoCalendarError extends Error {}

/** Steps of repeated events, of one and of all: one takes about 20 µs. */
const maxSteps = { event: 10_000, all: 50_000 };
const maxInterval = 5_000;
/** No zone differs from another by more. */
const zoneMarginMs = 2 * dayMs;
/** Absences that began earlier or end later are cut, so that any year can be stored. */
const maxSpanDays = 366;

interface Moment {
  /** As a clock in UTC would show it. */
  wall: number;
  isDate: boolean;
  /** `UTC`, another name, or undefined: floating. */
  zone: string | undefined;
}

interface Span {
  from: number;
  until: number;
}

/** Throws NoCalendarError. What the file contains is in no message. */
export function readCalendar(calendar: CalendarToRead): CalendarContent {
  const parsed = parseEvents(calendar.text);
  const events = parsed.filter(event => event !== undefined);
  const search = new Search(calendar, parsed.length - events.length);
  for (const [, series] of Map.groupBy(events, event => event.getFirstPropertyValue('uid') ?? event)) {
    search.addSeries(series);
  }
  return search.finish(parsed.length);
}

/** Returns the events, each parsed alone: one that is damaged does not hide the others. Undefined: it is damaged. */
function parseEvents(text: string): (ICAL.Component | undefined)[] {
  const lines = text.split(/\r\n|\r|\n/);
  if (!/^\s*BEGIN:VCALENDAR/i.test(text)) throw new NoCalendarError('it is not an iCalendar file');
  if (!/^END:VCALENDAR\s*$/i.test(lines.findLast(line => line.trim() !== '') ?? ''))
    throw new NoCalendarError('the iCalendar file has no end');
  const calendar = new ICAL.Component('vcalendar');
  const add = (block: string): ICAL.Component | undefined => {
    try {
      return calendar.addSubcomponent(new ICAL.Component(ICAL.parse(block) as never));
    } catch {
      return undefined;
    }
  };
  for (const block of blocksOf(lines, 'VTIMEZONE')) add(block);
  return [...blocksOf(lines, 'VEVENT')].map(add);
}

function* blocksOf(lines: readonly string[], name: string): Generator<string> {
  const [begin, end] = ['BEGIN', 'END'].map(edge => `${edge}:${name}`) as [string, string];
  let start: number | undefined;
  for (const [i, line] of lines.entries()) {
    const edge = line.trimEnd().toUpperCase();
    if (edge === begin) start = i;
    if (edge !== end || start === undefined) continue;
    yield lines.slice(start, i + 1).join('\r\n');
    start = undefined;
  }
}

class Search {
  readonly #calendar: CalendarToRead;
  readonly #words: readonly string[];
  readonly #window: Span;
  readonly #found = new Map<string, FoundAbsence>();
  readonly #zones = new Map<string, (wall: number) => number>();
  #steps = 0;
  #skipped: number;
  #isCut = false;

  constructor(calendar: CalendarToRead, skipped: number) {
    this.#skipped = skipped;
    const { now, words } = calendar;
    this.#calendar = calendar;
    this.#words = words.map(foldTitle);
    this.#window = { from: now - calendarLimits.pastDays * dayMs, until: now + calendarLimits.aheadDays * dayMs };
  }

  /** Adds events with the same id: an event, and the times of it that were changed. */
  addSeries(series: readonly ICAL.Component[]): void {
    const changed: Moment[] = [];
    for (const event of series) {
      this.#unlessUnreadable(() => {
        const at = readMoment(event.getFirstProperty('recurrence-id'));
        if (at) changed.push(at);
      });
    }
    for (const event of series) this.#unlessUnreadable(() => this.#addEvent(event, changed));
  }

  finish(events: number): CalendarContent {
    const sorted = [...this.#found.values()].sort((a, b) => a.from - b.from || a.until - b.until);
    const isCut = this.#isCut || sorted.length > calendarLimits.absences;
    return { absences: sorted.slice(0, calendarLimits.absences), events, skipped: this.#skipped, isCut };
  }

  #unlessUnreadable(read: () => void): void {
    try {
      read();
    } catch {
      this.#skipped++;
    }
  }

  #addEvent(event: ICAL.Component, changed: readonly Moment[]): void {
    const start = readMoment(event.getFirstProperty('dtstart'));
    if (!start) throw new Error('an event without a beginning');
    if (!this.#isAbsence(event, start)) return;
    const zone = this.#zoneOf(event, start.zone);
    const lengthMs = readLength(event, start, moment => this.#instantOf(event, moment));
    if (lengthMs <= 0) return;
    const reason = readReason(event);
    const add = (wall: number) => {
      const from = zone(wall);
      // A day is as long as it is where the user is.
      this.#add({ from, until: start.isDate ? zone(wall + lengthMs) : from + lengthMs, reason });
    };
    const rules = event.getAllProperties('rrule');
    const dates = event.getAllProperties('rdate');
    if (event.hasProperty('recurrence-id') || rules.length + dates.length === 0) {
      add(start.wall);
      return;
    }
    const without = this.#listExceptions(event, start, changed);
    const walls = new Set([start.wall]);
    for (const property of dates) {
      for (const moment of readMoments(property)) {
        walls.add(moment.zone === start.zone ? moment.wall : this.#wallOf(zone, this.#instantOf(event, moment)));
      }
    }
    for (const wall of walls) if (!without(wall)) add(wall);
    for (const rule of rules) {
      for (const wall of this.#repeat(rule.getFirstValue() as ICAL.Recur, start, zone, lengthMs)) {
        if (!walls.has(wall) && !without(wall)) add(wall);
        if (this.#isCut) return;
      }
    }
  }

  #add({ from, until, reason }: FoundAbsence): void {
    if (until <= this.#window.from || from >= this.#window.until || until <= from) return;
    if (this.#found.size >= calendarLimits.occurrences) this.#isCut = true;
    if (this.#isCut) return;
    const edge = maxSpanDays * dayMs;
    const absence = {
      from: Math.max(from, this.#window.from - edge),
      until: Math.min(until, this.#window.until + edge),
      reason,
    };
    this.#found.set(JSON.stringify(absence), absence);
  }

  /** Whether an event counts: with words, by its title alone, unless it was cancelled. */
  #isAbsence(event: ICAL.Component, start: Moment): boolean {
    const textOf = (name: string) => String(event.getFirstPropertyValue(name) ?? '').toUpperCase();
    if (textOf('status') === 'CANCELLED') return false;
    if (this.#words.length > 0) {
      const title = foldTitle(String(event.getFirstPropertyValue('summary') ?? ''));
      return this.#words.some(word => title.includes(word));
    }
    if (textOf('transp') === 'TRANSPARENT') return false;
    const busy = textOf('x-microsoft-cdo-busystatus');
    const isAllDay = start.isDate || textOf('x-microsoft-cdo-alldayevent') === 'TRUE';
    return busy === 'OOF' || (isAllDay && (busy === '' || busy === 'BUSY'));
  }

  /** Returns whether a time of a repeated event is left out, or another event has taken its place. */
  #listExceptions(event: ICAL.Component, start: Moment, changed: readonly Moment[]): (wall: number) => boolean {
    const zone = this.#zoneOf(event, start.zone);
    const excluded = event.getAllProperties('exdate').flatMap(readMoments);
    const [walls, days] = [new Set<number>(), new Set<number>()];
    for (const moment of [...excluded, ...changed]) {
      if (moment.isDate && !start.isDate) days.add(moment.wall);
      else if (moment.zone === start.zone) walls.add(moment.wall);
      else walls.add(this.#wallOf(zone, this.#instantOf(event, moment)));
    }
    return wall => walls.has(wall) || days.has(wall - (((wall % dayMs) + dayMs) % dayMs));
  }

  /** Yields the times of a rule that matter. Whatever the rule is, it takes a limited number of steps. */
  *#repeat(rule: ICAL.Recur, start: Moment, zone: (wall: number) => number, lengthMs: number): Generator<number> {
    // What repeats more often than every day is no absence.
    if (/^(HOURLY|MINUTELY|SECONDLY)$/.test(rule.freq)) throw new Error('repeats too often');
    // The library counts each day of an interval.
    if (rule.interval > maxInterval) throw new Error('repeats too rarely');
    const end = this.#window.until + zoneMarginMs;
    let last = end;
    if (rule.until) {
      const until = momentOf(rule.until);
      if (until.isDate && !start.isDate) last = until.wall + dayMs - 1;
      else last = until.zone === 'UTC' && start.zone !== 'UTC' ? this.#wallOf(zone, until.wall) : until.wall;
    }
    // Without an end, the library would look for a year that fits until 20000.
    rule.until = timeOf(Math.min(last, end));
    if (start.wall > Math.min(last, end)) return;
    let steps = 0;
    const step = () => {
      if (++steps > maxSteps.event || ++this.#steps > maxSteps.all) throw new Error('takes too many steps');
    };
    const times = rule.iterator(timeOf(this.#skipPast(rule, start.wall, lengthMs)));
    // A rule that nothing fulfils, such as the 30th of February, makes the library look forever.
    const isFit = times.check_contracting_rules.bind(times);
    times.check_contracting_rules = () => {
      step();
      return isFit() || wallOf(times.last) > end;
    };
    for (let time = times.next(); time; time = times.next()) {
      step();
      const wall = wallOf(time);
      if (wall > end) return;
      if (wall + lengthMs > this.#window.from - zoneMarginMs) yield wall;
    }
  }

  /** Returns a later beginning, from which a rule continues in the same way: a step for each day of many years takes long. */
  #skipPast(rule: ICAL.Recur, wall: number, lengthMs: number): number {
    const days = { DAILY: 1, WEEKLY: 7 }[rule.freq as string];
    const until = this.#window.from - lengthMs - 2 * zoneMarginMs;
    if (days === undefined || rule.count || wall >= until) return wall;
    const turnMs = days * rule.interval * dayMs;
    return wall + Math.floor((until - wall) / turnMs) * turnMs;
  }

  #instantOf(event: ICAL.Component, { wall, zone }: Moment): number {
    return this.#zoneOf(event, zone)(wall);
  }

  /** Returns the wall-clock time in a zone, by the two offsets that it can have then. */
  #wallOf(zone: (wall: number) => number, instant: number): number {
    const guess = instant + (instant - zone(instant));
    return guess + (instant - zone(guess));
  }

  /** Returns the function that converts wall-clock times of a zone: an IANA name, else what the file says about it. */
  #zoneOf(event: ICAL.Component, name: string | undefined): (wall: number) => number {
    const known = this.#zones.get(name ?? '');
    if (known) return known;
    const iana = findZoneName(name);
    const own = iana ?? (name === undefined ? undefined : event.getTimeZoneByID(name));
    const zone = zoneOf(iana ?? this.#calendar.timezone);
    const toInstant =
      own && typeof own !== 'string'
        ? (wall: number) => wall - own.utcOffset(timeOf(wall)) * 1_000
        : (wall: number) => zone.toInstant(wall);
    this.#zones.set(name ?? '', toInstant);
    return toInstant;
  }
}

/** Some programs prefix names: `/example.org/20190914/Europe/Berlin`. */
function findZoneName(name: string | undefined): string | undefined {
  const parts = name?.split('/') ?? [];
  const candidates = [name, ...[3, 2].map(count => parts.slice(-count).join('/'))];
  return candidates.find(one => one !== undefined && one.length <= 100 && /^[A-Za-z]/.test(one) && isTimezone(one));
}

function readReason(event: ICAL.Component): string | null {
  if (/^(PRIVATE|CONFIDENTIAL)$/i.test(String(event.getFirstPropertyValue('class') ?? ''))) return null;
  const title = String(event.getFirstPropertyValue('summary') ?? '');
  // A cut may leave half a character.
  const clean = title
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, limits.reason)
    .toWellFormed();
  return clean.trim() || null;
}

/** Returns how long an event takes: of an all-day one, in whole days of the wall clock. */
function readLength(event: ICAL.Component, start: Moment, instantOf: (moment: Moment) => number): number {
  const end = readMoment(event.getFirstProperty('dtend'));
  if (end) return start.isDate ? end.wall - start.wall : instantOf(end) - instantOf(start);
  const duration = event.getFirstPropertyValue('duration') as ICAL.Duration | null;
  if (duration) return duration.toSeconds() * 1_000;
  return start.isDate ? dayMs : 0;
}

function readMoment(property: ICAL.Property | null): Moment | undefined {
  return property ? readMoments(property)[0] : undefined;
}

function readMoments(property: ICAL.Property): Moment[] {
  const zone = property.getFirstParameter('tzid');
  return (property.getValues() as (ICAL.Time | ICAL.Period)[]).map(value =>
    momentOf('start' in value ? value.start : value, zone),
  );
}

function momentOf(time: ICAL.Time, zone?: string): Moment {
  const wall = wallOf(time);
  if (Number.isNaN(wall)) throw new Error('an invalid time');
  const isUtc = time.zone === ICAL.Timezone.utcTimezone;
  return { wall, isDate: time.isDate, zone: time.isDate ? undefined : isUtc ? 'UTC' : zone };
}

function wallOf({ year, month, day, hour, minute, second }: ICAL.Time): number {
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/** Returns a time without a zone, with which the library computes as with numbers. */
function timeOf(wall: number): ICAL.Time {
  const at = new Date(wall);
  return new ICAL.Time(
    {
      year: at.getUTCFullYear(),
      month: at.getUTCMonth() + 1,
      day: at.getUTCDate(),
      hour: at.getUTCHours(),
      minute: at.getUTCMinutes(),
      second: at.getUTCSeconds(),
      isDate: false,
    },
    ICAL.Timezone.localTimezone,
  );
}
