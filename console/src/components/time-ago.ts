/** Formats a time relative to now. */
import { texts } from '../texts/common.ts';

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });

const units = [
  ['year', 365 * 24 * 3600],
  ['month', 30 * 24 * 3600],
  ['day', 24 * 3600],
  ['hour', 3600],
  ['minute', 60],
] as const;

export function timeAgo(moment: string, at = Date.now()): string {
  const seconds = Math.round((Date.parse(moment) - at) / 1000);
  for (const [unit, length] of units) {
    // A time to come is rounded: seconds after it was set, seven days are not six.
    const count = seconds > 0 ? Math.round(seconds / length) : Math.trunc(seconds / length);
    if (Math.abs(seconds) >= length) return relative.format(count, unit);
  }
  if (Math.abs(seconds) < 5) return texts.justNow;
  return relative.format(seconds, 'second');
}
