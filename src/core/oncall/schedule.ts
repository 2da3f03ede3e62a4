/**
 * Who is on call: the layers of a schedule, and overrides on top of them. `whoIsOnCall` alone decides; calendars, feeds, gaps and
 * reports are made of its answers.
 */
import { compileLayer, type Layer, type Rotation } from './rotation.ts';
import { zoneOf } from './zone.ts';

export interface ScheduleRules {
  timezone: string;
  layers: readonly Layer[];
  /** `cover`: a later layer covers earlier ones where it has someone. `all`: everyone of all layers is on call. */
  combine: 'cover' | 'all';
}

/** Takes precedence over all layers; of several, the one that was created last. Times are instants in milliseconds. */
export interface Override {
  id: number;
  user: string;
  /** The user whose place is taken. Null: everyone's. */
  replaces: string | null;
  from: number;
  until: number;
}

export interface OnCall {
  users: readonly string[];
  /** Names of the layers that decided. */
  layers: readonly string[];
  /** Ids of the overrides that changed it. */
  overrides: readonly number[];
}

export interface Shift extends OnCall {
  from: number;
  until: number;
}

/** Rules that were replaced, and when. */
export interface EarlierRules extends ScheduleRules {
  until: number;
}

export interface CompiledSchedule {
  combine: ScheduleRules['combine'];
  rotations: readonly Rotation[];
  /** In the order in which they were created. */
  overrides: readonly Override[];
  /** What it was before, the oldest first, each until the next one. Compiled when it is needed. */
  earlier: readonly { until: number; find: () => CompiledSchedule }[];
}

export function compileSchedule(
  rules: ScheduleRules,
  overrides: readonly Override[] = [],
  history: readonly EarlierRules[] = [],
): CompiledSchedule {
  const zone = zoneOf(rules.timezone);
  return {
    combine: rules.combine,
    rotations: rules.layers.map(layer => compileLayer(layer, zone)),
    overrides: [...overrides].sort((a, b) => a.id - b.id),
    earlier: history.map(({ until, ...replaced }) => {
      let compiled: CompiledSchedule | undefined;
      return { until, find: () => (compiled ??= compileSchedule(replaced, overrides)) };
    }),
  };
}

export function whoIsOnCall(schedule: CompiledSchedule, instant: number): OnCall {
  const valid = schedule.earlier.find(({ until }) => instant < until)?.find() ?? schedule;
  return decide(valid, instant, rotation => rotation.usersAt(instant));
}

function decide(
  { combine, rotations, overrides }: CompiledSchedule,
  instant: number,
  usersOf: (rotation: Rotation, i: number) => readonly string[] | undefined,
): OnCall {
  const layers: string[] = [];
  const all = new Set<string>();
  // The last layer that has someone, or all layers in their order.
  const isCover = combine === 'cover';
  for (let n = 0; n < rotations.length; n++) {
    const i = isCover ? rotations.length - 1 - n : n;
    const some = usersOf(rotations[i]!, i);
    if (!some) continue;
    for (const user of some) all.add(user);
    layers.push(rotations[i]!.name);
    if (isCover) break;
  }
  let users = [...all];
  const applied: number[] = [];
  for (const { id, user, replaces, from, until } of overrides) {
    if (instant < from || instant >= until) continue;
    if (replaces === null) users = [user];
    else if (users.includes(replaces)) users = [...new Set(users.map(each => (each === replaces ? user : each)))];
    else continue;
    applied.push(id);
  }
  return { users, layers, overrides: applied };
}

/** Returns what is decided for each moment of a span, without gaps between the shifts. */
export function listShifts(schedule: CompiledSchedule, from: number, until: number): Shift[] {
  const shifts: Shift[] = [];
  let begin = from;
  for (const earlier of schedule.earlier) {
    if (earlier.until <= begin || begin >= until) continue;
    const end = Math.min(until, earlier.until);
    shifts.push(...listShiftsByRules(earlier.find(), begin, end));
    begin = end;
  }
  if (begin < until || shifts.length === 0) shifts.push(...listShiftsByRules(schedule, begin, until));
  return joinShifts(shifts);
}

/** Joins what was the same before and after the rules were replaced. */
function joinShifts(shifts: Shift[]): Shift[] {
  const joined: Shift[] = [];
  for (const shift of shifts) {
    const last = joined.at(-1);
    if (last && isSame(last, shift)) last.until = shift.until;
    else joined.push(shift);
  }
  return joined;
}

function listShiftsByRules(schedule: CompiledSchedule, from: number, until: number): Shift[] {
  const { rotations, overrides } = schedule;
  const changesOf = rotations.map(rotation => sorted([from, ...rotation.changesIn(from, until)]));
  const ends = overrides.flatMap(override => [override.from, override.until]).filter(at => at > from && at < until);
  const positions = rotations.map(() => -1);
  const current: (readonly string[] | undefined)[] = [];
  const shifts: Shift[] = [];
  for (const at of sorted([from, ...ends, ...changesOf.flat()])) {
    // Each layer is asked only where it may change.
    for (let i = 0; i < changesOf.length; i++) {
      if (changesOf[i]![positions[i]! + 1] !== at) continue;
      positions[i]!++;
      current[i] = rotations[i]!.usersAt(at);
    }
    const decided = decide(schedule, at, (_, i) => current[i]);
    const last = shifts.at(-1);
    if (last) last.until = at;
    if (last && isSame(last, decided)) continue;
    shifts.push({ from: at, until, ...decided });
  }
  if (shifts.length > 0) shifts.at(-1)!.until = until;
  return shifts;
}

function sorted(instants: number[]): number[] {
  return [...new Set(instants)].sort((a, b) => a - b);
}

function isSame(a: OnCall, b: OnCall): boolean {
  return (
    haveSameItems(a.users, b.users) && haveSameItems(a.layers, b.layers) && haveSameItems(a.overrides, b.overrides)
  );
}

function haveSameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}
