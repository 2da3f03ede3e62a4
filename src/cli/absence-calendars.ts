/** The part of `belfry absence` that is about calendars. */
import { NewAbsenceCalendar } from '../core/oncall/calendars/calendar.ts';
import { parse } from '../core/schema.ts';
import { type AbsenceCalendarRow, listAbsenceCalendars } from '../db/audience/on-call/absence-calendars.ts';
import { countOf } from '../lib/count-of.ts';
import * as calendars from '../services/audience/on-call/calendars/calendars.ts';
import type { Deps } from '../services/deps.ts';
import { type Terminal, usageError } from './command.ts';
import { formatTime, printable } from './format.ts';
import { printRows, type Sent } from './rows.ts';

export type At = calendars.UserOfOrganization;

/** Asks a server, or runs the use case on the database. */
export type Ask = <Result>(
  request: [method: string, path: string, body?: object],
  run: (deps: Deps, at: At) => Promise<Result>,
) => Promise<Sent<Result>>;

interface Output {
  terminal: Terminal;
  json: boolean | undefined;
}

const base = 'absence-calendars/';
const maxRows = 100;

export async function addCalendar(
  ask: Ask,
  { terminal, json }: Output,
  { url, words, preview }: { url: string; words: string | undefined; preview: boolean | undefined },
): Promise<Sent<AbsenceCalendarRow> | undefined> {
  const list = words
    ?.split(',')
    .map(word => word.trim())
    .filter(word => word !== '');
  const input = { url, ...(list && { words: list }) };
  const read = () => parse(NewAbsenceCalendar, input);
  if (preview) {
    const found = await ask(['POST', `${base}preview/`, input], (deps, at) =>
      calendars.previewAbsenceCalendar(deps, at, read()),
    );
    printFound(terminal, found as unknown as Sent<AbsenceCalendarRow>, json);
    return undefined;
  }
  const made = await ask(['POST', base, input], (deps, at) => calendars.createAbsenceCalendar(deps, at, read()));
  printFound(terminal, made, json);
  return made;
}

type Found = Pick<Sent<AbsenceCalendarRow>, 'host' | 'absences' | 'found' | 'skipped' | 'complete'>;

function printFound(terminal: Terminal, found: Found, json: boolean | undefined): void {
  if (json) {
    terminal.print(JSON.stringify(found));
    return;
  }
  const { host, absences, found: first, skipped, complete } = found;
  const many = complete
    ? countOf(absences, 'absence')
    : `more than ${countOf(absences, 'absence')}, of which the first count`;
  terminal.print(`The calendar on ${printable(host)} has ${many}${absences > 0 ? ':' : '.'}`);
  for (const { starts_at, ends_at, reason } of first) {
    terminal.print(
      printable(`  ${formatTime(String(starts_at))} to ${formatTime(String(ends_at))}  ${reason ?? ''}`.trimEnd()),
    );
  }
  if (absences > first.length) terminal.print(`  … and ${absences - first.length} more`);
  if (skipped > 0) terminal.print(`${countOf(skipped, 'event')} cannot be read, or repeats more often than daily.`);
}

export async function listCalendars(ask: Ask, { terminal, json }: Output): Promise<void> {
  const found = await ask(['GET', base], (deps, { organization, user }) =>
    listAbsenceCalendars(deps.db, organization.id, user.id, { after: 0, limit: maxRows }),
  );
  printRows(terminal, found as unknown as Sent<AbsenceCalendarRow>[], { json }, 'There are no calendars.', {
    ID: one => String(one.id),
    HOST: one => printable(one.host),
    WORDS: one => printable(one.words.join(', ')),
    ABSENCES: one => String(one.absences),
    FETCHED: one => (one.fetched_at ? formatTime(one.fetched_at) : ''),
    ERROR: one => printable(one.error ?? ''),
  });
}

export async function deleteCalendar(ask: Ask, { terminal, json }: Output, text: string): Promise<void> {
  if (!/^\d{1,15}$/.test(text))
    throw usageError('--delete-calendar must be the id of a calendar: see `belfry absence … --calendars`');
  const deleted = await ask(['DELETE', `${base}${text}/`], async (deps, at) => ({
    deleted: await calendars.deleteAbsenceCalendar(deps, at, Number(text), false, () => {}),
  }));
  const { absences } = deleted.deleted;
  terminal.print(json ? JSON.stringify(deleted) : `Deleted, with ${countOf(absences, 'absence')}.`);
}
