/** Acknowledges and resolves occurrences. Both are final, and record who did it and when. */

import { AppError } from '../../../core/errors.ts';
import { actorName } from '../../../core/identity/actor.ts';
import { priorityOf, type TriggerOptions } from '../../../core/trigger.ts';
import { findOccurrence } from '../../../db/history/occurrences.ts';
import {
  type AnswerResult,
  acknowledgeOccurrence,
  resolveOccurrence,
} from '../../../db/ledger/expand/occurrence-ends.ts';
import { listUpdatable } from '../../../providers/provider.ts';
import type { Deps } from '../../deps.ts';
import { record } from '../../operations/audit.ts';
import { countEnded } from '../occurrences.ts';

/**
 * Acknowledges an occurrence. When this returns, all later steps have ended and their pending deliveries are cancelled.
 */
export async function acknowledge(
  deps: Deps,
  organizationId: number,
  identifier: string,
  by: string = actorName(deps.actor),
) {
  const answered = await acknowledgeOccurrence(
    deps.pool,
    organizationId,
    identifier,
    by,
    listUpdatable(deps.providers),
  );
  if (answered?.isFirst) {
    deps.acknowledgementTimes.add(answered.ms);
    countEnded(deps, answered.ended);
    await recordChange(deps, organizationId, identifier, 'acknowledge', by);
  }
  return show(identifier, answered);
}

/** Resolves an occurrence, which also ends its steps. Notifications with `notify_resolved` inform their recipients. */
export async function resolve(
  deps: Deps,
  organizationId: number,
  identifier: string,
  by: string = actorName(deps.actor),
) {
  const resolvedNotifications = await listNotifyResolved(deps, organizationId, identifier);
  const updatable = listUpdatable(deps.providers);
  const answered = await resolveOccurrence(deps.pool, organizationId, identifier, by, updatable, resolvedNotifications);
  if (answered?.isFirst) {
    countEnded(deps, answered.ended);
    await recordChange(deps, organizationId, identifier, 'resolve', by);
  }
  return show(identifier, answered);
}

async function listNotifyResolved({ db, plans }: Deps, organizationId: number, identifier: string) {
  const occurrence = await findOccurrence(db, organizationId, identifier);
  const plan = occurrence && (await plans.findEvent(organizationId, occurrence.event_id));
  const options = (occurrence?.options ?? {}) as TriggerOptions;
  const notifications = plan?.notifications.filter(({ steps }) => steps?.notifyResolved) ?? [];
  return notifications.map(({ id, priority }) => ({
    notificationId: id,
    priority: priorityOf(options, priority, false),
  }));
}

/** `changed` is false when it was already acknowledged or resolved. */
function show(identifier: string, answered: AnswerResult | undefined) {
  if (!answered) throw new AppError('occurrence.not_found', `there is no occurrence ${identifier}`);
  const { isFirst: changed, ms: _, ended: __, ...answer } = answered;
  return { ...answer, changed };
}

/** Records the change after it is committed, because a worker may see its effect immediately. */
async function recordChange(deps: Deps, organizationId: number, path: string, action: string, by: string) {
  await record(deps, deps.db, organizationId, { action, noun: 'occurrence', path, after: { by } });
}
