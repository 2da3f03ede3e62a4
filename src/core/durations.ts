/** Durations written as a number and a unit: 90s, 10m, 2h, 3d. */
const units = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export const durationPattern = '^[1-9][0-9]{0,8}[smhd]$';
const pattern = new RegExp(durationPattern);

/** Returns milliseconds, or undefined when the text is not a duration. */
export function parseDuration(text: string): number | undefined {
  if (!pattern.test(text)) return undefined;
  return Number(text.slice(0, -1)) * units[text.at(-1) as keyof typeof units];
}
