/** Lets time pass for everything that uses the monotonic clock, without waiting. It does not go back. */
const realNow = performance.now.bind(performance);
let aheadMs = 0;

export function passTime(ms: number): void {
  aheadMs += ms;
  performance.now = () => realNow() + aheadMs;
}
