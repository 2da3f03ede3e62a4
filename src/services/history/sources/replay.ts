/** Judges a stored payload again, with the source as it is now, such as after a mistake in its mapping was corrected. */
import { AppError } from '../../../core/errors.ts';
import { timeOfUuid } from '../../../core/ids.ts';
import { readRequest } from '../../../core/sources/mapping.ts';
import type { AlertResult, Payload } from '../../../db/history/sources/payloads.ts';
import { findSource } from '../../../db/history/sources/sources.ts';
import { gone } from '../../configuration/entries.ts';
import type { Deps } from '../../deps.ts';
import { record } from '../../operations/audit.ts';
import { openSource, summarizeResults } from './ingress.ts';
import { judge } from './judge.ts';
import { isWhole, toOriginal } from './stored-request.ts';

const changing = new Set(['opened', 'reopened', 'repeated', 'acknowledged', 'resolved']);

/**
 * Alerts of which something newer is known are left alone, so repeating it changes nothing. Returns what became of each alert now,
 * and how many changed something.
 */
export async function replayPayload(deps: Deps, organizationId: number, sourceId: number, payload: Payload) {
  const source = await findSource(deps.db, organizationId, sourceId);
  if (!source) throw gone('source');
  refuseUnusable(payload);
  const { id, bytes } = payload;
  const { compiled } = openSource(deps, source);
  const read = (() => {
    try {
      return readRequest(compiled, toOriginal(payload));
    } catch (error) {
      throw new AppError('payload.unusable', `the payload ${(error as Error).message}`);
    }
  })();
  const results = await judge(deps, source, compiled, read, { receivedAt: timeOfUuid(id), bytes });
  const changed = results.filter(({ outcome }) => changing.has(outcome)).length;
  const settled = summarizeResults(results.map(result => keepEarlier(result, payload.alerts)));
  await deps.sources.settle({
    ...{ organization_id: organizationId, source_id: sourceId, id },
    ...settled,
    note: read.note ?? null,
  });
  const after = { payload: id, changed };
  await record(deps, deps.db, organizationId, { action: 'replay', noun: 'source', path: source.slug, after });
  return { state: settled.state, changed, alerts: results };
}

function refuseUnusable({ state, request, bytes, body }: Payload): void {
  const reason =
    state === 'received'
      ? 'it has not been judged yet: wait a moment'
      : request.is_forged === true
        ? 'its sender could not be verified: only the sender can send it again'
        : !isWhole({ bytes, body })
          ? 'it is too large: only its beginning is kept'
          : /^\/v2\/change\//.test(String(request.url))
            ? 'a change event notifies no one'
            : undefined;
  if (reason !== undefined) throw new AppError('payload.unusable', reason);
}

/** What an alert opened the first time stays with the payload. */
function keepEarlier(result: AlertResult, before: readonly AlertResult[]): AlertResult {
  if (result.outcome !== 'outdated') return result;
  return before.find(({ at, occurrence }) => at === result.at && occurrence !== undefined) ?? result;
}
