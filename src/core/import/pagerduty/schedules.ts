/**
 * Schedules of layers. What their description leaves open is decided by the shifts that PagerDuty has computed: whether its list begins
 * with the upper layer, and whether turns that are no whole days follow the clocks when they change.
 */
import { type Layer, rotationLimits } from '../../oncall/rotation.ts';
import { compileSchedule } from '../../oncall/schedule.ts';
import { dayMs, type Zone, zoneOf } from '../../oncall/zone.ts';
import { compareShifts, type SourceShift } from '../check.ts';
import type { AddNote, ImportedSchedule, ImportOptions } from '../imported.ts';
import { minuteMs, refuseLayers, weekMs } from '../layers.ts';
import { makeUnique, nameOf } from '../names.ts';
import type { NewOverride } from '../overrides.ts';
import { dayMinutes, everyDay, toWindows, type WeekSpan } from '../windows.ts';
import { keepOverride } from './overrides.ts';
import type { PagerDutyFinal, PagerDutyLayer, PagerDutyRestriction, PagerDutySchedule } from './resources.ts';
import { cutSeconds, daily, hourly, isAlone, isFixed, parts, type Span, type Turns, toLayers } from './rotations.ts';
import { readTimezone } from './time-zones.ts';

export interface ScheduleContext extends ImportOptions {
  /** Emails of users by id. */
  emails: ReadonlyMap<string, string>;
  note: AddNote;
}

/** What turns follow that are no whole days. */
type Clock = 'local' | 'elapsed';

interface Made {
  layers: Layer[];
  notes: string[];
}

/** Returns undefined if nothing of it can be carried over. */
export function toSchedule(
  schedule: PagerDutySchedule,
  slug: string,
  context: ScheduleContext,
): ImportedSchedule | undefined {
  const subject = `schedule ${schedule.name}`;
  const timezone = readTimezone(schedule.time_zone);
  if (!timezone) {
    context.note(
      subject,
      `its time zone, ${schedule.time_zone ?? '(none)'}, is not known: steps that name it are left out`,
    );
    return undefined;
  }
  const { now } = context;
  const live = schedule.schedule_layers.filter(({ end }) => !end || Date.parse(end) > now);
  const over = schedule.schedule_layers.length - live.length;
  if (over > 0) context.note(subject, `${over} of its layers have ended`);
  const overrides = schedule.overrides.flatMap(one => {
    const user = context.emails.get(one.user.id);
    const times = { from: Date.parse(one.start), until: Date.parse(one.end) };
    return keepOverride({ ...times, user, replaces: null }, one.user.id, `${subject}, override`, slug, context);
  });
  const expected = toExpected(schedule.final, context.emails);
  const { made, isUpward } = decide(live, timezone, overrides, expected, context);
  for (const { layer, notes } of made) {
    for (const reason of notes) context.note(`${subject}, layer ${layer.name ?? layer.id}`, reason);
  }
  const unique = makeUnique(' ');
  const ordered = isUpward ? made : made.toReversed();
  const layers = ordered.flatMap(one => one.layers.map(layer => ({ ...layer, name: unique(layer.name) })));
  return finish(
    { slug, name: schedule.name, timezone, layers, combine: 'cover', overrides, expected, subject },
    context,
  );
}

interface Finished {
  slug: string;
  name: string;
  timezone: string;
  layers: Layer[];
  combine: 'cover' | 'all';
  overrides: NewOverride[];
  expected: ImportedSchedule['expected'];
  subject: string;
}

export function finish(
  { slug, name, timezone, layers, combine, overrides, expected, subject }: Finished,
  { note }: ScheduleContext,
): ImportedSchedule | undefined {
  const problem = refuseLayers(layers);
  if (problem) {
    note(subject, `${problem}: steps that name it are left out`);
    return undefined;
  }
  return {
    entry: { slug, name: nameOf(name, slug), timezone, ...(combine === 'all' && { combine }), layers },
    overrides: overrides.map((override, id) => ({ ...override, id })),
    expected,
  };
}

export function toExpected(
  final: PagerDutyFinal | undefined,
  emails: ReadonlyMap<string, string>,
): ImportedSchedule['expected'] {
  if (!final) return undefined;
  const [from, until] = [Date.parse(final.from), Date.parse(final.until)];
  const shifts = final.shifts.map((shift): SourceShift => {
    const end = shift.until ? Date.parse(shift.until) : until;
    return { user: emails.get(shift.user) ?? shift.user, from: Date.parse(shift.from), until: end };
  });
  return { from, until, shifts };
}

/** Tries what is possible, the usual first, and keeps what differs for the shortest time from what PagerDuty has computed. */
function decide(
  live: readonly PagerDutyLayer[],
  timezone: string,
  overrides: NewOverride[],
  expected: ImportedSchedule['expected'],
  context: ScheduleContext,
) {
  const zone = zoneOf(timezone);
  const numbered = overrides.map((override, id) => ({ ...override, id }));
  const clocks: Clock[] = isFixed(zone, context.now) ? ['elapsed'] : ['local', 'elapsed'];
  const choices = clocks.flatMap(clock => {
    const made = live.map(layer => ({ layer, ...makeLayer(layer, clock, zone, context) }));
    return [false, true].map(isUpward => ({ made, isUpward }));
  });
  let [best, least] = [choices[0]!, Number.POSITIVE_INFINITY];
  for (const choice of expected ? choices : []) {
    const ordered = choice.isUpward ? choice.made : choice.made.toReversed();
    const layers = ordered.flatMap(one => one.layers).map((layer, i) => ({ ...layer, name: String(i) }));
    const compiled = compileSchedule({ timezone, layers, combine: 'cover' }, numbered);
    const { shifts, from, until } = expected!;
    const found = compareShifts(compiled, shifts, from, until);
    const time = found.reduce((sum, one) => sum + one.until - one.from, 0);
    if (time < least) [best, least] = [choice, time];
  }
  return best;
}

