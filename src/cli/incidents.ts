import { severities } from '../core/sources/alert.ts';
import { incidentStates } from '../core/sources/incidents.ts';
import { listIncidents } from '../services/history/acknowledgements/escalations.ts';
import { flag, oneOf, onlyOf, readArguments, string } from './arguments.ts';
import { type Command, usageError } from './command.ts';
import { formatTime } from './format.ts';
import { remoteOf, withOrganization } from './remote.ts';
import { asSent, printRows, type Sent } from './rows.ts';

type Listed = Awaited<ReturnType<typeof listIncidents>>['rows'][number];
type Incident = Sent<Pick<Listed, 'title' | 'severity' | 'status' | 'notified' | 'notified_more'>> & {
  occurrence: { identifier: string; event: string | null; created_at: string };
  steps: { next_step: number | null; next_at: string | null }[];
};

const limits = { default: 20, max: 500 };

export const incidents: Command = {
  name: 'incidents',
  usage: '--org ORG [--status STATUS] [--severity SEVERITY] [--limit N] [--json]',
  summary: 'List incidents: what someone should take care of, with what needs attention first.',
  details: `--org ORG            the organization; also accepted as the first argument
--status STATUS      ${incidentStates.join(', ')}; default: open
--severity SEVERITY  only with this severity: ${severities.join(', ')}
--limit N            at most this many; default: ${limits.default}, maximum: ${limits.max}
--json               print JSON

With BELFRY_URL, the key needs the permission occurrence:read.

To respond: belfry acknowledge, snooze, unacknowledge and resolve.`,
  examples: [
    'belfry incidents acme',
    'belfry incidents acme --status acknowledged',
    'belfry incidents acme --severity critical',
  ],
  async run(args, terminal) {
    const { values, positionals } = readArguments(args, {
      org: string,
      status: string,
      severity: string,
      limit: string,
      json: flag,
    });
    const named = values.org === undefined ? positionals : [values.org, ...positionals];
    const org = onlyOf(named, 'name one organization: belfry incidents --org ORG');
    const limit = values.limit === undefined ? limits.default : Number(values.limit);
    if (!Number.isInteger(limit) || limit < 1 || limit > limits.max)
      throw usageError(`--limit must be a number from 1 to ${limits.max}`);
    const state = oneOf('--status', incidentStates, values.status) ?? 'open';
    const severity = oneOf('--severity', severities, values.severity);
    const remote = remoteOf(terminal);
    const query = new URLSearchParams({ status: state, ...(severity && { severity }), limit: String(limit) });
    const found: Incident[] = remote
      ? await remote.request('GET', `/api/o/${encodeURIComponent(org)}/incidents/?${query}`)
      : await withOrganization(terminal, org, async (deps, id) => {
          const { rows } = await listIncidents(deps, id, { state, severity }, { after: undefined, limit });
          return asSent(
            rows.map(({ row, key: _, ...rest }) => ({ ...rest, occurrence: row })),
          ) as unknown as Incident[];
        });
    printRows(terminal, found, { json: values.json }, `No incidents are ${state}.`, {
      CREATED: ({ occurrence }) => formatTime(occurrence.created_at),
      OCCURRENCE: ({ occurrence }) => occurrence.identifier,
      SEVERITY: ({ severity }) => severity ?? '',
      TITLE: ({ title, occurrence }) => title ?? occurrence.event ?? '(deleted)',
      'NEXT STEP': ({ steps }) => describeNext(steps),
      NOTIFIED: ({ notified, notified_more }) => [...notified, ...(notified_more ? ['…'] : [])].join(', '),
    });
  },
};

/** The step that runs first. */
function describeNext(steps: Incident['steps']): string {
  const [first] = steps.filter(one => one.next_at !== null).sort((a, b) => (a.next_at! < b.next_at! ? -1 : 1));
  return first ? `${first.next_step} at ${formatTime(first.next_at!)}` : '';
}
