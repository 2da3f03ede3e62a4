import { outcomes } from '../core/decision/outcome.ts';
import { occurrenceStates } from '../core/history/states.ts';
import { listOccurrences } from '../db/history/occurrences.ts';
import { addStates } from '../services/history/occurrence-states.ts';
import { flag, oneOf, onlyOf, parseTime, readArguments, string } from './arguments.ts';
import type { Command } from './command.ts';
import { formatTime, formatWords } from './format.ts';
import { remoteOf, withOrganization } from './remote.ts';
import { asSent, printRows, readRowLimit, rowOptions } from './rows.ts';

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
    const { values, positionals } = readArguments(args, {
      org: string,
      event: string,
      outcome: string,
      since: string,
      until: string,
      ...rowOptions,
      json: flag,
    });
    const named = values.org === undefined ? positionals : [values.org, ...positionals];
    const org = onlyOf(named, 'name one organization: belfry occurrences --org ORG');
    const limit = readRowLimit(values, rowLimits);
    const filter = {
      event: values.event,
      outcome: oneOf('--outcome', outcomes, values.outcome),
      since: parseTime('--since', values.since),
      until: parseTime('--until', values.until),
    };
    const remote = remoteOf(terminal);
    const path = `/api/o/${encodeURIComponent(org)}/occurrence/?${toQuery({ ...filter, ...limit.query })}`;
    const found: OccurrenceRow[] = remote
      ? await remote.request('GET', path)
      : await withOrganization(terminal, org, async (deps, id) => {
          const rows = await listOccurrences(deps.db, id, filter, { before: '', limit: limit.toRead });
          return asSent(await addStates(deps, id, rows));
        });
    const { shown, more } = limit.take(found);
    printRows(terminal, shown, { json: values.json, more }, 'No occurrences.', {
      CREATED: ({ created_at }) => formatTime(created_at),
      OCCURRENCE: ({ identifier }) => identifier,
      EVENT: ({ event }) => event ?? '(deleted)',
      // A server of a previous version sends no state, and one of a later version may send a new one.
      STATE: ({ state, outcome }) => (state && occurrenceStates[state]?.name) ?? outcome,
      SUMMARY: summarize,
    });
  },
};

function toQuery(values: Record<string, string | number | Date | undefined>): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) query.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  return query;
}

function summarize({ summary, counts, unexpanded = 0 }: OccurrenceRow): string {
  const shown = Object.entries(counts).filter(([, count]) => count > 0);
  const missed = unexpanded === 0 ? [] : [`${unexpanded ?? 'unknown number'} not reached`];
  const deliveries = [...shown.map(([status, count]) => `${count} ${status}`), ...missed].join(', ');
  return summary?.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, time => formatTime(time)) ?? deliveries;
}
