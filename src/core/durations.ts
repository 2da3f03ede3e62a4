/** Durations as people write them: 90s, 10m, 2h, 3d. */
const units = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export const durationPattern = '^[1-9][0-9]{0,8}[smhd]$';
const form = new RegExp(durationPattern);

/** Milliseconds, or undefined when it is no duration. */
export function parseDuration(text: string): number | undefined {
  if (!form.test(text)) return undefined;
  return Number(text.slice(0, -1)) * units[text.at(-1) as keyof typeof units];
}
