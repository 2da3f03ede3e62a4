/** Acknowledges and resolves occurrences, because the sender of their alerts says so. */
import { AppError } from '../../../core/errors.ts';
import { textOf } from '../../../core/sources/alert.ts';
import type { RoutedAlert } from '../../../core/sources/mapping.ts';
import { findEndedOccurrences, setAlertStates } from '../../../db/history/sources/alerts.ts';
import type { Deps } from '../../deps.ts';
import { acknowledge, resolve } from '../acknowledgements/acknowledgements.ts';
import { answerEach } from '../acknowledgements/each.ts';
import { isLeftOpen, type Judged } from './judged.ts';

/** Acknowledges or resolves the occurrences of alerts. Alerts that are not open are left alone. */
export async function answerAll(
  deps: Deps,
  organizationId: number,
  sourceId: number,
  alerts: readonly Judged[],
  state: 'acknowledged' | 'resolved',
): Promise<void> {
  if (alerts.length === 0) return;
  const keys = alerts.flatMap(({ alert, stored }) => (stored && stored.state !== 'resolved' ? alert!.key : []));
  const changed = keys.length > 0 ? await setAlertStates(deps.db, organizationId, sourceId, keys, state) : [];
  const left = alerts
    .filter(isLeftOpen)
    .map(({ alert, stored }) => ({ key: alert!.key, occurrence_id: stored!.occurrence_id }));
  const occurrences = new Map([...changed, ...left].map(row => [row.key, row.occurrence_id]));
  for (const { alert, result } of alerts) {
    const occurrence = occurrences.get(alert!.key);
    if (occurrence !== undefined) Object.assign(result, { outcome: state, occurrence });
  }
  const users = new Map<string, string | undefined>();
  for (const { alert } of alerts) {
    const occurrence = occurrences.get(alert!.key);
    if (occurrence !== undefined) users.set(occurrence, userOf(alert!));
  }
  if (state === 'resolved') await resolveEnded(deps, organizationId, sourceId, [...users.keys()], false, users);
  else
    await answerEach(organizationId, [...users], ([id, user]) =>
      unlessGone(acknowledge(deps, organizationId, id, user)),
    );
}

/** Who did it, if the sender says so. */
function userOf({ context }: RoutedAlert): string | undefined {
  return textOf(context.user)?.slice(0, 100).toWellFormed();
}

/** Resolves those occurrences that have no open alert left. */
export async function resolveEnded(
  deps: Deps,
  organizationId: number,
  sourceId: number,
  occurrences: readonly string[],
  quietly: boolean,
  users?: ReadonlyMap<string, string | undefined>,
): Promise<void> {
  if (occurrences.length === 0) return;
  const ended = await findEndedOccurrences(deps.db, organizationId, sourceId, [...new Set(occurrences)]);
  await answerEach(organizationId, ended, id =>
    unlessGone(resolve(deps, organizationId, id, users?.get(id), { quietly })),
  );
}

/** History may have been deleted already, or each recipient has to acknowledge. */
export async function unlessGone(change: Promise<unknown>): Promise<void> {
  try {
    await change;
  } catch (error) {
    if (!(error instanceof AppError) || !['occurrence.not_found', 'occurrence.not_asked'].includes(error.code))
      throw error;
  }
}
