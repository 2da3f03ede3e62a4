/** `belfry feedback list`: the newest events that an organization has received. */
import { parseArgs } from 'node:util';
import { type FeedbackType, feedbackTypes } from '../core/feedback/event.ts';
import * as queries from '../db/history/feedback.ts';
import { getOrganization } from '../services/configuration/organizations.ts';
import { type Terminal, usageError } from './command.ts';
import { formatTable, printable } from './format.ts';
import { remoteOf } from './remote.ts';

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

const defaultLimit = 100;
const maxLimit = 1_000;

export async function listFeedback(args: string[], terminal: Terminal): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      org: { type: 'string' },
      type: { type: 'string' },
      unmatched: { type: 'boolean' },
      limit: { type: 'string' },
      json: { type: 'boolean' },
    },
  });
  const limit = values.limit === undefined ? defaultLimit : Number(values.limit);
  if (!Number.isInteger(limit) || limit < 1 || limit > maxLimit)
    throw usageError(`--limit must be a whole number from 1 to ${maxLimit}`);
  const { org, type, unmatched = false } = values;
  if (!org) throw usageError('--org is missing: see `belfry help feedback`');
  if (type !== undefined && !feedbackTypes.includes(type as FeedbackType))
    throw usageError(`--type must be one of ${feedbackTypes.join(', ')}`);
  if (type !== undefined && unmatched) throw usageError('--type and --unmatched cannot be combined');
  const entries = await find(terminal, org, type as FeedbackType | undefined, unmatched, limit);
  if (values.json) terminal.print(JSON.stringify(entries, null, 2));
  else if (entries.length === 0) terminal.print('No events.');
  else
    terminal.print(
      formatTable([
        ['AT', 'EVENT', 'SOURCE', 'ADDRESS', unmatched ? 'MESSAGE' : 'DELIVERY', 'DETAIL'],
        ...entries.map(one => [
          one.at,
          [one.type, one.permanent && 'permanently', one.reason && `(${one.reason})`].filter(Boolean).join(' '),
          printable(one.source),
          printable(one.address ?? one.recipient ?? ''),
          printable(unmatched ? (one.message_id ?? '') : `${one.occurrence}/${one.delivery}`),
          printable(one.detail ?? ''),
        ]),
      ]),
    );
  return 0;
}

async function find(
  terminal: Terminal,
  org: string,
  type: FeedbackType | undefined,
  unmatched: boolean,
  limit: number,
): Promise<Entry[]> {
  const remote = remoteOf(terminal);
  if (remote) {
    const query = new URLSearchParams({ limit: String(limit), ...(type && { type }) });
    const path = `/api/o/${encodeURIComponent(org)}/feedback/${unmatched ? 'unmatched/' : ''}?${query}`;
    return remote.request<Entry[]>('GET', path);
  }
  return terminal.withDeps(async deps => {
    const { id } = await getOrganization(deps, org);
    const page = { after: '', limit };
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
