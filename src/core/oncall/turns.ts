/** Who is on call after the next changes. Looking ahead is bounded: a schedule may change every hour, or never again. */
import { isSame } from './duties.ts';
import { type CompiledSchedule, listShifts, type Shift, whoIsOnCall } from './schedule.ts';
import { dayMs } from './zone.ts';

/** Each is searched only if nothing was found in the one before. */
const lookaheadDays = [2, 16, 128, 400] as const;
/** Changes that may be computed for one answer, at about 10 µs each. */
const maxChanges = 20_000;

export interface Turn {
  /** Empty: no one. */
  users: readonly string[];
  /** The shift that was found; undefined for the current users, or if there is none. */
  shift: Shift | undefined;
  /** When the users change, also to no one; undefined if they do not within the time that was searched. */
  changesAt: number | undefined;
  /** The answer is the same for all instants before. */
  until: number;
}

/** Returns who is on call after `offset` changes of the users; 0 is now. */
export function findTurn(schedule: CompiledSchedule, instant: number, offset: number): Turn {
  const { users } = whoIsOnCall(schedule, instant);
  if (offset === 0) return { users, shift: undefined, changesAt: undefined, until: instant + 1 };
  let until = instant + 1;
  let changesAt: number | undefined;
  for (const [i, days] of lookaheadDays.entries()) {
    const end = instant + days * dayMs;
    const changes = schedule.rotations.reduce((sum, one) => sum + one.changesIn(instant, end).length, 0);
    const shifts = listShifts(schedule, instant, end);
    until = shifts[0]!.until;
    changesAt = shifts.find(shift => !isSame(shift.users, users))?.from;
    const found = afterChanges(shifts, users, offset);
    if (found) return { users: found.users, shift: found, changesAt, until };
    const next = lookaheadDays[i + 1];
    if (next && (changes * next) / days > maxChanges) break;
  }
  return { users: [], shift: undefined, changesAt, until };
}

function afterChanges(shifts: readonly Shift[], current: readonly string[], offset: number): Shift | undefined {
  let left = offset;
  let before = current;
  for (const shift of shifts) {
    if (shift.users.length === 0 || isSame(shift.users, before)) continue;
    before = shift.users;
    if (--left === 0) return shift;
  }
  return undefined;
}
