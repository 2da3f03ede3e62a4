/** Open escalations: which step they have reached, when the next one runs, and the users that were notified. */
import { listNotifiedUsers, listStepRuns, type StepRunView } from '../../../db/history/escalations.ts';
import { listOccurrences } from '../../../db/history/occurrences.ts';
import type { Deps } from '../../deps.ts';
import { addStates } from '../occurrence-states.ts';

/** Occurrences per response. */
export const maxEscalations = 50;
/** Users per occurrence. */
export const maxNotified = 5;

export async function listEscalations(deps: Deps, organizationId: number) {
  const page = { before: '', limit: maxEscalations };
  const [escalating, waiting] = await Promise.all([
    listOccurrences(deps.db, organizationId, { outcome: 'escalating' }, page),
    listOccurrences(deps.db, organizationId, { unacknowledged: true }, page),
  ]);
  const byId = new Map([...escalating, ...waiting].map(row => [row.identifier, row]));
  const newest = [...byId.values()].sort((a, b) => (a.identifier < b.identifier ? 1 : -1)).slice(0, maxEscalations);
  const ids = newest.map(({ identifier }) => identifier);
  const [rows, runs, users] = await Promise.all([
    addStates(deps, organizationId, newest),
    listStepRuns(deps.db, organizationId, ids),
    listNotifiedUsers(deps.db, organizationId, ids, maxNotified + 1),
  ]);
  const runsOf = Map.groupBy(runs, ({ occurrence }) => occurrence);
  const usersOf = Map.groupBy(users, ({ occurrence }) => occurrence);
  const escalations = rows.map(row => {
    const notified = (usersOf.get(row.identifier) ?? []).map(({ user }) => user);
    return {
      row,
      steps: [...Map.groupBy(runsOf.get(row.identifier) ?? [], run => run.notification).values()].map(describeRuns),
      notified: notified.slice(0, maxNotified),
      notified_more: notified.length > maxNotified,
    };
  });
  return { escalations, capped: byId.size >= maxEscalations };
}

/** The runs of one notification: the last one that ran, and the one that comes next. */
function describeRuns(runs: StepRunView[]) {
  const last = runs.findLast(({ status, is_running }) => status === 'done' || status === 'skipped' || is_running);
  const next = runs.find(({ status, is_running }) => status === 'waiting' && !is_running);
  return {
    notification: runs[0]!.notification,
    step: last?.step ?? null,
    is_running: last?.is_running ?? false,
    next_step: next?.step ?? null,
    next_at: next?.due_at ?? null,
  };
}
