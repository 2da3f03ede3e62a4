/** Relative and absolute times. */
import { Text, Tooltip } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import { texts } from '../texts/common.ts';
import { timeAgo } from './time-ago.ts';

export { clockAndDay, clockAndDays } from './clock.ts';
export { timeAgo } from './time-ago.ts';

/** All times on a page share one timer. */
const tickMs = 5_000;
const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const notify of listeners) notify();
  }, tickMs);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

const exact = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'long' });

export function exactTime(moment: string): string {
  return exact.format(new Date(moment));
}

const clock = new Intl.DateTimeFormat('en', { timeStyle: 'medium', hourCycle: 'h23' });

/** Formats the time of day in the viewer's time zone. */
export function clockTime(moment: string): string {
  return clock.format(new Date(moment));
}

const day = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', year: 'numeric' });

/** Formats the date alone. */
export function dayOf(moment: string): string {
  return day.format(new Date(moment));
}

/** The time, in a text with the placeholder `{time}`. */
export function TimeAgo({ at, text = '{time}' }: { at: string | null | undefined; text?: string }) {
  const current = useSyncExternalStore(subscribe, () => now);
  if (!at)
    return (
      <Text component="span" inherit c="dimmed" aria-label={texts.never}>
        –
      </Text>
    );
  const ago = timeAgo(at, Math.max(current, Date.parse(at)) === Date.parse(at) ? Date.now() : current);
  return (
    <Tooltip label={exactTime(at)}>
      <time dateTime={at} className="numbers tip" style={{ whiteSpace: 'nowrap' }}>
        {text.replace('{time}', ago)}
      </time>
    </Tooltip>
  );
}

export function milliseconds(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '–';
  if (ms < 1_000) return texts.ms(Math.round(ms));
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  return duration(ms / 1_000);
}

export function duration(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return texts.min(Math.floor(seconds / 60));
  if (seconds < 86_400) return texts.hMin(Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60));
  return `${Math.floor(seconds / 86_400)} d`;
}
