import { afterEach, expect, test, vi } from 'vitest';
import { addClockMeasurement, currentTime, hostClockAheadMs, timeAt } from '../../src/lib/time/clock.ts';

afterEach(() => {
  vi.useRealTimers();
  addClockMeasurement(Date.now(), performance.now());
});

/** A measurement without any delay. */
const measure = (time: number) => addClockMeasurement(time, performance.now());
const day = 86_400_000;

test('the time is that of the database, whatever the clock of the host says', () => {
  const now = Date.now();
  measure(now - day);
  expect(Math.abs(currentTime() - (now - day))).toBeLessThan(1_000);
  expect(Math.abs(hostClockAheadMs() - day)).toBeLessThan(1_000);
});

test('a host clock that is set changes nothing', () => {
  const before = currentTime();
  vi.useFakeTimers({ toFake: ['Date'], now: before - day });
  expect(currentTime() - before).toBeLessThan(1_000);
  expect(currentTime()).toBeGreaterThanOrEqual(before);
});

test('a measurement that the time agrees with, within its delay, changes nothing', () => {
  measure(Date.now());
  const at = performance.now();
  const known = timeAt(at);
  // Asked ten seconds ago: the database may have read its clock at any time since.
  addClockMeasurement(currentTime() - 5_000, at - 10_000);
  expect(timeAt(at)).toBe(known);
  addClockMeasurement(currentTime() - 20_000, at - 10_000);
  expect(Math.abs(timeAt(at) - (known - 10_000))).toBeLessThan(1_000);
});
