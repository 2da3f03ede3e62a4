import { NewSilence } from '../core/decision/silence-rules.ts';
import { parseMatcher, type SilenceState } from '../core/decision/silences.ts';
import { isUuid } from '../core/ids.ts';
import { parse } from '../core/schema.ts';
import { getOrganization } from '../services/configuration/organizations.ts';
import type { Deps } from '../services/deps.ts';
import {
  createSilence,
  endSilenceEarly,
  listSilencedOccurrences,
  listSilences,
  previewSilence,
  type SilenceView,
} from '../services/history/silences/silences.ts';
import { flag, oneOf, parseTime, readArguments, string } from './arguments.ts';
import { type Command, type Terminal, usageError } from './command.ts';
import { formatCount, formatTime, printable } from './format.ts';
import { remoteOf, withOrganization } from './remote.ts';
import { asSent, printRows, readRowLimit, rowOptions, type Sent } from './rows.ts';

const states = ['active', 'planned', 'ended'] as const satisfies readonly SilenceState[];
const maxShown = 999;

export const silences: Command = {
  name: 'silences',
  usage: 'ORG [ID] [--state active|planned|ended] [--limit N | --all] [--json]',
  summary: 'List silences, or what a silence held and suppressed.',
  details: `ID             list the occurrences that this silence held or suppressed instead
--state STATE  active, planned or ended; default: all of them, newest first
--limit N      rows to show; default: 50
--all          show all rows
--json         print JSON

With BELFRY_URL, the key needs the permission silence:read.`,
  examples: ['belfry silences acme --state active', 'belfry silences acme 019a8a5d-ac96-774b-bcce-b302099a8057'],
  async run(args, terminal) {
    const { values, positionals } = readArguments(args, { state: string, json: flag, ...rowOptions });
    const [org, id, ...others] = positionals;
    if (!org || others.length > 0 || (id !== undefined && !isUuid(id)))
      throw usageError('name one organization, and the id of a silence: belfry silences ORG [ID]');
    const state = oneOf('--state', states, values.state);
    const limit = readRowLimit(values, { default: 50, max: maxShown });
    const page = { before: '', limit: limit.toRead };
    const query = new URLSearchParams({ ...limit.query, ...(state && !id && { state }) });
    const path = `/api/o/${encodeURIComponent(org)}/silences/${id ? `${id}/occurrences/` : ''}?${query}`;
    const read = <Row>(list: (deps: Deps, organizationId: number) => Promise<Row[]>): Promise<Sent<Row>[]> => {
      const remote = remoteOf(terminal);
      if (remote) return remote.request('GET', path);
      return withOrganization(terminal, org, async (deps, organizationId) => asSent(await list(deps, organizationId)));
    };
    const { json } = values;
    if (id) {
      const rows = await read((deps, organizationId) => listSilencedOccurrences(deps, organizationId, id, page));
      const { shown, more } = limit.take(rows);
      printRows(terminal, shown, { json, more }, 'It silenced nothing.', {
        OCCURRENCE: one => one.id,
        EVENT: one => one.event ?? '(deleted)',
        TITLE: one => printable(one.title ?? ''),
        STATE: one => one.state,
        UNTIL: one => (one.state === 'suppressed' ? '' : formatTime(one.until)),
      });
      return;
    }
    const rows = await read((deps, organizationId) => listSilences(deps, organizationId, { state }, page));
    const { shown, more } = limit.take(rows);
    printRows(terminal, shown, { json, more }, 'There are no silences.', {
      ID: one => one.id,
      STATE: one => one.state,
      MATCHES: one => printable(describeMatch(one)),
      FROM: one => formatTime(one.starts_at),
      UNTIL: one => formatTime(one.ends_at),
      HELD: ({ counts }) => formatCount(counts.held),
      SUPPRESSED: ({ counts }) => formatCount(counts.suppressed),
      BY: one => printable(one.created_by),
      REASON: one => printable(one.reason),
    });
  },
};

