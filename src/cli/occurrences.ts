import { parseArgs } from 'node:util';
import { type OccurrenceOutcome, outcomes } from '../core/decision/outcome.ts';
import { occurrenceStates } from '../core/history/states.ts';
import { listOccurrences } from '../db/history/occurrences.ts';
import { getOrganization } from '../services/configuration/organizations.ts';
import { addStates } from '../services/history/occurrence-states.ts';
import { type Command, parseTime, usageError } from './command.ts';
import { formatTable, formatTime, formatWords } from './format.ts';
import { remoteOf } from './remote.ts';
import { readRowLimit, rowOptions } from './rows.ts';

const rowLimits = { default: 20, max: 500 };

interface OccurrenceRow {
  identifier: string;
  event: string | null;
  outcome: string;
  state?: keyof typeof occurrenceStates;
  /** Absent from the responses of a previous version. */
  summary?: string;
  created_at: string;
  counts: Record<string, number>;
  unexpanded?: number | null;
}

export const occurrences: Command = {
  name: 'occurrences',
  usage: '--org ORG [--event EVENT] [--outcome OUTCOME] [--since TIME] [--until TIME] [--limit N] [--all] [--json]',
  summary: 'List the occurrences of an organization with their outcomes, newest first.',
  details: `--org ORG          the organization; also accepted as the first argument
--event EVENT      only occurrences of the event with this slug
--outcome OUTCOME  only occurrences with this outcome
--since TIME       from this time on, such as 2026-01-31 or 2026-01-31T08:00:00Z
--until TIME       before this time
--limit N          at most this many; default: ${rowLimits.default}, maximum: ${rowLimits.max}
--all              as many as there are
--json             print JSON

With BELFRY_URL, the key needs the permission occurrence:read.

Outcomes:
${formatWords(outcomes, 118).replaceAll(/^/gm, '  ')}`,
  examples: ['belfry occurrences --org acme', 'belfry occurrences --org acme --outcome failed --since 2026-01-31'],
  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args,
      options: {
        org: { type: 'string' },
        event: { type: 'string' },
        outcome: { type: 'string' },
        since: { type: 'string' },
        until: { type: 'string' },
        ...rowOptions,
        json: { type: 'boolean' },
      },
      allowPositionals: true,
    });
    const [org, ...others] = values.org === undefined ? positionals : [values.org, ...positionals];
    if (!org || others.length > 0) throw usageError('name one organization: belfry occurrences --org ORG');
    const limit = readRowLimit(values, rowLimits);
    const filter = {
      event: values.event,
      outcome: readOutcome(values.outcome),
      since: parseTime('--since', values.since),
      until: parseTime('--until', values.until),
    };
    const remote = remoteOf(terminal);
    const found = remote
      ? await remote.request(
          'GET',
          `/api/o/${encodeURIComponent(org)}/occurrence/?${toQuery({ ...filter, ...limit.query })}`,
        )
      : await terminal.withDeps(async deps => {
          const { id } = await getOrganization(deps, org);
          const rows = await listOccurrences(deps.db, id, filter, { before: '', limit: limit.toRead });
          return addStates(deps, id, rows);
        });
    // Times become strings, as in the response of a server.
    const { shown: rows, more } = limit.take(JSON.parse(JSON.stringify(found)) as OccurrenceRow[]);
    if (values.json) terminal.print(JSON.stringify(rows, null, 2));
    else if (rows.length === 0) terminal.print('No occurrences.');
    else {
      terminal.print(formatTable([['CREATED', 'OCCURRENCE', 'EVENT', 'STATE', 'SUMMARY'], ...rows.map(describe)]));
      if (more) terminal.print(more);
    }
    return 0;
  },
};

function readOutcome(text: string | undefined): OccurrenceOutcome | undefined {
  if (text === undefined) return undefined;
  const outcome = outcomes.find(each => each === text);
  if (!outcome) throw usageError(`--outcome must be one of ${outcomes.join(', ')}`);
  return outcome;
}

function toQuery(values: Record<string, string | number | Date | undefined>): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) query.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  return query;
}

function describe({
  created_at,
  identifier,
  event,
  outcome,
  state,
  summary,
  counts,
  unexpanded = 0,
}: OccurrenceRow): string[] {
  const shown = Object.entries(counts).filter(([, count]) => count > 0);
  const missed = unexpanded === 0 ? [] : [`${unexpanded ?? 'unknown number'} not reached`];
  const deliveries = [...shown.map(([status, count]) => `${count} ${status}`), ...missed].join(', ');
  // A server of a previous version sends no state, and one of a later version may send a new one.
  const name = (state && occurrenceStates[state]?.name) ?? outcome;
  const sentence = summary?.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, time => formatTime(time)) ?? deliveries;
  return [formatTime(created_at), identifier, event ?? '(deleted)', name, sentence];
}
