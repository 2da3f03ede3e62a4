/** Overrides are data, not configuration: notes have the commands that enter them. */
import type { Override } from '../oncall/schedule.ts';

export type NewOverride = Omit<Override, 'id'>;

/** `schedule` is `ORG/PRJ/SLUG`. */
export function coverCommand(schedule: string, { user, replaces, from, until }: NewOverride): string {
  const instead = replaces ? ` --instead-of ${replaces}` : '';
  return `belfry cover ${schedule} ${user}${instead} --from ${isoTime(from)} --until ${isoTime(until)}`;
}

export const isoTime = (instant: number) => new Date(instant).toISOString().replace('.000Z', 'Z');
