import { AppError } from '../core/errors.ts';
import { NewAbsence } from '../core/oncall/absences.ts';
import { parse } from '../core/schema.ts';
import { type AbsenceRow, listAbsencesOfUser } from '../db/audience/on-call/absences.ts';
import { createAbsence, deleteAbsence } from '../services/audience/on-call/absences.ts';
import { findUser } from '../services/audience/users.ts';
import type { Deps } from '../services/deps.ts';
import { type Ask, type At, addCalendar, deleteCalendar, listCalendars } from './absence-calendars.ts';
import { flag, parseTime, readArguments, string } from './arguments.ts';
import { type Command, type Terminal, usageError } from './command.ts';
import { formatTime, printable } from './format.ts';
import { remoteOf, withOrganization } from './remote.ts';
import { asSent, printRows, type Sent } from './rows.ts';

const maxRows = 10_000;

interface UserPath {
  org: string;
  username: string;
}

/** Asks a server, or runs the use case on the database. */
async function ask<Result>(
  terminal: Terminal,
  { org, username }: UserPath,
  [method, suffix, body]: [method: string, suffix: string, body?: object],
  run: (deps: Deps, at: At) => Promise<Result>,
): Promise<Sent<Result>> {
  const remote = remoteOf(terminal);
  const path = `/api/o/${encodeURIComponent(org)}/u/${encodeURIComponent(username)}/${suffix}`;
  if (remote) return remote.request(method, path, body);
  return withOrganization(terminal, org, async (deps, id) => {
    const user = await findUser(deps, id, username);
    if (!user) throw new AppError('user.not_found', `there is no user ${username} in ${org}`);
    return asSent([await run(deps, { organization: { id }, user })])[0]!;
  });
}

export const absence: Command = {
  name: 'absence',
  usage:
    'ORG USER --from TIME --until TIME [--reason TEXT] [--json] | ORG USER --list [--json] | ORG USER --delete ID [--json] | ' +
    'ORG USER --calendar URL [--words LIST] [--preview] [--json] | ORG USER --calendars [--json] | ORG USER --delete-calendar ID [--json]',
  summary: 'Say when a user is away, so that shifts which collide with it are marked.',
  details: `--from TIME           when it begins, such as 2030-01-05T17:00:00Z
--until TIME          when it ends
--reason TEXT         why, in one line
--list                list the absences of the user, newest first
--delete ID           delete this absence
--calendar URL        take absences from this calendar, an iCalendar file: https:// or webcal://
--words LIST          only events whose title contains one of these words, separated by commas; without them, all-day events
--preview             show what the calendar has, and store nothing
--calendars           list the calendars of the user
--delete-calendar ID  delete this calendar with its absences
--json                print JSON

A calendar is fetched every hour. Its address is a secret, and is not shown again.

It does not change who is on call: \`belfry on-call\` marks the shifts, and \`belfry cover\` gives them to someone else. With
BELFRY_URL, the key needs the permission user:write, and for --list user:read.`,
  examples: [
    'belfry absence acme ann@acme.test --from 2030-01-05 --until 2030-01-19 --reason Holiday',
    'belfry absence acme ann@acme.test --list',
    'belfry absence acme ann@acme.test --delete 7',
    "belfry absence acme ann@acme.test --calendar https://calendar.acme.test/ann.ics --words 'vacation, out of office'",
  ],
  async run(args, terminal) {
    const { values, positionals } = readArguments(args, options);
    const [org, username, ...others] = positionals;
    if (!org || !username || others.length > 0) throw usageError('name an organization and one user');
    const path = { org, username };
    const { json } = values;
    const askUser: Ask = (request, run) => ask(terminal, path, request, run);
    if (values.calendars) return listCalendars(askUser, { terminal, json });
    if (values['delete-calendar'] !== undefined)
      return deleteCalendar(askUser, { terminal, json }, values['delete-calendar']);
    if (values.calendar !== undefined) {
      const input = { url: values.calendar, words: values.words, preview: values.preview };
      const made = await addCalendar(askUser, { terminal, json }, input);
      if (made && !json)
        terminal.print(`To delete it: belfry absence ${org} ${made.user} --delete-calendar ${made.id}`);
      return;
    }
    if (values.list) return list(terminal, path, values.json);
    if (values.delete !== undefined) return remove(terminal, path, values.delete, values.json);
    const starts_at = parseTime('--from', values.from)?.toISOString();
    const ends_at = parseTime('--until', values.until)?.toISOString();
    if (!starts_at || !ends_at) throw usageError('say when with --from and --until');
    const input = { starts_at, ends_at, ...(values.reason !== undefined && { reason: values.reason }) };
    const made = await ask(terminal, path, ['POST', 'absences/', input], (deps, at) =>
      createAbsence(deps, at, parse(NewAbsence, input)),
    );
    if (values.json) return terminal.print(JSON.stringify(made));
    terminal.print(
      printable(`${made.user} is away from ${formatTime(made.starts_at)} until ${formatTime(made.ends_at)}.`),
    );
    terminal.print(`To delete it: belfry absence ${org} ${made.user} --delete ${made.id}`);
  },
};

const calendarOptions = {
  calendar: string,
  words: string,
  preview: flag,
  calendars: flag,
  'delete-calendar': string,
};
const options = {
  from: string,
  until: string,
  reason: string,
  list: flag,
  delete: string,
  json: flag,
  ...calendarOptions,
};

async function list(terminal: Terminal, path: UserPath, json: boolean | undefined): Promise<void> {
  const found = await ask(terminal, path, ['GET', 'absences/'], (deps, { organization, user }) =>
    listAbsencesOfUser(deps.db, organization.id, user.id, { after: 0, limit: maxRows }),
  );
  printRows(terminal, found as unknown as Sent<AbsenceRow>[], { json }, 'There are no absences.', {
    ID: one => String(one.id),
    FROM: one => formatTime(one.starts_at),
    UNTIL: one => formatTime(one.ends_at),
    REASON: one => printable(one.reason ?? ''),
    BY: one => printable(one.created_by),
  });
}

async function remove(terminal: Terminal, path: UserPath, text: string, json: boolean | undefined): Promise<void> {
  if (!/^\d{1,15}$/.test(text))
    throw usageError('--delete must be the id of an absence: see `belfry absence … --list`');
  const deleted = await ask(terminal, path, ['DELETE', `absences/${text}/`], async (deps, at) => ({
    deleted: await deleteAbsence(deps, at, Number(text), false, () => {}),
  }));
  terminal.print(json ? JSON.stringify(deleted) : 'Deleted.');
}