function makeLayer(layer: PagerDutyLayer, clock: Clock, zone: Zone, { emails, now }: ScheduleContext): Made {
  const refuse = (reason: string): Made => ({ layers: [], notes: [`it is left out: ${reason}`] });
  const found = layer.users.map(({ user }) => emails.get(user.id));
  if (found.length === 0) return refuse('it has no users');
  if (found.includes(undefined)) return refuse('one of its turns has no user who still exists and has an email');
  if (found.length > rotationLimits.turns) return refuse(`it has more than ${rotationLimits.turns} turns`);
  const lengthMs = layer.rotation_turn_length_seconds * 1_000;
  if (!Number.isInteger(lengthMs) || lengthMs <= 0) return refuse('the length of its turns is not positive');
  const only = readRestrictions(layer.restrictions ?? []);
  if (typeof only === 'string') return refuse(only);
  const notes: string[] = [];
  const times = [layer.start, layer.rotation_virtual_start, ...(layer.end ? [layer.end] : [])].map(Date.parse);
  const hasSeconds =
    times.some(at => at % minuteMs !== 0) ||
    (layer.restrictions ?? []).some(one => !/:00$/.test(one.start_time_of_day));
  if (hasSeconds) notes.push('its times have seconds, which are cut off');
  const [since, begin, until = Number.POSITIVE_INFINITY] = times.map(cutSeconds) as [number, number, number?];
  const isRepeated = (at: number) => Number.isFinite(at) && at > now && zone.toInstant(at + zone.offsetAt(at)) !== at;
  if ([since, until].some(isRepeated))
    notes.push('it begins or ends in an hour that the clocks show twice: here it is the first one');
  const users = found.map(email => [email!]);
  const made = toTurns({ begin, lengthMs, users, only, clock, zone });
  if (typeof made === 'string') return refuse(made);
  const span: Span = { since, until };
  const layers: Layer[] = [];
  for (const { turns, spans } of made.series) {
    const windows = spans && toWindows(spans);
    if (spans?.length === 0) continue;
    if (windows && windows.length > rotationLimits.windows)
      return refuse(`it is restricted to more than ${rotationLimits.windows} times of the week`);
    layers.push(...toLayers(nameOf(layer.name ?? '', 'Layer'), { ...turns, only: windows }, span, { now, zone }));
  }
  return { layers, notes: made.note ? [...notes, made.note] : notes };
}

interface Rotation {
  begin: number;
  lengthMs: number;
  users: string[][];
  only: WeekSpan[] | undefined;
  clock: Clock;
  zone: Zone;
}

interface Series {
  turns: Turns;
  spans: WeekSpan[] | undefined;
}

/** Returns the reason if there are no such turns here. */
function toTurns({
  begin,
  lengthMs,
  users,
  only,
  clock,
  zone,
}: Rotation): { series: Series[]; note?: string } | string {
  const first = begin + zone.offsetAt(begin);
  const one = (turns: Turns) => ({ series: [{ turns, spans: only }] });
  if (isAlone(users)) return one(daily(first, 1, users.slice(0, 1))!);
  const local = lengthMs % dayMs === 0 ? daily(first, lengthMs / dayMs, users) : undefined;
  const elapsed = hourly(begin, lengthMs, users, zone);
  const split = parts(first, lengthMs, users, only);
  if (local && (clock === 'local' || !elapsed)) return one(local);
  if (clock === 'local' && split) return { series: split };
  if (elapsed) {
    const note = 'its turns are elapsed hours here: when the clocks change, they begin at another time of day';
    return clock === 'local' ? { ...one(elapsed), note } : one(elapsed);
  }
  return split ? { series: split } : 'its turns are neither whole hours nor parts of a day';
}

/** Returns undefined without restrictions, and the reason if they cannot be windows. */
function readRestrictions(restrictions: readonly PagerDutyRestriction[]): WeekSpan[] | undefined | string {
  if (restrictions.length === 0) return undefined;
  const spans: WeekSpan[] = [];
  for (const { type, start_time_of_day, duration_seconds, start_day_of_week: day } of restrictions) {
    const [, hours, minutes] = /^([01]\d|2[0-3]):([0-5]\d)(?::[0-5]\d)?$/.exec(start_time_of_day) ?? [];
    if (hours === undefined) return `its restriction begins at ${start_time_of_day}, which is no time of day`;
    const start = Number(hours) * 60 + Number(minutes);
    const length = Math.floor(duration_seconds / 60);
    if (!(length > 0)) return 'its restriction is shorter than a minute';
    if (type === 'daily_restriction') spans.push(...everyDay(start, Math.min(length, dayMinutes)));
    else if (type !== 'weekly_restriction') return `its restriction is of the type ${type}, which is not known`;
    else if (!Number.isInteger(day) || !day || day < 1 || day > 7)
      return 'its weekly restriction has no day of the week';
    else spans.push({ start: (day - 1) * dayMinutes + start, minutes: Math.min(length, weekMs / minuteMs) });
  }
  return spans;
}
