/**
 * The CPU time of synchronous work, and the limit that no such work on tenant input may exceed. The limit is 50 ms on a
 * machine that needs 17 ms for `referenceWork`, and grows with the time that it takes here and now: the same code takes
 * twice as long on a slow machine, or beside a neighbour that evicts its caches.
 */

export const limitMs = 50;

/** Returns the CPU time of this thread since `since`, in milliseconds. */
export function cpuMs(since?: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(since);
  return (user + system) / 1_000;
}

/** Returns the CPU time of the work. Refusing its input is one way to end. */
export function costOf(work: () => unknown): number {
  const before = process.threadCpuUsage();
  try {
    work();
  } catch {
    // Refused.
  }
  return cpuMs(before);
}

function referenceWork(): number {
  const fields: Record<string, number> = {};
  for (let i = 0; i < 20_000; i++) fields[`key${(i * 7_919) % 20_011}`] = i;
  const names = Object.keys(JSON.parse(JSON.stringify(fields))).sort();
  return names.filter(name => /7[0-9]+1/.test(name)).length;
}

/** Returns `times` the limit for `ms`, which is measured only if the work took longer than the plain limit. */
export function maxMsFor(ms: number, times = 1): number {
  if (ms <= times * limitMs) return times * limitMs;
  return times * Math.max(limitMs, 3 * Math.min(...[0, 1, 2].map(() => costOf(referenceWork))));
}

export function isTooSlow(ms: number): boolean {
  return ms > maxMsFor(ms);
}
