/**
 * Shift-based schedules: rotations whose shifts recur, which are on call together. Whose turn it is when a schedule was changed is
 * decided by the shifts that PagerDuty has computed.
 */
import { type Layer, rotationLimits } from '../../oncall/rotation.ts';
import { dayMs, type Zone, zoneOf } from '../../oncall/zone.ts';
import type { SourceShift } from '../check.ts';
import type { ImportedSchedule } from '../imported.ts';
import { gcd, haveSameClocks, minuteMs, minuteOfWeek, mod } from '../layers.ts';
import { makeUnique, nameOf } from '../names.ts';
import { isoTime } from '../overrides.ts';
import { toWindows, type WeekSpan } from '../windows.ts';
import { keepOverride } from './overrides.ts';
import { indexAt, occurrence, type Recurrence, readRecurrence } from './recurrence.ts';
import type { PagerDutyEvent, PagerDutyMember, PagerDutyShiftSchedule } from './resources.ts';
import { cutSeconds, daily, isAlone, type Turns, toLayers } from './rotations.ts';
import { finish, type ScheduleContext, toExpected } from './schedules.ts';
import { readTimezone } from './time-zones.ts';

/** A year of days. */
const maxShiftsEach = 366;
/** Enough to see whose turn it is. */
const maxComputed = 300;
const [rotating, every] = ['rotating_member_assignment_strategy', 'every_member_assignment_strategy'];

/** Returns undefined if nothing of it can be carried over. */
export function toShiftSchedule(
  schedule: PagerDutyShiftSchedule,
  slug: string,
  context: ScheduleContext,
): ImportedSchedule | undefined {
  const { now, emails, note } = context;
  const subject = `schedule ${schedule.name}`;
  const timezone = readTimezone(schedule.time_zone);
  if (!timezone) {
    note(subject, `its time zone, ${schedule.time_zone ?? '(none)'}, is not known: steps that name it are left out`);
    return undefined;
  }
  const zone = zoneOf(timezone);
  const layers: Layer[] = [];
  let over = 0;
  for (const { id, events } of schedule.rotations) {
    if (events.length === 0) note(`${subject}, rotation ${id}`, 'it has no events');
    const shifts = (schedule.final?.shifts ?? []).filter(shift => shift.rotation === id);
    const computed = toExpected(schedule.final && { ...schedule.final, shifts }, emails)?.shifts ?? [];
    for (const event of events) {
      if (event.effective_until && Date.parse(event.effective_until) <= now) {
        over++;
        continue;
      }
      const made = makeLayers(event, computed, { timezone, zone, now, emails });
      const own = `${subject}, event ${event.name ?? event.id}`;
      if (typeof made === 'string') note(own, `it is left out: ${made}`);
      else {
        layers.push(...made.layers);
        for (const reason of made.notes) note(own, reason);
        if (made.layers.length === 0) over++;
      }
    }
  }
  for (const shift of schedule.custom_shifts) {
    const [since, until] = [Date.parse(shift.start_time), Date.parse(shift.end_time)];
    const own = `${subject}, shift of ${isoTime(since)}`;
    const users = shift.assignments.map(({ member }) => emailOf(member, emails));
    if (until <= now) over++;
    else if (users.length === 0 || users.includes(undefined)) note(own, 'its user is not carried over');
    else {
      const days = Math.max(1, Math.ceil((until - since) / dayMs) + 1);
      const turns = daily(since + zone.offsetAt(since), days, [[...new Set(users as string[])]]);
      if (turns) layers.push(...toLayers('Custom shift', turns, { since, until }, { now, zone }));
      else note(own, 'it is too long');
    }
  }
  if (over > 0) note(subject, `${over} of its events and shifts have ended`);
  const overrides = schedule.overrides.flatMap(one => {
    const [from, until] = [Date.parse(one.start_time), Date.parse(one.end_time)];
    const own = `${subject}, override`;
    const [replaces, user] = [emailOf(one.overridden_member, emails), emailOf(one.overriding_member, emails)];
    if (until > now && !replaces) {
      note(own, `the user who is replaced from ${isoTime(from)} until ${isoTime(until)} is not carried over`);
      return [];
    }
    const id = one.overriding_member.user_id ?? 'no one';
    return keepOverride({ from, until, user, replaces: replaces ?? null }, id, own, slug, context);
  });
  const unique = makeUnique(' ');
  const named = layers.map(layer => ({ ...layer, name: unique(layer.name) }));
  const combine = named.length > 1 ? 'all' : 'cover';
  const expected = toExpected(schedule.final, emails);
  return finish({ slug, name: schedule.name, timezone, layers: named, combine, overrides, expected, subject }, context);
}

