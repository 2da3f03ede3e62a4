/** Opens occurrences for alerts, counts repetitions in them, and raises their severity. */
import { largeBytes } from '../../../core/configuration/limits.ts';
import { AppError } from '../../../core/errors.ts';
import { uuidv7 } from '../../../core/ids.ts';
import { type Severity, severities, severityOf } from '../../../core/sources/alert.ts';
import type { RoutedAlert } from '../../../core/sources/mapping.ts';
import { sourceUpdateLimits } from '../../../core/sources/updates/update.ts';
import { moveOpenAlerts } from '../../../db/history/sources/alerts.ts';
import type { AlertResult } from '../../../db/history/sources/payloads.ts';
import type { StoredSource } from '../../../db/history/sources/sources.ts';
import { findRaisable } from '../../../db/ledger/expand/raises.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { Deps } from '../../deps.ts';
import { resolve } from '../acknowledgements/acknowledgements.ts';
import { raise } from '../acknowledgements/raises.ts';
import { triggerEvent } from '../triggers.ts';
import { resolveEnded, unlessGone } from './answer.ts';
import type { Judged } from './judged.ts';

/** Opens occurrences, or counts the alert in the one that is open. */
export async function openAll(deps: Deps, source: StoredSource, alerts: readonly Judged[]): Promise<void> {
  const { organization_id, id: source_id } = source;
  // Encoding a large one takes several ms: other work runs in between.
  for (const one of alerts) if (one.bytes > largeBytes) await open(deps, source, one);
  await Promise.all(alerts.map(one => one.bytes <= largeBytes && open(deps, source, one)));
  await raiseAll(deps, source, alerts);
  const now = currentTime();
  const seen = alerts.flatMap(({ result, alert, isUncounted }) => {
    if (result.occurrence === undefined) return [];
    const { key, title, severity } = alert!;
    const counted = !isUncounted;
    return {
      organization_id,
      source_id,
      key,
      id: uuidv7(now),
      occurrence_id: result.occurrence,
      title,
      severity,
      counted,
      context: source.reports_back ? contextOf(alert!) : null,
    };
  });
  await deps.sources.storeOpenAlerts(seen);
  // An alert that triggers another event now, or whose key has closed: what it opened before is over.
  const left = alerts.flatMap(({ result, stored }) =>
    stored && stored.state !== 'resolved' && result.occurrence && result.occurrence !== stored.occurrence_id
      ? stored.occurrence_id
      : [],
  );
  await resolveEnded(deps, organization_id, source_id, left, true);
}

/** Returns what a request to the sender about this alert is made of; null if it is too long. */
function contextOf({ triggerContext }: RoutedAlert): string | null {
  const text = JSON.stringify(triggerContext);
  return text.length <= sourceUpdateLimits.contextBytes ? text : null;
}

async function open(deps: Deps, source: StoredSource, one: Judged): Promise<void> {
  const { result, stored } = one;
  const [alert, path] = [one.alert!, one.path!];
  const isOpen = stored?.is_open && stored.state !== 'resolved' && stored.event_id === path.event.id;
  if (isOpen) {
    Object.assign(result, { outcome: 'repeated', occurrence: stored.occurrence_id });
    one.isUncounted = true;
    one.mayRaise = rankOf(alert.severity) < rankOf(stored.severity);
    return;
  }
  await unlessRefused(result, async () => {
    const id = uuidv7(currentTime());
    const occurrence = await trigger(deps, source, one, id);
    Object.assign(result, { outcome: 'opened', occurrence });
    one.mayRaise = occurrence !== id && alert.severity !== null;
  });
}

function trigger(deps: Deps, source: StoredSource, { alert, path, bytes }: Judged, id?: string): Promise<string> {
  const { triggerContext: context, dedupKey: dedup_key, id: report } = alert!;
  return triggerEvent(deps, path!, {
    context,
    options: { dedup_key },
    bytes,
    ...(id !== undefined && { id }),
    // Only the first trigger of a report is one that a repetition of it must not make again.
    ...(id !== undefined && report !== undefined && { idempotencyKey: `${source.id} ${report}`.slice(0, 255) }),
  });
}

/** The limits and rules of triggers are no failure: the sender is answered with them. */
async function unlessRefused(result: AlertResult, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof AppError) || error.kind === 'internal') throw error;
    const isTemporary = error.kind === 'rate_limited' || error.kind === 'unavailable';
    Object.assign(result, { outcome: isTemporary ? 'limited' : 'rejected', error: error.message });
  }
}

/** Raises the severity of occurrences to that of the most serious alert that was reported about each. */
async function raiseAll(deps: Deps, source: StoredSource, alerts: readonly Judged[]): Promise<void> {
  const worst = new Map<string, Judged>();
  for (const one of alerts) {
    const { occurrence } = one.result;
    if (!one.mayRaise || occurrence === undefined) continue;
    const other = worst.get(occurrence);
    if (!other || rankOf(one.alert!.severity) < rankOf(other.alert!.severity)) worst.set(occurrence, one);
  }
  if (worst.size === 0) return;
  for (const occurrence of await findRaisable(deps.pool, source.organization_id, [...worst.keys()])) {
    const one = worst.get(occurrence.id)!;
    const { triggerContext: context, severity } = one.alert!;
    if (rankOf(severity) >= rankOf(severityOf(occurrence.context.severity))) continue;
    await unlessRefused(one.result, async () => {
      await deps.contextSchemas.check(one.path!, context);
      const { isReplaced } = await raise(deps, source.organization_id, occurrence, context);
      if (isReplaced) await replace(deps, source, occurrence.id, one, alerts);
      if (occurrence.is_acknowledged) one.result.outcome = 'reopened';
    });
  }
}

/** Opens an occurrence in place of another, with its alerts. */
async function replace(
  deps: Deps,
  source: StoredSource,
  replaced: string,
  one: Judged,
  alerts: readonly Judged[],
): Promise<void> {
  const { organization_id, id } = source;
  await unlessGone(resolve(deps, organization_id, replaced, undefined, { quietly: true }));
  const occurrence = await trigger(deps, source, one);
  await moveOpenAlerts(deps.db, organization_id, id, replaced, occurrence);
  for (const { result } of alerts) if (result.occurrence === replaced) result.occurrence = occurrence;
  delete one.isUncounted;
}

/** Unknown severities are the least serious. */
function rankOf(severity: Severity | null): number {
  return severity === null ? severities.length : severities.indexOf(severity);
}
