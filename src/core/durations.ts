/** Durations written as a number and a unit: 90s, 10m, 2h, 3d. */
const units = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export const durationPattern = '^[1-9][0-9]{0,8}[smhd]$';
const pattern = new RegExp(durationPattern);

/** Returns milliseconds, or undefined when the text is not a duration. */
export function parseDuration(text: string): number | undefined {
  if (!pattern.test(text)) return undefined;
  return Number(text.slice(0, -1)) * units[text.at(-1) as keyof typeof units];
}

const dayMs = units.d;
/** What began earlier was hardly meant to: a mistyped year or month. */
const maxPastDays = 31;

/** Returns why something that a user plans, such as a silence, cannot begin at this time; undefined: it can. */
export function findStartMistake(start: number, now: number, aheadDays: number): string | undefined {
  if (start > now + aheadDays * dayMs) return `must be within ${aheadDays} days`;
  if (start < now - maxPastDays * dayMs)
    return `must be at most ${maxPastDays} days ago; leave it out if it begins now`;
  return undefined;
}
