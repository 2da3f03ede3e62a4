/** Times with their time zone, also for the service worker. */

const zonedClock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZoneName: 'short' } as const;
const clockInZone = new Intl.DateTimeFormat('en', zonedClock);
const dayAndClock = new Intl.DateTimeFormat('en', { ...zonedClock, day: 'numeric', month: 'short', year: 'numeric' });

/** Formats a future time with its time zone: the time of day within 20 hours, otherwise with the date. */
export function clockAndDay(moment: string, at = Date.now()): string {
  const isSoon = Math.abs(Date.parse(moment) - at) < 20 * 3_600_000;
  return (isSoon ? clockInZone : dayAndClock).format(new Date(moment));
}

/** Formats a time from one moment to another, with the date once if it is the same: two times of day alone could be of any day. */
export function clockAndDays(from: string, until: string): string {
  return dayAndClock.formatRange(new Date(from), new Date(until));
}
