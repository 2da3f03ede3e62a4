/** The steps of an occurrence as its timeline shows them: past runs, and planned ones if no one acknowledges. */

import type { StepRun } from '../../core/decision/steps.ts';
import { findOccurrencesAcrossTenants } from '../../db/history/occurrences.ts';
import { listStoredSteps, type StepView } from '../../db/history/step-list.ts';
import { describeOwnRecipients, type PlannedNotification } from '../../pipeline/event-plan.ts';
import type { Deps } from '../deps.ts';

export async function listOccurrenceSteps(
  { db, pool, plans }: Deps,
  organizationId: number,
  identifier: string,
  now: number,
) {
  const stored = await listStoredSteps(db, organizationId, identifier);
  if (stored.length === 0) return [];
  const [facts] = await findOccurrencesAcrossTenants(pool, [{ organizationId, id: identifier }]);
  const plan = facts && (await plans.findEvent(organizationId, facts.event_id));
  return [...Map.groupBy(stored, row => row.notification_id)].flatMap(([id, rows]) => {
    const notification = plan?.notifications.find(one => one.id === id);
    const waiting = rows.find(row => row.status === 'waiting' && row.number > 0);
    const shown = rows.map(row => show(row, notification));
    return waiting && notification ? [...shown, ...listPlannedRuns(waiting, notification, now)] : shown;
  });
}

function show({ status: stored, is_running, ...row }: StepView, notification: PlannedNotification | undefined) {
  const status = stored === 'waiting' ? (is_running ? ('running' as const) : ('planned' as const)) : stored;
  return { ...row, status, step: row.number > 0 ? row.step : null, ...describe(notification, row.step) };
}

/** Describes a step by the current definition of the notification. */
function describe(notification: PlannedNotification | undefined, step: number) {
  const planned = notification?.steps?.steps[step - 1];
  return {
    channels: [...(planned?.notification.channels ?? [])],
    recipients: planned ? describeOwnRecipients(planned.notification) : null,
    unless: planned?.unless ?? null,
    round_robin: planned?.rotates ?? false,
  };
}

/** Lists the runs after the waiting one, each with its earliest possible time. */
function listPlannedRuns(waiting: StepView, notification: PlannedNotification, now: number) {
  const { runs, giveUpMs } = notification.steps ?? { runs: [] as StepRun[], giveUpMs: 0 };
  const end = waiting.began_at.getTime() + giveUpMs;
  let at = Math.max(now, waiting.due_at.getTime());
  const { base } = waiting;
  return runs.slice(waiting.number - base).flatMap(({ number, step, afterMs }) => {
    at += afterMs;
    if (at > end) return [];
    const due_at = new Date(at);
    const planned = {
      notification: notification.name,
      number: base + number,
      step,
      status: 'planned' as const,
      reason: null,
    };
    return [{ ...planned, ...describe(notification, step), due_at, ended_at: null, messages: 0, suppressed: 0 }];
  });
}
