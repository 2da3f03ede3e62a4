import { NewOverride } from '../core/oncall/overrides.ts';
import { NewPage } from '../core/oncall/page.ts';
import { parse } from '../core/schema.ts';
import { type Gaps, listGaps } from '../services/audience/on-call/gaps.ts';
import {
  listOnCall,
  listScheduleShifts,
  type OnCallView,
  type ShiftView,
} from '../services/audience/on-call/on-call.ts';
import {
  createOverride,
  endOverrideEarly,
  getOverride,
  listOverrides,
  type OverrideView,
} from '../services/audience/on-call/overrides.ts';
import { page as pageNow } from '../services/audience/on-call/page.ts';
import { resolveSchedulePath } from '../services/audience/on-call/schedules.ts';
import type { Deps } from '../services/deps.ts';
import { flag, parseTime, readArguments, string } from './arguments.ts';
import { type Command, type Terminal, usageError } from './command.ts';
import { formatTime, printable } from './format.ts';
import { remoteOf, withOrganization } from './remote.ts';
import { asSent, printRows, type Sent } from './rows.ts';

const maxRows = 10_000;

export interface SchedulePath {
  org: string;
  prj: string;
  slug: string;
}

const apiPathOf = ({ org, prj, slug }: SchedulePath) =>
  `/api/o/${encodeURIComponent(org)}/p/${encodeURIComponent(prj)}/schedules/${encodeURIComponent(slug)}/`;

export function readSchedulePath(text: string | undefined, command: string): SchedulePath {
  const [org, prj, slug, ...others] = text?.split('/') ?? [];
  if (!org || !prj || !slug || others.length > 0)
    throw usageError(`name one schedule as ORG/PRJ/SCHEDULE: see \`belfry help ${command}\``);
  return { org, prj, slug };
}

/** Asks a server, or runs the use case on the database. */
export async function askSchedule<Result>(
  terminal: Terminal,
  path: SchedulePath,
  [method, suffix, body]: [method: string, suffix: string, body?: object],
  run: (deps: Deps, at: Awaited<ReturnType<typeof resolveSchedulePath>>) => Promise<Result>,
): Promise<Result> {
  const remote = remoteOf(terminal);
  if (remote) return remote.request(method, `${apiPathOf(path)}${suffix}`, body);
  return terminal.withDeps(async deps => asSent([await run(deps, await resolveSchedulePath(deps, path))])[0] as Result);
}

export const onCall: Command = {
  name: 'on-call',
  usage:
    'ORG [--at TIME] [--json] | ORG/PRJ/SCHEDULE [--at TIME] [--until TIME] [--json] | ORG --gaps [--until TIME] [--json]',
  summary: 'Show who is on call and who is next, the shifts of a schedule, or the gaps of all schedules.',
  details: `--at TIME     at this time, such as 2027-01-09T03:00:00Z; default: now
--until TIME  list the shifts of the schedule until then, at most 92 days
--gaps        list the times at which no one is on call, and people on call who would not be reached: within 7 days, or until
              TIME; exit code 1 if there are any
--json        print JSON

With BELFRY_URL, the key needs the permission schedule:read.`,
  examples: [
    'belfry on-call acme',
    'belfry on-call acme --gaps',
    'belfry on-call acme/ops/primary --at 2030-01-05T03:00:00Z',
    'belfry on-call acme/ops/primary --at 2030-01-01 --until 2030-02-01',
  ],
  async run(args, terminal) {
    const { values, positionals } = readArguments(args, { at: string, until: string, gaps: flag, json: flag });
    const [target = '', ...others] = positionals;
    if (target === '' || others.length > 0) throw usageError('name an organization, or a schedule as ORG/PRJ/SCHEDULE');
    const at = parseTime('--at', values.at);
    const until = parseTime('--until', values.until);
    if (values.gaps) {
      if (at || target.includes('/')) throw usageError('--gaps needs an organization, and looks ahead from now on');
      return printGaps(terminal, target, until, values.json);
    }
    const query = at ? `?${new URLSearchParams({ at: at.toISOString() })}` : '';
    if (!target.includes('/')) {
      if (until) throw usageError('--until needs a schedule: name it as ORG/PRJ/SCHEDULE');
      const remote = remoteOf(terminal);
      const found: Sent<OnCallView>[] = remote
        ? await remote.request('GET', `/api/o/${encodeURIComponent(target)}/on-call/${query}`)
        : await withOrganization(terminal, target, async (deps, id) => {
            const page = { after: 0, limit: maxRows };
            return asSent(await listOnCall(deps, id, { page, at: at ?? new Date(), visible: 'all' }));
          });
      printOnCall(terminal, found, values.json);
      return 0;
    }
    const path = readSchedulePath(target, 'on-call');
    if (!until) {
      const found = await askSchedule(
        terminal,
        path,
        ['GET', `on-call/${query}`],
        async (deps, { organization, project }) => {
          const selection = { project, slug: path.slug, at: at ?? new Date(), visible: 'all' as const };
          return (await listOnCall(deps, organization.id, selection))[0]!;
        },
      );
      printOnCall(terminal, [found as unknown as Sent<OnCallView>], values.json);
      return 0;
    }
    const span = { since: at ?? new Date(), until };
    const inQuery = new URLSearchParams({ since: span.since.toISOString(), until: span.until.toISOString() });
    const shifts = await askSchedule(terminal, path, ['GET', `shifts/?${inQuery}`], (deps, { organization, project }) =>
      listScheduleShifts(deps, organization.id, { project, slug: path.slug }, span, 'all'),
    );
    printRows(terminal, shifts as unknown as Sent<ShiftView>[], { json: values.json }, 'There are no shifts.', {
      FROM: one => formatTime(one.from),
      UNTIL: one => formatTime(one.until),
      'ON CALL': one => namesOf(one.users, one.absences),
      BY: one => printable([...one.layers, ...one.overrides.map(id => `override ${id}`)].join(', ')),
    });
    return 0;
  },
};

