/** Schedules as the engine, simulation and templates ask them. */
import { type CompiledSchedule, compileSchedule } from '../core/oncall/schedule.ts';
import { findTurn, type Turn } from '../core/oncall/turns.ts';
import type { OnCallPerson, OnCallVariable } from '../core/render/on-call.ts';
import type { ScheduleRow } from '../db/audience/on-call/schedules.ts';
import type { Person } from '../db/audience/users.ts';

export interface PlannedSchedule extends CompiledSchedule {
  name: string;
  timezone: string;
  /** Name of the list that is notified when no one is on call. */
  fallback: string | null;
  /** Returns the usernames of the users on call after so many changes. */
  usersAt(instant: number, offset: number): readonly string[];
  /** Returns the same with the time of the change. */
  turnAt(instant: number, offset: number): Turn;
}

export function planSchedule({ name, timezone, layers, combine, fallback, overrides }: ScheduleRow): PlannedSchedule {
  const compiled = compileSchedule({ timezone, layers, combine }, overrides);
  // Looking ahead takes milliseconds, and the answer is the same until the next change.
  const turns = new Map<number, Turn & { from: number }>();
  const turnAt = (instant: number, offset: number): Turn => {
    const known = turns.get(offset);
    if (known && instant >= known.from && instant < known.until) return known;
    const turn = findTurn(compiled, instant, offset);
    turns.set(offset, { ...turn, from: instant });
    return turn;
  };
  return {
    ...compiled,
    name,
    timezone,
    fallback,
    turnAt,
    usersAt: (instant, offset) => turnAt(instant, offset).users,
  };
}

/** Returns what templates see of a schedule, and of its users with names. */
export function describeOnCall(
  schedule: PlannedSchedule,
  instant: number,
  people: readonly Pick<Person, 'username' | 'first_name' | 'last_name'>[],
): OnCallVariable {
  const describe = (username: string): OnCallPerson => {
    const { first_name = '', last_name = '' } = people.find(person => person.username === username) ?? {};
    return { name: `${first_name} ${last_name}`.trim() || username, username, first_name, last_name };
  };
  const { shift, changesAt } = schedule.turnAt(instant, 1);
  return {
    name: schedule.name,
    users: schedule.usersAt(instant, 0).map(describe),
    until: changesAt === undefined ? null : new Date(changesAt).toISOString(),
    next: shift ? { from: new Date(shift.from).toISOString(), users: shift.users.map(describe) } : null,
  };
}
