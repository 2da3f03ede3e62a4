import { explain } from '../services/history/why.ts';
import { flag, readArguments, string } from './arguments.ts';
import { type Command, usageError } from './command.ts';
import { printable } from './format.ts';
import { remoteOf, withOrganization } from './remote.ts';

interface Explanation {
  final: boolean;
  /** Absent from the responses of a previous version. */
  summary?: string;
  answers: { notification: string | null; channel: string | null; explanation: string }[];
}

export const why: Command = {
  name: 'why',
  usage: '--org ORG OCCURRENCE USER [--json]',
  summary: 'Explain which messages a user received for an occurrence, or why there were none.',
  details: `--org ORG   the organization; also accepted as the first argument
OCCURRENCE  identifier of the occurrence: see \`belfry occurrences\`
USER        username, or any address of the user
--json      print JSON

With BELFRY_URL, the key needs the permission occurrence:read.`,
  examples: ['belfry why --org acme 019a8a5d-ac96-774b-bcce-b302099a8057 jane@acme.test'],
  async run(args, terminal) {
    const { values, positionals } = readArguments(args, { org: string, json: flag });
    const [org, identifier, user, ...others] = values.org === undefined ? positionals : [values.org, ...positionals];
    if (!org || !identifier || !user || others.length > 0) {
      throw usageError('name organization, occurrence and user: belfry why --org ORG OCCURRENCE USER');
    }
    if (!isUuid.test(identifier)) throw usageError('OCCURRENCE must be an identifier: see `belfry occurrences`');
    const remote = remoteOf(terminal);
    const path = `/api/o/${encodeURIComponent(org)}/occurrence/${identifier}/why/?${new URLSearchParams({ user })}`;
    const found: Explanation = remote
      ? await remote.request('GET', path)
      : await withOrganization(terminal, org, (deps, id) => explain(deps, id, identifier, user));
    terminal.print(values.json ? JSON.stringify(found, null, 2) : describe(found));
  },
};

const isUuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

function describe({ final, summary, answers }: Explanation): string {
  const lines = answers.map(({ notification, channel, explanation }) =>
    [[notification, channel].filter(Boolean).join(' by '), explanation].filter(Boolean).join(': '),
  );
  if (summary) lines.push(`Occurrence: ${summary}`);
  if (!final) lines.push('Recipients are not resolved yet: this may change.');
  return lines.map(printable).join('\n');
}
