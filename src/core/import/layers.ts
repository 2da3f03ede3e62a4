/** Turns and their times as those of layers. */
import { type Layer, rotationLimits } from '../oncall/rotation.ts';
import { scheduleLimits } from '../oncall/schedule-rules.ts';
import { dayMs, type Zone } from '../oncall/zone.ts';

export const minuteMs = 60_000;
export const weekMs = 7 * dayMs;

export const mod = (a: number, b: number) => ((a % b) + b) % b;
export const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/** Local times are instants as if the clocks showed UTC. */
export const localTime = (wall: number) => new Date(wall).toISOString().slice(0, 16);
/** Monday is 0. Day 0, 1 January 1970, was a Thursday. */
export const weekdayOf = (wall: number) => mod(Math.floor(wall / dayMs) + 3, 7);
/** Minutes since Monday, 00:00. */
export const minuteOfWeek = (wall: number) => Math.floor(mod(wall + 3 * dayMs, weekMs) / minuteMs);

export const toUsers = (turns: readonly string[][]): Layer['users'] =>
  turns.map(turn => (turn.length === 1 ? turn[0]! : turn));

/** Whether the clocks of both show the same for the next two years. */
export function haveSameClocks(one: Zone, other: Zone, now: number): boolean {
  if (one === other) return true;
  return Array.from({ length: 730 }, (_, day) => now + day * dayMs).every(
    at => one.offsetAt(at) === other.offsetAt(at),
  );
}

/** Returns the reason if a schedule cannot have these layers. */
export function refuseLayers(layers: readonly Layer[]): string | undefined {
  const users = layers.reduce((sum, layer) => sum + layer.users.flat().length, 0);
  if (layers.length === 0) return 'it has no layers that can be carried over';
  if (layers.length > rotationLimits.layers)
    return `it would have ${layers.length} layers, more than ${rotationLimits.layers}`;
  return users > scheduleLimits.users
    ? `its turns would name ${users} users, more than ${scheduleLimits.users}`
    : undefined;
}
