/** When the calls of a heartbeat are expected: after a duration since the last one, or at the times of a cron expression. */
import { Cron } from 'croner';
import { isTimezone, notATimezone } from '../decision/quiet-hours.ts';
import { parseDuration } from '../durations.ts';

const dayMs = 86_400_000;

export const heartbeatLimits = {
  /** Heartbeats of an application. */
  heartbeats: 1_000,
  every: 100,
  /** Every process looks ahead by less than this, so that none misses what another one stores. */
  minMs: 10_000,
  maxMs: 366 * dayMs,
  /** Calls of a heartbeat that are kept. */
  keptCalls: 100,
  /** Of the body of a call. */
  keptBytes: 10_000,
  /** A larger body is refused. */
  bytes: 16 * 1024 * 1024,
  runId: 100,
} as const;

export const defaultGrace = '5m';

export interface Rhythm {
  every: string;
  timezone: string;
  grace: string;
}

const cronOptions = { mode: '5-part', paused: true } as const;

/** Returns the mistakes that the schema cannot express, by field. */
export function findRhythmMistakes({ every, timezone, grace }: Partial<Rhythm>): Partial<Record<keyof Rhythm, string>> {
  const everyMistake = every === undefined ? undefined : findEveryMistake(every);
  const graceMistake = grace === undefined ? undefined : findSpanMistake(grace);
  return {
    ...(everyMistake && { every: everyMistake }),
    ...(timezone !== undefined && !isTimezone(timezone) && { timezone: notATimezone }),
    ...(graceMistake && { grace: graceMistake }),
  };
}

function findEveryMistake(every: string): string | undefined {
  if (parseDuration(every) !== undefined) return findSpanMistake(every);
  try {
    const next = new Cron(every, { ...cronOptions, timezone: 'UTC' }).nextRun();
    return next ? undefined : 'is a cron expression that never occurs';
  } catch {
    return 'must be a duration such as 10m, 1h or 1d, or a cron expression of five fields such as 0 3 * * *';
  }
}

function findSpanMistake(text: string): string | undefined {
  const ms = parseDuration(text);
  if (ms === undefined) return 'must be a duration such as 10m, 1h or 1d';
  if (ms < heartbeatLimits.minMs) return 'must be at least 10s';
  return ms > heartbeatLimits.maxMs ? 'must be at most 366d' : undefined;
}

/** Returns when the next call is expected after one at this time. */
export function expectedAfter({ every, timezone }: Rhythm, at: number): number {
  const ms = parseDuration(every);
  if (ms !== undefined) return at + ms;
  const next = new Cron(every, { ...cronOptions, timezone }).nextRun(new Date(at));
  // Past the end of the calendar.
  return next?.getTime() ?? at + heartbeatLimits.maxMs;
}

export function graceMs({ grace }: Rhythm): number {
  return parseDuration(grace) ?? heartbeatLimits.minMs;
}
