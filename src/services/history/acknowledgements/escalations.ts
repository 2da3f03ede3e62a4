/** Incidents and open escalations: which step they have reached, when the next one runs, and the users that were notified. */
import { type Severity, severities } from '../../../core/sources/alert.ts';
import type { IncidentState } from '../../../core/sources/incidents.ts';
import { listNotifiedUsers, listStepRuns, type StepRunView } from '../../../db/history/escalations.ts';
import { findOccurrencesById, listOccurrences, type Occurrence } from '../../../db/history/occurrences.ts';
import {
  findIncidentDetails,
  type IncidentFilter,
  type IncidentKey,
  listIncidents as listKeys,
} from '../../../db/history/sources/incidents.ts';
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
  return { escalations: await addProgress(deps, organizationId, newest), capped: byId.size >= maxEscalations };
}

/** Adds the steps of each occurrence, and the users that were notified. */
async function addProgress(deps: Deps, organizationId: number, occurrences: readonly Occurrence[]) {
  const ids = occurrences.map(({ identifier }) => identifier);
  const [rows, runs, users] = await Promise.all([
    addStates(deps, organizationId, occurrences),
    listStepRuns(deps.db, organizationId, ids),
    listNotifiedUsers(deps.db, organizationId, ids, maxNotified + 1),
  ]);
  const runsOf = Map.groupBy(runs, ({ occurrence }) => occurrence);
  const usersOf = Map.groupBy(users, ({ occurrence }) => occurrence);
  return rows.map(row => {
    const notified = (usersOf.get(row.identifier) ?? []).map(({ user }) => user);
    return {
      row,
      steps: [...Map.groupBy(runsOf.get(row.identifier) ?? [], run => run.notification).values()].map(describeRuns),
      notified: notified.slice(0, maxNotified),
      notified_more: notified.length > maxNotified,
    };
  });
}

/** Lists a page of incidents with what their alerts say. */
export async function listIncidents(
  deps: Deps,
  organizationId: number,
  filter: IncidentFilter,
  page: { after: IncidentKey | undefined; limit: number },
) {
  const { keys, next } = await listKeys(deps.db, organizationId, filter, page);
  const ids = keys.map(({ id }) => id);
  const [occurrences, details] = await Promise.all([
    findOccurrencesById(deps.db, organizationId, ids),
    findIncidentDetails(deps.db, organizationId, ids),
  ]);
  const progress = await addProgress(deps, organizationId, occurrences);
  const progressOf = new Map(progress.map(one => [one.row.identifier, one]));
  const detailsOf = new Map(details.map(one => [one.id, one]));
  const rows = keys.flatMap(key => {
    const [one, about] = [progressOf.get(key.id), detailsOf.get(key.id)];
    if (!one || !about) return [];
    const { open, acknowledged, resolved, silenced_until } = about;
    const status = statusOf(one.row, silenced_until);
    return {
      ...{ key, ...one, title: about.title, severity: findWorst([about.severity, ...about.severities]) },
      source: about.source === null ? null : { path: about.source, name: about.source_name! },
      last_seen_at: about.last_seen_at ?? one.row.created_at,
      alerts: { open, acknowledged, resolved },
      status,
      silenced_until: status === 'silenced' ? silenced_until : null,
    };
  });
  return { rows, next };
}

function findWorst(names: readonly (string | null)[]): Severity | null {
  return severities.find(severity => names.includes(severity)) ?? null;
}

function statusOf({ acknowledged_at, resolved_at, snoozed_by }: Occurrence, silencedUntil: Date | null): IncidentState {
  if (resolved_at) return 'resolved';
  if (acknowledged_at) return snoozed_by === null ? 'acknowledged' : 'snoozed';
  return silencedUntil ? 'silenced' : 'open';
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