async function printGaps(terminal: Terminal, org: string, until: Date | undefined, json: boolean | undefined) {
  const remote = remoteOf(terminal);
  const query = until ? `?${new URLSearchParams({ until: until.toISOString() })}` : '';
  const found = remote
    ? await remote.request<Sent<Gaps>>('GET', `/api/o/${encodeURIComponent(org)}/on-call/gaps/${query}`)
    : await withOrganization(
        terminal,
        org,
        async (deps, id) => asSent([await listGaps(deps, id, { until, visible: 'all' })])[0]!,
      );
  if (json) terminal.print(JSON.stringify(found, null, 2));
  else {
    printRows(terminal, found.gaps, {}, 'There are no gaps.', {
      SCHEDULE: one => `${one.project}/${one.schedule}`,
      USER: one => printable(one.user ?? ''),
      FROM: one => formatTime(String(one.from)),
      UNTIL: one => formatTime(String(one.until)),
      GAP: one => printable(`${one.message} (${one.kind})`),
      'WHAT TO DO': one => one.advice,
    });
    if (!found.complete) terminal.print('There may be more: choose an earlier --until.');
  }
  return found.gaps.length > 0 ? 1 : 0;
}

function printOnCall(terminal: Terminal, found: Sent<OnCallView>[], json: boolean | undefined): void {
  printRows(terminal, found, { json }, 'There are no schedules.', {
    SCHEDULE: one => `${one.project}/${one.schedule}`,
    'ON CALL': one => namesOf(one.users, one.absences),
    UNTIL: one => (one.until ? formatTime(one.until) : ''),
    NEXT: one => (one.next ? namesOf(one.next.users, one.absences) : ''),
    FROM: one => (one.next ? formatTime(String(one.next.from)) : ''),
  });
}

function namesOf(users: OnCallView['users'], absences: OnCallView['absences']): string {
  if (users.length === 0) return '(no one)';
  const names = users.map(({ username, state }) => {
    const isAway = absences.some(one => one.username === username);
    return state !== 'active' ? `${username} (${state})` : isAway ? `${username} (away)` : username;
  });
  return printable(names.join(', '));
}

