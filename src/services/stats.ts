/** How an organization does: what came in, what went out, how fast, and what wants a look. */
import { latencyPercentile } from '../core/latency.ts';
import { type EndedStatus, endedStatuses } from '../core/statuses.ts';
import * as stats from '../db/stats.ts';
import { listUnsummedAcrossTenants, moveSummed, sumDay } from '../db/stats-sums.ts';
import { countDisabledWebhooks } from '../db/webhooks.ts';
import type { Deps } from './deps.ts';
import { describePauses } from './pauses.ts';

const hourMs = 3_600_000;
const mostEvents = 20;
/** Further than this nobody wants to know, and looking stays cheap whatever has piled up. */
export const mostPending = 10_000;
export const mostDisabled = 1_000;
export const mostUnresolved = 1_000;

export async function describeOrganization({ db }: Deps, organizationId: number, hours: number) {
  const span = await stats.findSpan(db, organizationId, hours);
  const [byHour, byChannel, events, latencies, channels, queue, unresolved, disabled, webhooks, { pauses, held }] =
    await Promise.all([
      stats.listHourCounts(db, organizationId, span),
      stats.listChannelCounts(db, organizationId, span),
      stats.listBusiestEvents(db, organizationId, span, mostEvents),
      stats.listLatencyCounts(db, organizationId, span),
      stats.listChannelNames(db, organizationId),
      stats.describeQueue(db, organizationId, mostPending),
      stats.countUnresolved(db, organizationId, mostUnresolved),
      stats.countDisabledAddresses(db, organizationId, mostDisabled),
      countDisabledWebhooks(db, organizationId),
      describePauses({ db }, organizationId),
    ]);
  const countsOfHour = new Map(byHour.map(row => [row.hour.getTime(), row]));
  const countsOfChannel = new Map(byChannel.map(row => [row.channel_id, row]));
  const total = (status: EndedStatus) => byHour.reduce((sum, row) => sum + row[status], 0);
  return {
    hours: Array.from({ length: hours }, (_, i) => {
      const hour = new Date(span.from.getTime() + i * hourMs);
      const counts = countsOfHour.get(hour.getTime());
      return { hour, triggers: counts?.triggers ?? 0, by_status: statusesOf(counts) };
    }),
    channels: channels.flatMap(({ id, slug, type, project }) => {
      const counts = countsOfChannel.get(id);
      return counts ? [{ channel: slug, project, type, by_status: statusesOf(counts) }] : [];
    }),
    events: events.map(row => ({ event: row.path, triggers: row.triggers, by_status: statusesOf(row) })),
    latency: describeLatency(latencies),
    queue: {
      pending: queue.pending,
      due: queue.due,
      scheduled: queue.scheduled,
      held,
      capped: [queue.pending, queue.due, queue.scheduled, held].some(count => count >= mostPending),
      oldest_seconds: queue.oldest ? Math.max(0, Math.round((Date.now() - queue.oldest.getTime()) / 1_000)) : null,
    },
    attention: {
      failed: total('failed'),
      unknown: total('unknown'),
      unresolved: { ...unresolved, capped: unresolved.failed + unresolved.unknown >= mostUnresolved },
      disabled_addresses: disabled,
      disabled_webhooks: webhooks,
      paused: pauses,
    },
  };
}

function describeLatency(latencies: { bucket: number; count: number }[]) {
  return {
    p50_ms: latencyPercentile(latencies, 0.5),
    p95_ms: latencyPercentile(latencies, 0.95),
    p99_ms: latencyPercentile(latencies, 0.99),
  };
}

function statusesOf(counts: stats.ByStatus | undefined): stats.ByStatus {
  return Object.fromEntries(endedStatuses.map(status => [status, counts?.[status] ?? 0])) as stats.ByStatus;
}

const dayMs = 24 * hourMs;
/** After the end of a day, nobody adds to it: statements are over within seconds, and clocks do not differ by so much. */
const settledMs = 6 * hourMs;

/** Sums the days that are over. Those of an organization one after the other: the first time there may be many. */
export async function sumStatistics({ db }: Pick<Deps, 'db'>, now: number): Promise<void> {
  const until = Math.floor((now - settledMs) / dayMs) * dayMs;
  for (const { id, from } of await listUnsummedAcrossTenants(db, new Date(until))) {
    let day = from?.getTime() ?? until;
    // Nothing was counted: there is nothing to sum, but to note that.
    if (day === until) await moveSummed(db, id, new Date(until), new Date(until));
    for (let ours = true; ours && day < until; day += dayMs) ours = await sumOne(db, id, new Date(day));
  }
}

/** False where another process sums the days of this organization at the same time. */
async function sumOne(db: Deps['db'], organizationId: number, day: Date): Promise<boolean> {
  const end = new Date(day.getTime() + dayMs);
  return db.transaction().execute(async trx => {
    const ours = await moveSummed(trx, organizationId, day, end);
    if (ours) await sumDay(trx, organizationId, day, end);
    return ours;
  });
}
