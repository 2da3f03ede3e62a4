/** `belfry feedback list`: the newest events that an organization has received. */
import { type FeedbackType, feedbackTypes } from '../core/feedback/event.ts';
import * as queries from '../db/history/feedback/feedback.ts';
import { flag, oneOf, readOptions, requireOption, string } from './arguments.ts';
import { type Terminal, usageError } from './command.ts';
import { formatTime } from './format.ts';
import { remoteOf, withOrganization } from './remote.ts';
import { asSent, maxLimit, printRows, type RowLimit, readRowLimit, rowOptions } from './rows.ts';

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

export async function listFeedback(args: string[], terminal: Terminal): Promise<void> {
  const values = readOptions(args, { org: string, type: string, unmatched: flag, ...rowOptions, json: flag });
  const limit = readRowLimit(values, rowLimits);
  const { unmatched = false } = values;
  const org = requireOption('feedback', '--org', values.org);
  const type = oneOf('--type', feedbackTypes, values.type);
  if (type !== undefined && unmatched) throw usageError('--type and --unmatched cannot be combined');
  const { shown, more } = limit.take(await find(terminal, org, type, unmatched, limit));
  printRows(terminal, shown, { json: values.json, more }, 'No events.', {
    AT: one => formatTime(one.at),
    EVENT: one => [one.type, one.permanent && 'permanently', one.reason && `(${one.reason})`].filter(Boolean).join(' '),
    SOURCE: one => one.source,
    ADDRESS: one => one.address ?? one.recipient ?? '',
    [unmatched ? 'MESSAGE' : 'DELIVERY']: (one: Entry) =>
      unmatched ? (one.message_id ?? '') : `${one.occurrence}/${one.delivery}`,
    DETAIL: one => one.detail ?? '',
  });
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
  return withOrganization(terminal, org, async (deps, id) => {
    const page = { after: '', limit: limit.toRead };
    if (unmatched) return asSent(await queries.listUnmatchedFeedback(deps.db, id, page));
    const rows = await queries.listFeedback(deps.db, id, type ? [type] : feedbackTypes, page);
    return asSent(
      rows.map(({ occurrence_id, delivery_id, ...event }) => ({
        ...event,
        occurrence: occurrence_id,
        delivery: delivery_id,
      })),
    );
  });
}