export const silence: Command = {
  name: 'silence',
  usage:
    'ORG[/PRJ[/APP[/EVT]]] [MATCHER...] --for DURATION --reason TEXT [--from TIME] [--until TIME] ' +
    '[--hours FROM-TO --timezone ZONE [--days DAYS]] [--preview] [--json] | ORG --end ID [--json]',
  summary: 'Silence what matches for some time, or end a silence early.',
  details: `What matches is not sent while the silence applies. An occurrence with a dedup_key, such as an alert, waits for its end and is sent
then if it is still open; any other is suppressed. Steps of escalations wait, too.

MATCHER          FIELD=VALUE, FIELD!=VALUE, or with a pattern FIELD~VALUE, FIELD!~VALUE, in which * stands for any text. FIELD is
                 a path in the context, such as labels.alertname. All of them have to match.
--for DURATION   how long, such as 90m, 2h or 7d
--until TIME     when it ends, instead of --for
--from TIME      when it begins; default: now
--reason TEXT    why, in one line, for everyone who asks why a message was not sent
--hours FROM-TO  it recurs, at this time of day, such as 22:00-06:00
--timezone ZONE  the time zone of --hours, such as Europe/Berlin
--days DAYS      the days on which --hours begin, such as sat,sun; default: every day
--preview        only list the open occurrences that it would match now
--end ID         end this silence now, and send what it holds: see \`belfry silences\`
--json           print the result as JSON

With BELFRY_URL, the key needs the permission silence:write, and for --preview silence:read.`,
  examples: [
    "belfry silence acme labels.cluster=berlin --for 2h --reason 'new switches'",
    "belfry silence acme/ops/monitoring 'labels.instance~db-*' --from 2030-01-31T22:00:00Z --for 4h --reason 'database upgrade'",
    'belfry silence acme labels.alertname=BackupSlow --preview',
    'belfry silence acme --end 019a8a5d-ac96-774b-bcce-b302099a8057',
  ],
  async run(args, terminal) {
    const { values, positionals } = readArguments(args, options);
    const [target = '', ...texts] = positionals;
    const [org = '', ...below] = target.split('/');
    if (org === '') throw usageError('name what to silence, such as ORG or ORG/PRJ: see `belfry help silence`');
    if (values.end !== undefined) return endNow(terminal, org, values.end, values.json);
    const matchers = texts.map(text => {
      const matcher = parseMatcher(text);
      if (!matcher) throw usageError(`${text} is no matcher: write FIELD=VALUE, such as labels.alertname=DiskFull`);
      return matcher;
    });
    const path = below.length > 0 ? below.join('/') : null;
    if (values.preview) return preview(terminal, org, { path, matchers }, values.json);
    const input: NewSilence = { path, matchers, ...readTimes(values) };
    const created = await ask<SilenceView>(terminal, org, '', input, (deps, organization) =>
      createSilence(deps, organization, parse(NewSilence, input)),
    );
    if (values.json) return terminal.print(JSON.stringify(created));
    const from = created.state === 'planned' ? ` from ${formatTime(created.starts_at)}` : '';
    terminal.print(`Silenced ${printable(describeMatch(created))}${from} until ${formatTime(created.ends_at)}.`);
    terminal.print(`To end it early: belfry silence ${org} --end ${created.id}`);
  },
};

const options = {
  for: string,
  from: string,
  until: string,
  reason: string,
  hours: string,
  timezone: string,
  days: string,
  end: string,
  preview: flag,
  json: flag,
};
type Values = ReturnType<typeof readArguments<typeof options>>['values'];

function readTimes({ for: duration, from, until, reason, hours, timezone, days }: Values) {
  if (reason === undefined) throw usageError('--reason is missing: everyone who misses a message sees it');
  if ((duration === undefined) === (until === undefined)) throw usageError('choose --for or --until');
  const starts_at = parseTime('--from', from)?.toISOString();
  const ends_at = parseTime('--until', until)?.toISOString();
  const times = {
    reason,
    ...(starts_at && { starts_at }),
    ...(ends_at && { ends_at }),
    ...(duration !== undefined && { duration }),
  };
  if (hours === undefined) {
    if (timezone !== undefined || days !== undefined) throw usageError('--timezone and --days need --hours');
    return times;
  }
  const [begin, end, ...others] = hours.split('-');
  if (!begin || !end || others.length > 0) throw usageError('--hours must be times of day such as 22:00-06:00');
  if (timezone === undefined) throw usageError('--hours needs --timezone, such as Europe/Berlin');
  const weekdays = days?.split(',') as NonNullable<NewSilence['recurrence']>['weekdays'];
  return { ...times, recurrence: { timezone, from: begin, to: end, ...(weekdays && { weekdays }) } };
}

/** Sends a request to a server, or runs the use case on the database with the same checks. */
async function ask<Result>(
  terminal: Terminal,
  org: string,
  path: string,
  body: object,
  run: (deps: Deps, organization: { id: number; slug: string }) => Promise<Result>,
): Promise<Sent<Result>> {
  const remote = remoteOf(terminal);
  if (remote) return remote.request('POST', `/api/o/${encodeURIComponent(org)}/silences/${path}`, body);
  return terminal.withDeps(async deps => {
    const { id } = await getOrganization(deps, org);
    return asSent([await run(deps, { id, slug: org })])[0]!;
  });
}

async function preview(
  terminal: Terminal,
  org: string,
  input: Pick<NewSilence, 'path' | 'matchers'>,
  json: boolean | undefined,
): Promise<void> {
  const found = await ask(terminal, org, 'preview/', input, (deps, organization) =>
    previewSilence(deps, organization, input),
  );
  if (json) return terminal.print(JSON.stringify(found));
  const more = found.complete ? '' : ', among the newest';
  terminal.print(`Open occurrences that match now: ${formatCount(found.matched)}${more}.`);
  printRows(terminal, found.occurrences, {}, '', {
    OCCURRENCE: one => one.id,
    EVENT: one => one.event ?? '(deleted)',
    TITLE: one => printable(one.title ?? ''),
  });
}

async function endNow(terminal: Terminal, org: string, id: string, json: boolean | undefined): Promise<void> {
  if (!isUuid(id)) throw usageError('--end must be the id of a silence: see `belfry silences`');
  const ended = await ask(terminal, org, `${id}/end/`, {}, (deps, organization) =>
    endSilenceEarly(deps, organization.id, id),
  );
  terminal.print(json ? JSON.stringify(ended) : `Ended. Occurrences that go on now: ${formatCount(ended.ended_now)}.`);
}

function describeMatch({ path, matchers }: Pick<SilenceView, 'path' | 'matchers'>): string {
  return [path, ...matchers.map(({ field, op, value }) => `${field}${op}${value}`)].filter(Boolean).join(' ');
}