export const cover: Command = {
  name: 'cover',
  usage:
    'ORG/PRJ/SCHEDULE USER (--for DURATION | --until TIME) [--from TIME] [--instead-of USER] [--reason TEXT] [--json] | ' +
    'ORG/PRJ/SCHEDULE --end ID [--json] | ORG/PRJ/SCHEDULE --list [--json]',
  summary: 'Take, give or cover a shift: someone is on call instead of others for some time.',
  details: `USER               who is on call
--instead-of USER  whose place is taken, while that one is on call; default: everyone's
--from TIME        when it begins; default: now
--for DURATION     how long, such as 90m, 12h or 3d
--until TIME       when it ends, instead of --for
--reason TEXT      why, in one line
--end ID           end this override now, or delete it if it has not begun
--list             list overrides, newest first
--json             print JSON

It beats all layers of the schedule. Of several that overlap, the one that was created last counts. With BELFRY_URL, the key needs the
permission schedule:override, and for --list schedule:read.`,
  examples: [
    'belfry cover acme/ops/primary bob@acme.test --instead-of ann@acme.test --from 2030-01-05T17:00:00Z --for 16h',
    'belfry cover acme/ops/primary --list',
    'belfry cover acme/ops/primary --end 7',
  ],
  async run(args, terminal) {
    const { values, positionals } = readArguments(args, options);
    const [target, user, ...others] = positionals;
    const path = readSchedulePath(target, 'cover');
    if (others.length > 0) throw usageError('name one user: see `belfry help cover`');
    if (values.list) return list(terminal, path, values.json);
    if (values.end !== undefined) return end(terminal, path, values.end, values.json);
    if (!user) throw usageError('name the user who is on call: see `belfry help cover`');
    if ((values.for === undefined) === (values.until === undefined)) throw usageError('choose --for or --until');
    const starts_at = parseTime('--from', values.from)?.toISOString();
    const ends_at = parseTime('--until', values.until)?.toISOString();
    const input: NewOverride = {
      user,
      ...(values['instead-of'] !== undefined && { replaces: values['instead-of'] }),
      ...(starts_at && { starts_at }),
      ...(ends_at && { ends_at }),
      ...(values.for !== undefined && { duration: values.for }),
      ...(values.reason !== undefined && { reason: values.reason }),
    };
    const made = (await askSchedule(terminal, path, ['POST', 'overrides/', input], (deps, at) =>
      createOverride(deps, at, parse(NewOverride, input)),
    )) as unknown as Sent<OverrideView>;
    if (values.json) return terminal.print(JSON.stringify(made));
    const instead = made.replaces === null ? '' : ` instead of ${made.replaces}`;
    const times = `from ${formatTime(made.starts_at)} until ${formatTime(made.ends_at)}`;
    terminal.print(printable(`${made.user} is on call${instead} ${times}.`));
    terminal.print(`To end it early: belfry cover ${target} --end ${made.id}`);
  },
};

const options = {
  'instead-of': string,
  from: string,
  for: string,
  until: string,
  reason: string,
  end: string,
  list: flag,
  json: flag,
};

async function list(terminal: Terminal, path: SchedulePath, json: boolean | undefined): Promise<void> {
  const found = await askSchedule(terminal, path, ['GET', 'overrides/'], (deps, at) =>
    listOverrides(deps, at, {}, { after: 0, limit: maxRows }),
  );
  printRows(terminal, found as unknown as Sent<OverrideView>[], { json }, 'There are no overrides.', {
    ID: one => String(one.id),
    STATE: one => one.state,
    'ON CALL': one => printable(one.user),
    'INSTEAD OF': one => printable(one.replaces ?? 'everyone'),
    FROM: one => formatTime(one.starts_at),
    UNTIL: one => formatTime(one.ends_at),
    BY: one => printable(one.created_by),
    REASON: one => printable(one.reason ?? ''),
  });
}

async function end(terminal: Terminal, path: SchedulePath, text: string, json: boolean | undefined): Promise<void> {
  if (!/^\d{1,15}$/.test(text)) throw usageError('--end must be the id of an override: see `belfry cover … --list`');
  const ended = await askSchedule(terminal, path, ['DELETE', `overrides/${text}/`], async (deps, at) =>
    endOverrideEarly(deps, at, await getOverride(deps, at, Number(text))),
  );
  terminal.print(json ? JSON.stringify(ended) : 'Ended.');
}

export const page: Command = {
  name: 'page',
  usage: 'ORG/PRJ/SCHEDULE [--user USER] [--not-urgent] [--idempotency-key KEY] MESSAGE [--json]',
  summary: 'Page the users on call, or one person, and print the identifier of the occurrence.',
  details: `MESSAGE                what has happened; its first line is the title
--user USER            notify only this user, who need not be on call
--not-urgent           by the rules of each person for other messages
--idempotency-key KEY  a repetition with the same key notifies no one again
--json                 print JSON

The schedule needs \`page\`, which names the event that is triggered. With BELFRY_URL, the key needs the permission schedule:page.`,
  examples: [
    "belfry page acme/ops/primary 'The website is down'",
    "belfry page acme/ops/primary --user bob@acme.test 'Please call me'",
  ],
  async run(args, terminal) {
    const options = { user: string, 'not-urgent': flag, 'idempotency-key': string, json: flag };
    const { values, positionals } = readArguments(args, options);
    const [target, message, ...others] = positionals;
    const path = readSchedulePath(target, 'page');
    if (!message || others.length > 0) throw usageError('give one message, in quotes: see `belfry help page`');
    const input: NewPage = {
      message,
      ...(values.user !== undefined && { user: values.user }),
      ...(values['not-urgent'] && { urgent: false }),
      ...(values['idempotency-key'] !== undefined && { idempotency_key: values['idempotency-key'] }),
    };
    const { occurrence } = await askSchedule(terminal, path, ['POST', 'page/', input], async (deps, at) => ({
      occurrence: await pageNow(deps, at, parse(NewPage, input)),
    }));
    terminal.print(values.json ? JSON.stringify({ occurrence }) : occurrence);
  },
};
