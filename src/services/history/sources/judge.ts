/** Decides what becomes of the alerts of a payload: which occurrences are opened, counted, acknowledged and resolved. */
import { isAlert, type ReadAlert, type SourcePayload, sourceLimits } from '../../../core/sources/alert.ts';
import type { CompiledSource, RoutedAlert } from '../../../core/sources/mapping.ts';
import type { ResolvedPath } from '../../../db/configuration/organizations.ts';
import type { AlertResult } from '../../../db/history/sources/payloads.ts';
import type { StoredSource } from '../../../db/history/sources/sources.ts';
import { slices } from '../../../lib/load/slices.ts';
import type { Deps } from '../../deps.ts';
import { answerAll } from './answer.ts';
import { isLeftOpen, type Judged } from './judged.ts';
import { openAll } from './open.ts';

/** Evaluating the expressions of a source may take this long for one payload, with other work in between. */
const maxRoutingMs = 2_000;

interface JudgeOptions {
  /** When the payload was received, if it is judged again: what is known since then is newer. */
  receivedAt?: number;
  bytes: number;
}

/** Returns what became of each alert, in their order. */
export async function judge(
  deps: Deps,
  source: StoredSource,
  compiled: CompiledSource,
  payload: SourcePayload,
  { receivedAt, bytes }: JudgeOptions,
): Promise<AlertResult[]> {
  const judged = await routeAll(deps, source, compiled, payload.alerts, bytes);
  const alerts = judged.filter(one => one.alert !== undefined);
  markSuperseded(alerts);
  await findStored(deps, source, alerts, receivedAt);
  const { organization_id, id } = source;
  const isLeft = ({ result }: Judged) => result.outcome === 'unknown';
  const inState = (state: RoutedAlert['state']) => alerts.filter(one => isLeft(one) && one.alert!.state === state);
  await openAll(deps, source, inState('open'));
  await answerAll(deps, organization_id, id, inState('acknowledged'), 'acknowledged');
  await answerAll(deps, organization_id, id, inState('resolved'), 'resolved');
  return judged.map(({ result }) => result);
}

/** Reads the alerts of a payload of this size and finds the event of each. Other work runs in between. */
export async function routeAll(
  deps: Pick<Deps, 'tenantCache'>,
  source: Pick<StoredSource, 'organization' | 'project' | 'application'>,
  compiled: CompiledSource,
  alerts: readonly ReadAlert[],
  bytes: number,
): Promise<Judged[]> {
  const pause = slices();
  let spentMs = 0;
  let length = 0;
  const judged: Judged[] = [];
  for (const read of alerts) {
    const begun = performance.now();
    const error =
      (spentMs > maxRoutingMs && 'the expressions of the source take too long') ||
      (length > sourceLimits.contexts && 'with what they share, the alerts before it are too long') ||
      undefined;
    const one: Judged = { bytes, ...(error ? { result: reject(read, error) } : route(compiled, read)) };
    if (one.alert && alerts.length > 1) {
      one.bytes = JSON.stringify(one.alert.triggerContext).length;
      length += one.bytes;
    }
    judged.push(one);
    spentMs += performance.now() - begun;
    await pause();
  }
  for (const one of judged) {
    if (!one.alert?.event) continue;
    const { organization: org, project: prj, application: app } = source;
    const path = await deps.tenantCache.resolvePath({ org, prj, app, evt: one.alert.event });
    if (path?.event) one.path = path as Required<ResolvedPath>;
    else {
      one.result = {
        ...one.result,
        outcome: 'rejected',
        error: `there is no event ${one.alert.event}: correct the routes of the source`,
      };
      delete one.alert;
    }
  }
  return judged;
}

function route(compiled: CompiledSource, read: ReadAlert): Pick<Judged, 'result' | 'alert'> {
  const { at, alert } = read;
  if (!isAlert(alert)) {
    const { key, error, note } = alert;
    return {
      result: {
        at,
        ...(key && { key: shorten(key) }),
        outcome: error === undefined ? 'ignored' : 'rejected',
        error: shorten(error ?? note ?? ''),
      },
    };
  }
  try {
    const routed = compiled.route(alert);
    const { key, state, event } = routed;
    const result = { at, key, state };
    if (!event) return { result: { ...result, outcome: 'unrouted', error: 'no route of the source applies' } };
    // Until it is decided.
    return { result: { ...result, event, outcome: 'unknown' }, alert: routed };
  } catch (error) {
    return { result: { ...reject(read, (error as Error).message), key: shorten(alert.key) } };
  }
}

function reject({ at }: ReadAlert, error: string): AlertResult {
  return { at, outcome: 'rejected', error: shorten(error) };
}

const maxShownLength = 500;

/** Errors may quote what the sender wrote: it must be short, and text that PostgreSQL can store. */
function shorten(text: string): string {
  return text.slice(0, maxShownLength).toWellFormed().replaceAll('\0', '');
}

/** Of several reports about one alert, the last counts. */
function markSuperseded(alerts: readonly Judged[]): void {
  const last = new Map(alerts.map(one => [one.alert!.key, one]));
  for (const one of alerts) if (last.get(one.alert!.key) !== one) one.result.outcome = 'superseded';
}

async function findStored(
  { sources }: Deps,
  { organization_id, id }: StoredSource,
  alerts: readonly Judged[],
  receivedAt: number | undefined,
): Promise<void> {
  const found = await sources.findAlerts(
    alerts.map(({ alert }) => ({ organization_id, source_id: id, key: alert!.key })),
  );
  for (const [i, one] of alerts.entries()) {
    one.stored = found[i];
    const isOutdated = receivedAt !== undefined && one.stored && one.stored.last_seen_at.getTime() > receivedAt;
    if (isOutdated && !isLeftOpen(one) && one.result.outcome === 'unknown') one.result.outcome = 'outdated';
  }
}
