/** How an organization does: what came in, what went out, how fast, and what wants a look. */
import { latencyBounds, latencyPercentile } from '../core/latency.ts';
import { type EndedStatus, endedStatuses } from '../core/statuses.ts';
import * as stats from '../db/stats.ts';
import type { Deps } from './deps.ts';

export type ByStatus = Record<EndedStatus, number>;

const mostEvents = 20;
/** Further than this nobody wants to know, and looking stays cheap whatever has piled up. */
export const mostPending = 10_000;
export const mostDisabled = 1_000;

export async function describeOrganization({ db }: Deps, organizationId: number, hours: number) {
  const [statuses, triggers, latencies, spans, channels, queue, disabled, paused] = await Promise.all([
    stats.listStatusCounts(db, organizationId, hours),
    stats.listTriggerCounts(db, organizationId, hours),
    stats.listLatencyCounts(db, organizationId, hours),
    stats.listHours(db, organizationId, hours),
    stats.listChannelNames(db, organizationId),
    stats.describeQueue(db, organizationId, mostPending),
    stats.countDisabledAddresses(db, organizationId, mostDisabled),
    stats.listPaused(db, organizationId),
  ]);
  const byHour = groupStatuses(statuses, row => row.hour?.getTime());
  const byChannel = groupStatuses(statuses, row => row.channel_id);
  const byEvent = groupStatuses(statuses, row => row.event_id);
  const triggersByHour = new Map(triggers.flatMap(row => (row.hour ? [[row.hour.getTime(), row.count]] : [])));
  const total = sum([...byHour.values()]);
  return {
    hours: spans.map(hour => ({
      hour,
      triggers: triggersByHour.get(hour.getTime()) ?? 0,
      by_status: byHour.get(hour.getTime()) ?? none(),
    })),
    channels: channels.flatMap(({ id, slug, type, project }) => {
      const by_status = byChannel.get(id);
      return by_status ? [{ channel: slug, project, type, by_status }] : [];
    }),
    events: await describeEvents(db, organizationId, triggers, byEvent),
    latency: describeLatency(latencies),
    queue: {
      pending: queue.pending,
      capped: queue.pending >= mostPending,
      oldest_seconds: queue.oldest ? Math.max(0, Math.round((Date.now() - queue.oldest.getTime()) / 1_000)) : null,
    },
    attention: { failed: total.failed, unknown: total.unknown, disabled_addresses: disabled, paused },
  };
}

/** The busiest; of those that have been deleted, nothing is left to name. */
async function describeEvents(
  db: Deps['db'],
  organizationId: number,
  triggers: stats.TriggerCount[],
  byEvent: Map<number, ByStatus>,
) {
  const counts = new Map([...byEvent.keys()].map(id => [id, 0]));
  for (const { event_id, count } of triggers) if (event_id !== null) counts.set(event_id, count);
  const named = await stats.listEventPaths(db, organizationId, [...counts.keys()]);
  return named
    .map(({ id, path }) => ({ event: path, triggers: counts.get(id)!, by_status: byEvent.get(id) ?? none() }))
    .sort((a, b) => b.triggers - a.triggers || b.by_status.sent - a.by_status.sent || (a.event < b.event ? -1 : 1))
    .slice(0, mostEvents);
}

function describeLatency(latencies: { bucket: number; count: number }[]) {
  const counts = Array.from({ length: latencyBounds.length + 1 }, () => 0);
  for (const { bucket, count } of latencies) if (bucket in counts) counts[bucket] = count;
  return {
    p50_ms: latencyPercentile(counts, 0.5),
    p95_ms: latencyPercentile(counts, 0.95),
    p99_ms: latencyPercentile(counts, 0.99),
  };
}

function none(): ByStatus {
  return Object.fromEntries(endedStatuses.map(status => [status, 0])) as ByStatus;
}

/** By whatever the key gives; rows of another grouping have none. */
function groupStatuses(
  rows: stats.StatusCount[],
  keyOf: (row: stats.StatusCount) => number | null | undefined,
): Map<number, ByStatus> {
  const groups = new Map<number, ByStatus>();
  for (const row of rows) {
    const key = keyOf(row);
    if (key === null || key === undefined) continue;
    const group = groups.get(key) ?? none();
    group[row.status as EndedStatus] = row.count;
    groups.set(key, group);
  }
  return groups;
}

function sum(groups: ByStatus[]): ByStatus {
  const total = none();
  for (const group of groups) for (const status of endedStatuses) total[status] += group[status];
  return total;
}
