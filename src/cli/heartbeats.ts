import { type ListedHeartbeat, listHeartbeats } from '../services/configuration/heartbeats.ts';
import { flag, onlyOf, readArguments, string } from './arguments.ts';
import type { Command } from './command.ts';
import { formatTime } from './format.ts';
import { remoteOf, withOrganization } from './remote.ts';
import { printRows } from './rows.ts';

const maxRows = 10_000;

export const heartbeats: Command = {
  name: 'heartbeats',
  usage: 'ORG [--json]',
  summary: 'List heartbeats with their state: whether the jobs have called in time.',
  details: `--org ORG  the organization; also accepted as the first argument
--json     print JSON, with the occurrence that each has triggered

With BELFRY_URL, the key needs the permission source:read.`,
  examples: ['belfry heartbeats acme', 'belfry heartbeats acme --json'],
  async run(args, terminal) {
    const { values, positionals } = readArguments(args, { org: string, json: flag });
    const named = values.org === undefined ? positionals : [values.org, ...positionals];
    const org = onlyOf(named, 'name one organization: belfry heartbeats ORG');
    const remote = remoteOf(terminal);
    const found: ListedHeartbeat[] = remote
      ? await remote.request('GET', `/api/o/${encodeURIComponent(org)}/heartbeats/`)
      : await withOrganization(terminal, org, (deps, id) =>
          listHeartbeats(deps, id, { page: { after: 0, limit: maxRows } }),
        );
    printRows(terminal, found, { json: values.json }, 'There are no heartbeats yet.', {
      HEARTBEAT: ({ project, application, slug }) => `${project}/${application}/${slug}`,
      EVERY: ({ every }) => every,
      STATE: ({ state, reason }) => (reason ? `${state}: ${reason}` : state),
      'LAST CALL': ({ last_ping_at }) => (last_ping_at ? formatTime(last_ping_at) : 'never'),
      'MISSING AT': ({ missing_at }) => (missing_at ? formatTime(missing_at) : ''),
      ERROR: ({ error }) => error ?? '',
    });
  },
};