interface EventContext {
  timezone: string;
  zone: Zone;
  now: number;
  emails: ReadonlyMap<string, string>;
}

function makeLayers(
  event: PagerDutyEvent,
  computed: readonly SourceShift[],
  { timezone, zone, now, emails }: EventContext,
): { layers: Layer[]; notes: string[] } | string {
  const own = readTimezone(event.start_time.time_zone ?? timezone);
  if (!own || !haveSameClocks(zoneOf(own), zone, now))
    return `its time zone is ${event.start_time.time_zone}, that of the schedule ${timezone}`;
  const [begin, end] = [event.start_time, event.end_time].map(time => {
    const at = cutSeconds(Date.parse(time.date_time));
    return at + zone.offsetAt(at);
  }) as [number, number];
  const length = end - begin;
  if (length <= 0) return 'it does not end after its beginning';
  const rules = event.recurrence.filter(line => !/^(EXDATE|RDATE)/i.test(line));
  if (rules.length !== 1) return `it has ${rules.length} recurrence rules instead of one`;
  const recurrence = readRecurrence(rules[0]!, begin, zone);
  if (typeof recurrence === 'string') return recurrence;
  const notes = event.recurrence.length > 1 ? ['its exceptions (EXDATE, RDATE) are left out: use `belfry cover`'] : [];
  const since = cutSeconds(Date.parse(event.effective_since));
  const until = event.effective_until ? cutSeconds(Date.parse(event.effective_until)) : Number.POSITIVE_INFINITY;
  const inSpan = computed.filter(shift => shift.until > since && shift.from < until);
  const members = readMembers(event, emails);
  if (typeof members === 'string') return members;
  const phase = findPhase({ recurrence, length, ...members, computed: inSpan, since, zone });
  const series = toTurns({ recurrence, length, ...members, phase });
  if (typeof series === 'string') return series;
  const name = nameOf(event.name ?? '', 'Event');
  const layers: Layer[] = [];
  for (const { turns, spans, lastStart } of series) {
    const windows = spans && toWindows(spans);
    if (windows && windows.length > rotationLimits.windows) return 'it has too many times of the week';
    const ends = Number.isFinite(lastStart) ? zone.toInstant(lastStart + length) : Number.POSITIVE_INFINITY;
    // Before its first shift, no one is on call.
    const from = Math.max(since, zone.toInstant(recurrence.base));
    layers.push(...toLayers(name, { ...turns, only: windows, until: ends }, { since: from, until }, { now, zone }));
  }
  return { layers, notes };
}

interface Members {
  /** Who is on call together, in their order. */
  members: string[][];
  shiftsEach: number;
}

function readMembers(
  { assignment_strategy: { type, members, shifts_per_member } }: PagerDutyEvent,
  emails: ReadonlyMap<string, string>,
): Members | string {
  if (type !== rotating && type !== every) return `it is assigned by ${type}, which is not known`;
  const taken = type === every ? members.filter(one => one.type !== 'empty_member') : members;
  if (taken.length === 0) return 'it has no members';
  if (taken.some(one => one.type === 'empty_member')) return 'some of its shifts are empty: layers have no empty turns';
  const found = taken.map(member => emailOf(member, emails));
  if (found.includes(undefined)) return 'one of its members is no user who still exists and has an email';
  const users = found as string[];
  if (type === every) {
    const together = [...new Set(users)];
    if (together.length > rotationLimits.together)
      return `more than ${rotationLimits.together} users are on call together`;
    return { members: [together], shiftsEach: 1 };
  }
  const shiftsEach = shifts_per_member ?? 1;
  if (!Number.isInteger(shiftsEach) || shiftsEach < 1 || shiftsEach > maxShiftsEach)
    return 'the number of shifts per member is wrong';
  return { members: users.map(user => [user]), shiftsEach };
}

