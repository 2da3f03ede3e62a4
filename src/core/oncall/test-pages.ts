/** Test pages: an event that is triggered for each user of a schedule regularly, and that each confirms by an acknowledgement. */
import { type Static, Type } from 'typebox';
import { closed, eventOfProject } from '../configuration/nouns/schemas.ts';
import { parseDuration } from '../durations.ts';
import { priorities } from '../trigger.ts';
import type { Layer } from './rotation.ts';
import { parseLocalTime } from './rotation.ts';
import { dayMs, hourMs, zoneOf } from './zone.ts';

export const TestPages = Type.Object(
  {
    event: Type.String({
      ...eventOfProject,
      description: 'The event of the project, as application/event, that is triggered for one user at a time.',
    }),
    every: Type.String({
      pattern: '^([1-9]|[1-8][0-9]|90)d$',
      patternHint: 'must be a number of days from 1d to 90d',
      description: 'How often each user gets one, from 1d to 90d.',
    }),
    at: Type.String({
      pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
      patternHint: 'must be a time of day such as 10:00',
      description: 'When, in the time zone of the schedule.',
    }),
    priority: Type.Optional(
      Type.Enum([...priorities], {
        description: 'Urgent: by the rules for urgent messages of each user. Absent: as for any trigger of the event.',
      }),
    ),
  },
  closed,
);
export type TestPages = Static<typeof TestPages>;

/** An occurrence with such a dedup key is a test page. */
const keyPrefix = 'test-page/';
export const testPageKey = (occurrence: string) => `${keyPrefix}${occurrence}`;
export const isTestPage = (dedupKey: string | undefined) => dedupKey?.startsWith(keyPrefix) === true;

/** Returns the next time of day after an instant. */
export function findNextTest({ at }: TestPages, timezone: string, instant: number): number {
  const zone = zoneOf(timezone);
  const wall = instant + zone.offsetAt(instant);
  const first = parseLocalTime(`${new Date(wall).toISOString().slice(0, 10)}T${at}`)!;
  for (let day = first; ; day += dayMs) {
    const next = zone.toInstant(day);
    if (next > instant) return next;
  }
}

/** How long ago the last test page of a user must be. Less than the whole time, because the clocks may have changed. */
export function minAgeMs({ every }: TestPages): number {
  return parseDuration(every)! - 12 * hourMs;
}

/** Returns the usernames of all layers. */
export function usersOf(layers: readonly Layer[]): string[] {
  return [...new Set(layers.flatMap(({ users }) => users.flat()))];
}
