import type { Snooze } from '../core/decision/snooze.ts';
import { isUuid } from '../core/ids.ts';
import type { Deps } from '../services/deps.ts';
import {
  acknowledge as runAcknowledge,
  resolve as runResolve,
  snooze as runSnooze,
  unacknowledge as runUnacknowledge,
} from '../services/history/acknowledgements/acknowledgements.ts';
import { flag, readArguments, string } from './arguments.ts';
import { type Command, type Terminal, usageError } from './command.ts';
import { formatTime } from './format.ts';
import { remoteOf, withOrganization } from './remote.ts';
import { asSent, type Sent } from './rows.ts';

type Answers = Awaited<ReturnType<typeof runAcknowledge>>;

const permission = 'With BELFRY_URL, the key needs the permission occurrence:write.';
const identifier = 'OCCURRENCE     identifier of the occurrence: see `belfry occurrences`';

/** A command that needs nothing but the occurrence. */
const answering = (action: Response['action'], run: Response['run'], summary: string): Command => ({
  name: action,
  usage: 'ORG OCCURRENCE [--json]',
  summary,
  details: `${identifier}
--json         print the result as JSON

${permission}`,
  examples: [`belfry ${action} acme 019a8a5d-ac96-774b-bcce-b302099a8057`],
  async run(args, terminal) {
    const { values, positionals } = readArguments(args, { json: flag });
    await respond(terminal, positionals, { action, json: values.json, run });
  },
});

export const acknowledge: Command = answering(
  'acknowledge',
  runAcknowledge,
  'Acknowledge an occurrence: nothing escalates any further.',
);

export const snooze: Command = {
  name: 'snooze',
  usage: 'ORG OCCURRENCE (--for DURATION | --until TIME [--timezone ZONE]) [--json]',
  summary: 'Acknowledge an occurrence until a time, at which it escalates again.',
  details: `${identifier}
--for DURATION   how long, such as 1h; at most 7d
--until TIME     a time of day such as 08:00, or a time such as 2027-01-31T08:00:00Z
--timezone ZONE  of a time of day; default: that of the organization, else UTC
--json           print the result as JSON

${permission}`,
  examples: [
    'belfry snooze acme 019a8a5d-ac96-774b-bcce-b302099a8057 --for 1h',
    'belfry snooze acme 019a8a5d-ac96-774b-bcce-b302099a8057 --until 08:00 --timezone Europe/Berlin',
  ],
  async run(args, terminal) {
    const { values, positionals } = readArguments(args, { for: string, until: string, timezone: string, json: flag });
    const { json, ...given } = values;
    if ((given.for === undefined) === (given.until === undefined)) throw usageError('set either --for or --until');
    const body: Snooze = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    const run = (deps: Deps, id: number, occurrence: string) => runSnooze(deps, id, occurrence, body);
    await respond(terminal, positionals, { action: 'snooze', body, json, run });
  },
};

export const unacknowledge: Command = answering(
  'unacknowledge',
  runUnacknowledge,
  'Take an acknowledgement or a snooze back: the occurrence escalates again at once.',
);

export const resolve: Command = answering(
  'resolve',
  runResolve,
  'Resolve an occurrence: it is over, and the next alert with its key opens another one.',
);

interface Response {
  action: 'acknowledge' | 'snooze' | 'unacknowledge' | 'resolve';
  body?: object;
  json: boolean | undefined;
  run: (deps: Deps, organizationId: number, occurrence: string) => Promise<Answers>;
}

async function respond(
  terminal: Terminal,
  [org, occurrence, ...others]: string[],
  { action, body, json, run }: Response,
): Promise<void> {
  if (!org || !occurrence || others.length > 0)
    throw usageError(`name organization and occurrence: belfry ${action} ORG OCCURRENCE`);
  if (!isUuid(occurrence)) throw usageError('OCCURRENCE must be an identifier: see `belfry occurrences`');
  const remote = remoteOf(terminal);
  const path = `/api/o/${encodeURIComponent(org)}/occurrence/${occurrence}/${action}/`;
  const answers: Sent<Answers> = remote
    ? await remote.request('POST', path, body)
    : await withOrganization(terminal, org, async (deps, id) => asSent([await run(deps, id, occurrence)])[0]!);
  terminal.print(json ? JSON.stringify(answers) : describe(answers));
}

function describe(answers: Sent<Answers>): string {
  const { changed, acknowledged_by, acknowledged_until: until, snoozed_by, resolved_at, resolved_by } = answers;
  const state = resolved_at
    ? `Resolved by ${resolved_by}.`
    : snoozed_by !== null && until
      ? `Snoozed by ${snoozed_by} until ${formatTime(until)}.`
      : acknowledged_by === null
        ? 'Not acknowledged.'
        : `Acknowledged by ${acknowledged_by}${until ? ` until ${formatTime(until)}` : ''}.`;
  return changed ? state : `Nothing changed. ${state}`;
}
