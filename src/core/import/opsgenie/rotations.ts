/**
 * Rotations as layers. There, a turn begins at the same local time as the rotation, and lasts a number of hours, days or weeks; time
 * restrictions cut it; all rotations of a schedule are on call together. Layers do the same.
 */
import { lookUp } from '../../lookup.ts';
import { type Layer, rotationLimits } from '../../oncall/rotation.ts';
import { dayMs, hourMs, type Zone } from '../../oncall/zone.ts';
import { localTime, mod, toUsers } from '../layers.ts';
import { dayMinutes, everyDay, toWindows, type WeekSpan } from '../windows.ts';
import { type OpsgenieReference, type OpsgenieRestriction, type OpsgenieRotation, readTime } from './resources.ts';

export interface RotationContext {
  zone: Zone;
  /** In milliseconds. */
  now: number;
  /** Emails of the users who are on call when a participant is. */
  usersOf(participant: OpsgenieReference): string[];
  note(reason: string): void;
}

const units: Record<string, { letter: string; ms: number }> = {
  hourly: { letter: 'h', ms: hourMs },
  daily: { letter: 'd', ms: dayMs },
  weekly: { letter: 'w', ms: 7 * dayMs },
};
const maxLength = 999;
const weekMinutes = 7 * dayMinutes;

/** Returns the reason if there is none. */
export function toLayer(rotation: OpsgenieRotation, name: string, context: RotationContext): Layer | string {
  const { zone, now, note } = context;
  const unit = lookUp(units, rotation.type);
  if (!unit) return `its turns are of the type ${rotation.type}, which is not known`;
  const length = rotation.length ?? 1;
  if (!Number.isInteger(length) || length < 1 || length > maxLength)
    return `its length, ${length}, is not between 1 and ${maxLength}`;
  const start = readTime(rotation.startDate);
  if (start === undefined) return `its start, ${rotation.startDate}, is not a date`;
  const end = readTime(rotation.endDate);
  if (rotation.endDate !== undefined && end === undefined) return `its end, ${rotation.endDate}, is not a date`;
  if (end !== undefined && end <= now) return 'it has ended';
  if (end !== undefined && end <= start) return 'it ends before it begins';
  if (rotation.enabled === false) return 'it is disabled';
  if (rotation.participants.length > rotationLimits.turns) return `it has more than ${rotationLimits.turns} turns`;
  const turns = rotation.participants.map(participant => readTurn(participant, context));
  if (!turns.some(users => users.length > 0)) return 'none of its participants is a user who can be carried over';

  const period = length * unit.ms;
  // Layers begin at a local time, of which there are two when clocks are set back. Only turns of hours keep the difference.
  const first = unit.ms === hourMs ? findUnambiguous(start, period, zone) : 0;
  const begin = start + first * period;
  if (start > now && (first > 0 || isAmbiguous(start, zone)))
    note('it begins in an hour that the clocks show twice: its first turn is longer or shorter here');
  if (end !== undefined && isAmbiguous(end, zone))
    note('it ends in an hour that the clocks show twice: it ends at the first of the two here');
  const [from, until] = [localTimeIn(zone, begin), end === undefined ? undefined : localTimeIn(zone, end)];
  if (until !== undefined && until <= from) return 'it ends before it begins';
  const only = readRestriction(rotation.timeRestriction, note);
  if (only && only.length > rotationLimits.windows)
    return `it has more than ${rotationLimits.windows} restrictions of its times`;
  const users = turns.map((_, i) => turns[(i + first) % turns.length]!);
  return {
    name,
    every: `${length}${unit.letter}`,
    from,
    ...(until !== undefined && { until }),
    users: toUsers(users),
    ...(only && { only }),
  };
}

function readTurn(participant: OpsgenieReference, { usersOf, note }: RotationContext): string[] {
  const users = usersOf(participant);
  if (users.length <= rotationLimits.together) return users;
  note(`only the first ${rotationLimits.together} of ${users.length} users of one turn are on call together`);
  return users.slice(0, rotationLimits.together);
}

function findUnambiguous(start: number, period: number, zone: Zone): number {
  let turn = 0;
  // Clocks are set back for a few hours at most.
  while (turn < 24 && isAmbiguous(start + turn * period, zone)) turn++;
  return turn;
}

/** Whether the local time of an instant stands for another, earlier one. */
const isAmbiguous = (instant: number, zone: Zone) => zone.toInstant(instant + zone.offsetAt(instant)) !== instant;

const localTimeIn = (zone: Zone, instant: number) => localTime(instant + zone.offsetAt(instant));

const dayNames = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
type Restriction = NonNullable<OpsgenieRestriction['restriction']>;

/** What cannot be read is left out with a note: someone is called at more times than before, instead of no one. */
function readRestriction(restriction: OpsgenieRestriction | undefined, note: (reason: string) => void): Layer['only'] {
  if (!restriction) return undefined;
  const spans = spansOf(restriction);
  if (!spans || spans.length === 0) {
    note(`its time restriction, of the type ${restriction.type}, cannot be read: it is on call at all times here`);
    return undefined;
  }
  return toWindows(spans);
}

function spansOf({ type, restriction, restrictions = [] }: OpsgenieRestriction): WeekSpan[] | undefined {
  if (type === 'time-of-day') {
    if (!restriction) return undefined;
    const { start, end } = minutesOf(restriction);
    // The end of a whole day is its beginning.
    const minutes = mod(end - start, dayMinutes) || dayMinutes;
    return everyDay(mod(start, dayMinutes), minutes);
  }
  if (type !== 'weekday-and-time-of-day') return undefined;
  const spans = restrictions.map(one => {
    const [from, until] = [dayOf(one.startDay), dayOf(one.endDay)];
    if (from < 0 || until < 0) return undefined;
    const { start, end } = minutesOf(one);
    const begin = mod(from * dayMinutes + start, weekMinutes);
    return { start: begin, minutes: mod(until * dayMinutes + end - begin, weekMinutes) || weekMinutes };
  });
  return spans.includes(undefined) ? undefined : (spans as WeekSpan[]);
}

const dayOf = (name = '') => dayNames.indexOf(name.toLowerCase());

function minutesOf({ startHour = 0, startMin = 0, endHour = 0, endMin = 0 }: Restriction) {
  return { start: Math.round(startHour * 60 + startMin), end: Math.round(endHour * 60 + endMin) };
}
