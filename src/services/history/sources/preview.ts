/** Shows what a source would make of a payload. It uses the code of the ingress, and stores nothing. */
import type { EntryOf } from '../../../core/configuration/document.ts';
import { invalid } from '../../../core/errors.ts';
import { isAlert, type SourcePayload, type SourceRequest } from '../../../core/sources/alert.ts';
import { compileSource, readRequest, type SourceRules } from '../../../core/sources/mapping.ts';
import type { Slugs } from '../../../db/configuration/organizations.ts';
import { findRow } from '../../../db/configuration/rows.ts';
import { findPayload } from '../../../db/history/sources/payloads.ts';
import type { StoredSource } from '../../../db/history/sources/sources.ts';
import { checkOnly } from '../../configuration/entries.ts';
import type { Deps } from '../../deps.ts';
import { routeAll } from './judge.ts';
import { isWhole, toOriginal } from './stored-request.ts';

export const previewLimits = { alerts: 50, body: 500_000 } as const;

/** Returns the source as it would be saved. Throws the errors of its fields. */
export async function checkRules(deps: Deps, slugs: Slugs, entry: EntryOf<'source'>): Promise<SourceRules> {
  await checkOnly(deps, slugs, 'source', entry);
  const { slug, use = null, mapping = null, routes, group_by = [] } = entry;
  return { slug, use, mapping, routes, group_by };
}

interface Wanted {
  organizationId: number;
  applicationId: number;
  /** Slug. */
  source: string;
  payload: string | undefined;
  request: SourceRequest | undefined;
}

/** Returns the given request, or the one of a stored payload. Throws if that is not kept as a whole. */
export async function findRequest({ db }: Deps, wanted: Wanted): Promise<SourceRequest> {
  const { organizationId, applicationId, source: slug, payload: id, request } = wanted;
  if (id === undefined || request !== undefined) {
    if (request && id === undefined) return request;
    throw invalid({ request: ['is required: give either a request or the id of a stored payload'] });
  }
  const source = await findRow(db, organizationId, 'source', { parent: applicationId, slug });
  const payload = source && (await findPayload(db, organizationId, source.id, id));
  if (!payload) throw invalid({ payload: ['is not a payload of this source: only the last ones are kept'] });
  if (!isWhole(payload)) throw invalid({ payload: ['is too large: only its beginning is kept'] });
  return toOriginal(payload);
}

/** Returns the alerts, each with its event and its group, and what is wrong with the others. */
export async function previewSource(
  deps: Deps,
  path: Pick<StoredSource, 'organization' | 'project' | 'application'>,
  rules: SourceRules,
  request: SourceRequest,
) {
  const compiled = compileSource(rules);
  let payload: SourcePayload;
  try {
    payload = readRequest(compiled, request);
  } catch (error) {
    return { error: `the payload ${(error as Error).message}`, note: null, total: 0, alerts: [] };
  }
  const first = payload.alerts.slice(0, previewLimits.alerts);
  const routed = await routeAll(deps, path, compiled, first, request.bytes.length);
  const alerts = routed.map(({ result, alert }, i) => {
    const read = first[i]!.alert;
    const { at, key, error } = result;
    const outcome = alert ? ('routed' as const) : (result.outcome as 'unrouted' | 'ignored' | 'rejected');
    return {
      ...{ at, outcome, key: key ?? null, error: error || null },
      ...(isAlert(read)
        ? { state: read.state, title: read.title, severity: read.severity, time: read.time, context: read.context }
        : { state: null, title: null, severity: null, time: null, context: null }),
      event: alert?.event ?? null,
      dedup_key: alert?.dedupKey ?? null,
    };
  });
  return { error: null, note: payload.note ?? null, total: payload.alerts.length, alerts };
}
