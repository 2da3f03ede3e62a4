import type { HoldState } from '../core/decision/guards/guard.ts';
import { isUuid } from '../core/ids.ts';
import { limits } from '../core/text/text.ts';
import type { Deps } from '../services/deps.ts';
import { type Hold, listHolds, approve as run, reject as runRejection } from '../services/history/holds.ts';
import { flag, onlyOf, readArguments, string } from './arguments.ts';
import { type Command, type Terminal, usageError } from './command.ts';
import { formatCount, formatTime } from './format.ts';
import { remoteOf, withOrganization } from './remote.ts';
import { asSent, printRows, type Sent } from './rows.ts';

const states: Partial<Record<HoldState, string>> = { counting: 'counting', held: 'waits for approval' };

export const holds: Command = {
  name: 'holds',
  usage: 'ORG [--decided] [--json]',
  summary: 'List occurrences that wait for an approval.',
  details: `An occurrence waits because it has far more recipients than usual, or because the sample of its canary did not go well.

--org ORG  the organization; also accepted as the first argument
--decided  those that were approved or rejected, or have expired, instead
--json     print JSON, with what would be sent via each channel and who is left out

With BELFRY_URL, the key needs the permission occurrence:read.`,
  examples: ['belfry holds acme', 'belfry holds acme --decided --json'],
  async run(args, terminal) {
    const { values, positionals } = readArguments(args, { org: string, decided: flag, json: flag });
    const named = values.org === undefined ? positionals : [values.org, ...positionals];
    const org = onlyOf(named, 'name one organization: belfry holds ORG');
    const { decided = false } = values;
    const remote = remoteOf(terminal);
    const path = `/api/o/${encodeURIComponent(org)}/holds/${decided ? '?decided=true' : ''}`;
    const found: Sent<Hold>[] = remote
      ? await remote.request('GET', path)
      : await withOrganization(terminal, org, async (deps, id) => asSent(await listHolds(deps, id, !decided)));
    const none = decided ? 'Nothing was decided yet.' : 'Nothing waits for an approval.';
    printRows(terminal, found, { json: values.json }, none, {
      OCCURRENCE: ({ occurrence }) => occurrence,
      EVENT: ({ event }) => event ?? '(deleted)',
      STATE: ({ state, decided_by }) => `${states[state] ?? state}${decided_by ? ` by ${decided_by}` : ''}`,
      RECIPIENTS: ({ recipients, counted }) => `${formatCount(recipients)}${counted ? '' : ' so far'}`,
      EXPIRES: ({ expires_at }) => formatTime(expires_at),
      WHY: describeCause,
    });
  },
};

export const approve: Command = {
  name: 'approve',
  usage: 'ORG OCCURRENCE [--per-second N] [--json]',
  summary: 'Approve an occurrence that waits for an approval.',
  details: `Its messages are sent. Recipients are decided again: one who has opted out meanwhile gets nothing.

OCCURRENCE      identifier of the occurrence: see \`belfry holds\`
--per-second N  make so many messages per second due
--json          print the result as JSON

With BELFRY_URL, the key needs the permission occurrence:approve.`,
  examples: [
    'belfry approve acme 019a8a5d-ac96-774b-bcce-b302099a8057',
    'belfry approve acme 019a8a5d-ac96-774b-bcce-b302099a8057 --per-second 50',
  ],
  async run(args, terminal) {
    const { values, positionals } = readArguments(args, { 'per-second': string, json: flag });
    const { 'per-second': rate, json } = values;
    if (rate !== undefined && !/^[1-9]\d{0,4}$/.test(rate))
      throw usageError('--per-second must be a number from 1 to 99999');
    const perSecond = rate === undefined ? undefined : Number(rate);
    const decided = await decide(terminal, positionals, {
      action: 'approve',
      body: perSecond === undefined ? {} : { per_second: perSecond },
      run: (deps, id, occurrence) => run(deps, id, occurrence, { perSecond }),
    });
    const pace = rate === undefined ? '' : `, ${rate} per second`;
    terminal.print(
      json
        ? JSON.stringify(decided)
        : [`Approved: ${describe(decided)} will be sent${pace}.`, ...decided.explanation].join('\n'),
    );
  },
};

export const reject: Command = {
  name: 'reject',
  usage: 'ORG OCCURRENCE [--reason TEXT] [--json]',
  summary: 'Reject an occurrence that waits for an approval.',
  details: `It ends as cancelled, and nothing more is sent.

OCCURRENCE     identifier of the occurrence: see \`belfry holds\`
--reason TEXT  why, in one line
--json         print the result as JSON

With BELFRY_URL, the key needs the permission occurrence:approve.`,
  examples: ["belfry reject acme 019a8a5d-ac96-774b-bcce-b302099a8057 --reason 'wrong list'"],
  async run(args, terminal) {
    const { values, positionals } = readArguments(args, { reason: string, json: flag });
    const { reason, json } = values;
    if (reason !== undefined && (reason.length > limits.reason || /[\r\n]/.test(reason)))
      throw usageError(`--reason must be a single line of at most ${limits.reason} characters`);
    const decided = await decide(terminal, positionals, {
      action: 'reject',
      body: reason === undefined ? {} : { reason },
      run: (deps, id, occurrence) => runRejection(deps, id, occurrence, reason),
    });
    terminal.print(
      json
        ? JSON.stringify(decided)
        : [`Rejected: ${describe(decided)} will not be sent.`, ...decided.explanation].join('\n'),
    );
  },
};

interface Decision {
  action: 'approve' | 'reject';
  body: object;
  run: (deps: Deps, organizationId: number, occurrence: string) => Promise<Hold>;
}

async function decide(
  terminal: Terminal,
  [org, occurrence, ...others]: string[],
  { action, body, run }: Decision,
): Promise<Sent<Hold>> {
  if (!org || !occurrence || others.length > 0)
    throw usageError(`name organization and occurrence: belfry ${action} ORG OCCURRENCE`);
  if (!isUuid(occurrence)) throw usageError('OCCURRENCE must be an identifier: see `belfry holds`');
  const remote = remoteOf(terminal);
  if (!remote)
    return withOrganization(terminal, org, async (deps, id) => asSent([await run(deps, id, occurrence)])[0]!);
  return remote.request('POST', `/api/o/${encodeURIComponent(org)}/occurrence/${occurrence}/hold/${action}/`, body);
}

/** Says what an occurrence waits for. */
function describeCause({ kind, threshold, largest, explanation }: Sent<Hold>): string {
  if (kind !== 'audience') return explanation.join(' ');
  const before = largest === null ? 'not sent in 90 days' : `at most ${formatCount(largest)} in 90 days`;
  return `more than ${formatCount(threshold)}; ${before}`;
}

function describe({ channels, counted }: Sent<Hold>): string {
  const count = channels.reduce((sum, { messages }) => sum + messages, 0);
  if (!counted) return 'all messages';
  return count === 1 ? '1 message' : `${formatCount(count)} messages`;
}