function emailOf(member: PagerDutyMember, emails: ReadonlyMap<string, string>): string | undefined {
  return member.type === 'user_member' ? emails.get(member.user_id ?? '') : undefined;
}

interface Counted extends Members {
  recurrence: Recurrence;
  length: number;
  computed: readonly SourceShift[];
  since: number;
  zone: Zone;
}

/** Returns how many shifts the rotation is ahead of its first one: shift n is that of member (n + phase) / shifts. */
function findPhase({ recurrence, length, members, shiftsEach, computed, since, zone }: Counted): number {
  const cycle = members.length * shiftsEach;
  // Without computed shifts: the first member has the first one that has not ended before.
  const first = indexAt(recurrence, since + zone.offsetAt(since) - length) + 1;
  const usual = mod(-Math.max(0, first), cycle);
  const found = computed
    .slice(0, maxComputed)
    .map(({ user, from }) => ({ user, n: indexAt(recurrence, from + zone.offsetAt(from)) }));
  let [best, most] = [usual, -1];
  for (let i = 0; i < cycle; i++) {
    const phase = (usual + i) % cycle;
    const fits = found.filter(({ user, n }) => memberAt(members, shiftsEach, n + phase).includes(user)).length;
    if (fits > most) [best, most] = [phase, fits];
  }
  return best;
}

const memberAt = (members: readonly string[][], shiftsEach: number, n: number) =>
  members[mod(Math.floor(n / shiftsEach), members.length)]!;

interface Series {
  turns: Turns;
  spans: WeekSpan[] | undefined;
  /** When its last shift begins, in local time. */
  lastStart: number;
}

interface Shifts extends Members {
  recurrence: Recurrence;
  length: number;
  phase: number;
}

function toTurns({ recurrence, length, members, shiftsEach, phase }: Shifts): Series[] | string {
  const { periodDays, offsets, last } = recurrence;
  const count = offsets.length;
  const gaps = offsets.map((offset, i) => ((offsets[i + 1] ?? periodDays + offsets[0]!) - offset) * dayMs);
  const [shortest, longest] = [Math.min(...gaps), Math.max(...gaps)];
  const alone = isAlone(members);
  const isWhole = length >= longest && (alone || length === shortest);
  if (!isWhole && periodDays !== 1 && periodDays !== 7)
    return `it leaves a part of each ${periodDays} days empty: layers have no empty turns`;
  const lastStart = Number.isFinite(last) ? occurrence(recurrence, last) : Number.POSITIVE_INFINITY;
  const spanOf = (n: number): WeekSpan[] => {
    const wall = occurrence(recurrence, n);
    const minutes = Math.min(length / minuteMs, 7 * 1_440);
    if (periodDays === 7) return [{ start: minuteOfWeek(wall), minutes }];
    return Array.from({ length: 7 }, (_, day) => ({ start: minuteOfWeek(wall + day * dayMs), minutes }));
  };
  const spans = isWhole ? undefined : offsets.flatMap((_, n) => spanOf(n));
  if (alone) return [{ turns: daily(recurrence.base, 1, members.slice(0, 1))!, spans, lastStart }];
  if (length <= shortest && shiftsEach % count === 0) {
    const days = (shiftsEach / count) * periodDays;
    const turns = daily(occurrence(recurrence, -phase), days, members);
    return turns ? [{ turns, spans, lastStart }] : `its turns of ${days} days are too long`;
  }
  if (periodDays !== 7 || length > 7 * dayMs) return 'its shifts overlap: each lasts longer than its interval';
  // The turns change within the week: each of its days becomes a layer in which a turn is a week.
  const cycle = members.length * shiftsEach;
  const weeks = cycle / gcd(cycle, count);
  if (weeks > rotationLimits.turns) return `it repeats only after ${weeks} weeks`;
  return offsets.flatMap((_, day) => {
    if (day > last) return [];
    const users = Array.from({ length: weeks }, (_each, week) =>
      memberAt(members, shiftsEach, day + week * count + phase),
    );
    const final = Number.isFinite(last) ? occurrence(recurrence, last - mod(last - day, count)) : last;
    return { turns: daily(occurrence(recurrence, day), 7, users)!, spans: spanOf(day), lastStart: final };
  });
}
