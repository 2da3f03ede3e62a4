/**
 * The time of the database, as this thread knows it. Everything that is due, or stored, or compared with what is stored uses it: all
 * processes then agree, however wrong the clock of a host is, and setting that clock changes nothing. Between measurements it follows
 * the monotonic clock. For waits and timeouts inside a process, use `performance.now()`, which nothing can set.
 */

/** What is added to `performance.now()`. Until the first measurement, the clock of the host has to do. */
let offsetMs = Date.now() - performance.now();

/** Returns the milliseconds since 1970, like `Date.now()`. */
export function currentTime(): number {
  return timeAt(performance.now());
}

/** Returns the time at a moment of `performance.now()`. */
export function timeAt(monotonicMs: number): number {
  return Math.floor(monotonicMs + offsetMs);
}

/**
 * Adds a measurement: the database read `databaseMs` from its clock after `askedAt` and before now. If the known time is possible, it
 * stays as it is, so that slow answers do not make it fluctuate.
 */
export function addClockMeasurement(databaseMs: number, askedAt: number): void {
  const least = databaseMs - performance.now();
  const most = databaseMs - askedAt;
  offsetMs = Math.min(Math.max(offsetMs, least), most);
}

/** Returns by how much the clock of the host is ahead of the database's; negative: behind. */
export function hostClockAheadMs(): number {
  return Date.now() - currentTime();
}
