/** `belfry feedback list`: the newest events that an organization has received. */
import { parseArgs } from 'node:util';
import { type FeedbackType, feedbackTypes } from '../core/feedback/event.ts';
import * as queries from '../db/history/feedback/feedback.ts';
import { getOrganization } from '../services/configuration/organizations.ts';
import { type Terminal, usageError } from './command.ts';
import { formatTable, formatTime } from './format.ts';
import { remoteOf } from './remote.ts';
import { maxLimit, type RowLimit, readRowLimit, rowOptions } from './rows.ts';

interface Entry {
  type: string;
  permanent: boolean | null;
  reason: string | null;
  detail: string | null;
  recipient: string | null;
  source: string;
  at: string;
  occurrence?: string;
  delivery?: number;
  address?: string | null;
  message_id?: string | null;
}

const rowLimits = { default: 100, max: maxLimit };

export async function listFeedback(args: string[], terminal: Terminal): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      org: { type: 'string' },
      type: { type: 'string' },
      unmatched: { type: 'boolean' },
      ...rowOptions,
      json: { type: 'boolean' },
    },
  });
  const limit = readRowLimit(values, rowLimits);
  const { org, type, unmatched = false } = values;
  if (!org) throw usageError('--org is missing: see `belfry help feedback`');
  if (type !== undefined && !feedbackTypes.includes(type as FeedbackType))
    throw usageError(`--type must be one of ${feedbackTypes.join(', ')}`);
  if (type !== undefined && unmatched) throw usageError('--type and --unmatched cannot be combined');
  const { shown: entries, more } = limit.take(
    await find(terminal, org, type as FeedbackType | undefined, unmatched, limit),
  );
  if (values.json) terminal.print(JSON.stringify(entries, null, 2));
  else if (entries.length === 0) terminal.print('No events.');
  else
    terminal.print(
      formatTable([
        ['AT', 'EVENT', 'SOURCE', 'ADDRESS', unmatched ? 'MESSAGE' : 'DELIVERY', 'DETAIL'],
        ...entries.map(one => [
          formatTime(one.at),
          [one.type, one.permanent && 'permanently', one.reason && `(${one.reason})`].filter(Boolean).join(' '),
          one.source,
          one.address ?? one.recipient ?? '',
          unmatched ? (one.message_id ?? '') : `${one.occurrence}/${one.delivery}`,
          one.detail ?? '',
        ]),
      ]),
    );
  if (more && !values.json) terminal.print(more);
  return 0;
}

async function find(
  terminal: Terminal,
  org: string,
  type: FeedbackType | undefined,
  unmatched: boolean,
  limit: RowLimit,
): Promise<Entry[]> {
  const remote = remoteOf(terminal);
  if (remote) {
    const query = new URLSearchParams({ ...limit.query, ...(type && { type }) });
    const path = `/api/o/${encodeURIComponent(org)}/feedback/${unmatched ? 'unmatched/' : ''}?${query}`;
    return remote.request<Entry[]>('GET', path);
  }
  return terminal.withDeps(async deps => {
    const { id } = await getOrganization(deps, org);
    const page = { after: '', limit: limit.toRead };
    if (unmatched) return show(await queries.listUnmatchedFeedback(deps.db, id, page));
    const rows = await queries.listFeedback(deps.db, id, type ? [type] : feedbackTypes, page);
    return show(
      rows.map(({ occurrence_id, delivery_id, ...event }) => ({
        ...event,
        occurrence: occurrence_id,
        delivery: delivery_id,
      })),
    );
  });
}

/** Times become strings, as in the response of a server. */
function show(rows: object[]): Entry[] {
  return JSON.parse(JSON.stringify(rows)) as Entry[];
}
