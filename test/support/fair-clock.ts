/**
 * A clock in milliseconds that stands still while the machine does not run this process. Durations with a limit are measured
 * with it: on a starved machine everything takes longer by the wall clock.
 */
const tickMs = 10;
let ticks = 0;
setInterval(() => ticks++, tickMs).unref();

export const fairNow = (): number => ticks * tickMs;
