/** What is announced about who is on call: that a shift begins, and that shifts of the next days became someone else's. */
import { type CompiledSchedule, listShifts } from './schedule.ts';
import { dayMs } from './zone.ts';

export const changeLimits = {
  /** Changes of shifts that begin later are not announced. */
  days: 7,
  /** A schedule is looked at this often at least, so that the shifts of those days are always known. */
  lookMs: dayMs,
  /** Shifts that are remembered of a schedule. */
  shifts: 1_000,
  /** Changed shifts that an announcement lists. */
  listed: 20,
  /** Users whom an announcement goes to. */
  recipients: 500,
} as const;

/** Changes of layers that are computed at once, at about 10 µs each: with more, fewer days are looked ahead. */
const maxChanges = 3_000;

/** A time during which the same users are on call. Times are instants in milliseconds. */
export interface PlannedShift {
  from: number;
  until: number;
  users: readonly string[];
}

export interface ShiftChange {
  from: number;
  /** Undefined: later than anyone looked. */
  until: number | undefined;
  /** Who was on call before, and is no longer. */
  leaves: readonly string[];
  takes_over: readonly string[];
}

export interface OnCallChange extends ShiftChange {
  /** `hand_over`: someone else is on call now. `changed`: someone else will be. */
  reason: 'hand_over' | 'changed';
  /** Shifts that will be someone else's, besides this one. */
  changes: readonly ShiftChange[];
}

/** Returns the shifts from an earlier look on; without what was over before now. */
export function planShifts(schedule: CompiledSchedule, from: number, now: number): PlannedShift[] {
  const aheadMs = changeLimits.days * dayMs + changeLimits.lookMs;
  const changes = schedule.rotations.reduce((sum, one) => sum + one.changesIn(now, now + aheadMs).length, 0);
  const end = now + Math.floor(aheadMs * Math.min(1, maxChanges / Math.max(1, changes)));
  const planned: PlannedShift[] = [];
  for (const { from: begin, until, users } of listShifts(schedule, Math.max(from, now - dayMs), end)) {
    const last = planned.at(-1);
    if (last && hasSameUsers(last.users, users)) last.until = until;
    else planned.push({ from: begin, until, users });
  }
  return planned.filter(({ until }) => until > now).slice(0, changeLimits.shifts);
}

/** Returns when the users change next, or the shifts have to be planned further. */
export function findNextLook([current]: readonly PlannedShift[], now: number): number {
  return Math.min(current!.until, now + changeLimits.lookMs);
}

/**
 * Compares what was announced with what is true now. However many changes were missed meanwhile, only the last one is returned.
 * `before` begins with the users who were on call then.
 */
export function findChange(
  before: readonly PlannedShift[],
  after: readonly PlannedShift[],
  now: number,
): OnCallChange | undefined {
  const [announced, current] = [before[0]!, after[0]!];
  const changes = listChanges(before, after, now);
  if (hasSameUsers(announced.users, current.users)) {
    const [first, ...others] = changes;
    return first && { reason: 'changed', ...first, changes: others };
  }
  const leaves = without(announced.users, current.users);
  const takes_over = without(current.users, announced.users);
  const expected = before.find(({ until }) => until > now);
  const isExpected = !expected || hasSameUsers(expected.users, current.users);
  const isSame = (change: ShiftChange) =>
    change.from === now && hasSameUsers(change.leaves, leaves) && hasSameUsers(change.takes_over, takes_over);
  return {
    reason: 'hand_over',
    from: isExpected ? (expected ?? current).from : now,
    until: after.length > 1 ? current.until : undefined,
    leaves,
    takes_over,
    changes: changes.filter(change => !isSame(change)),
  };
}

/** Lists the times, beginning within the next days, at which other users are on call than was planned. */
function listChanges(before: readonly PlannedShift[], after: readonly PlannedShift[], now: number): ShiftChange[] {
  const end = Math.min(before.at(-1)!.until, after.at(-1)!.until);
  const edges = [...before, ...after].flatMap(({ from, until }) => [from, until]);
  const times = [...new Set([now, ...edges])].filter(at => at >= now && at < end).sort((a, b) => a - b);
  const changes: ShiftChange[] = [];
  const [was, is] = [usersOf(before), usersOf(after)];
  for (const [i, from] of times.entries()) {
    const [old, current] = [was(from), is(from)];
    const change = { from, until: times[i + 1], leaves: without(old, current), takes_over: without(current, old) };
    if (change.leaves.length + change.takes_over.length === 0) continue;
    const last = changes.at(-1);
    const continues =
      last?.until === from &&
      hasSameUsers(last.leaves, change.leaves) &&
      hasSameUsers(last.takes_over, change.takes_over);
    if (continues) last.until = change.until;
    else if (from < now + changeLimits.days * dayMs) changes.push(change);
  }
  return changes;
}

/** Returns a function that finds the users of an instant; instants must not go back. */
function usersOf(shifts: readonly PlannedShift[]): (at: number) => readonly string[] {
  let i = 0;
  return at => {
    while (shifts[i]!.until <= at) i++;
    return shifts[i]!.users;
  };
}

/** The order of users has no meaning. */
function hasSameUsers(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && without(a, b).length === 0;
}

function without(users: readonly string[], others: readonly string[]): string[] {
  const set = new Set(others);
  return users.filter(user => !set.has(user));
}
