/** Calendars of users in other programs, whose events are absences. */
import { type Static, Type } from 'typebox';
import { singleLine } from '../../text/text.ts';

export const calendarLimits = {
  perUser: 3,
  url: 2_000,
  words: 20,
  word: 100,
  bytes: 5 * 1024 * 1024,
  fetchMs: 20_000,
  /** CPU time of reading one. */
  readMs: 5_000,
  /** Times of events that are searched for absences: from the past day on. */
  pastDays: 1,
  aheadDays: 180,
  /** Times of one calendar that are looked at. */
  occurrences: 1_000,
  /** Absences of one calendar that are kept, the first ones. */
  absences: 200,
  /** Absences that an answer shows. */
  shown: 20,
} as const;

/** When a calendar is fetched again, in seconds. */
export const calendarPauses = {
  again: 3_600,
  /** After the first failure; twice as long after each further one. */
  retry: 600,
  maxRetry: 6 * 3_600,
  /** A calendar that has not changed is read again after this time, because its repeating events reach further. */
  readAgain: 24 * 3_600,
} as const;

/** Returns the seconds until a calendar is fetched again after this many failures in a row. */
export function secondsAfterFailures(failures: number): number {
  return Math.min(calendarPauses.retry * 2 ** Math.min(failures - 1, 10), calendarPauses.maxRetry);
}

const url = Type.String({
  minLength: 1,
  maxLength: calendarLimits.url,
  description:
    'Address of an iCalendar file: `https://` or `webcal://`. It is stored encrypted, and answers show its host only. `http://` only for ' +
    'hosts in networks that the operator allows with BELFRY_OUTBOUND_ALLOW.',
});
const words = Type.Array(
  Type.String({
    minLength: 1,
    maxLength: calendarLimits.word,
    pattern: '^[^\\r\\n]*\\S[^\\r\\n]*$',
    patternHint: singleLine.patternHint,
  }),
  {
    maxItems: calendarLimits.words,
    description:
      'Only events whose title contains one of them are absences, in upper or lower case: `["vacation", "out of office"]`. Empty: all-day ' +
      'events that are shown as busy, and events that Outlook marks as out of office.',
  },
);

export const NewAbsenceCalendar = Type.Object(
  { url, words: Type.Optional(words) },
  { $id: 'NewAbsenceCalendar', additionalProperties: false },
);
export type NewAbsenceCalendar = Static<typeof NewAbsenceCalendar>;

export const AbsenceCalendarUpdate = Type.Object(
  { url: Type.Optional(url), words: Type.Optional(words) },
  { $id: 'AbsenceCalendarUpdate', additionalProperties: false },
);
export type AbsenceCalendarUpdate = Static<typeof AbsenceCalendarUpdate>;

/** Returns the address that is fetched, or what is wrong with it. */
export function readCalendarUrl(text: string): URL | { mistake: string } {
  const address = text.trim().replace(/^webcals?:\/\//i, 'https://');
  const example = 'such as https://calendar.acme.test/ann.ics';
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address))
    return { mistake: `must begin with https:// or webcal://, ${example}` };
  const found = new URL(address);
  if (found.username || found.password) return { mistake: 'must not contain a user name or password' };
  return found;
}

export function normalizeWords(words: readonly string[] = []): string[] {
  return [...new Map(words.map(word => word.trim()).map(word => [foldTitle(word), word])).values()];
}

/** Returns the text in the form in which titles and words are compared. */
export function foldTitle(text: string): string {
  return text.normalize('NFKC').toLowerCase().replaceAll(/\s+/g, ' ');
}
