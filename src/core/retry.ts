/** When to try again: exponential with full jitter between half and whole, so that failures do not come back as a wave. */
export const mostAttempts = 8;

const firstSeconds = 5;
const longestSeconds = 3_600;

/** 5 s, 10 s, 20 s … an hour: eight attempts span about ten minutes. `random` is from 0 to 1. */
export function retryDelaySeconds(attempt: number, random: number, asked?: number): number {
  const whole = Math.min(firstSeconds * 2 ** (attempt - 1), longestSeconds);
  const backoff = whole * (0.5 + random / 2);
  return Math.max(backoff, asked ?? 0);
}
