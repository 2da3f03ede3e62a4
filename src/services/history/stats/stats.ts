/** Statistics of an organization: triggers, deliveries, latency, queue, and what needs attention. */
import { latencyPercentile } from '../../../core/history/latency.ts';
import { type EndedStatus, endedStatuses } from '../../../core/history/statuses.ts';
import { countDisabledWebhooks } from '../../../db/configuration/webhooks.ts';
import * as stats from '../../../db/history/stats/stats.ts';
import { advanceSummedUntil, listUnsummedAcrossTenants, sumDay } from '../../../db/history/stats/stats-sums.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { Deps } from '../../deps.ts';
import { describePauses } from '../pauses.ts';

const hourMs = 3_600_000;
const maxEvents = 20;
/** Counting stops at these limits, so that it stays cheap however long the backlog is. */
export const maxPending = 10_000;
export const maxDisabled = 1_000;
export const maxUnresolved = 1_000;

export async function describeOrganization({ db }: Deps, organizationId: number, hours: number) {
  const period = await stats.findPeriod(db, organizationId, hours);
  const [byHour, byChannel, events, latencies, channels, queue, unresolved, disabled, webhooks, { pauses, held }] =
    await Promise.all([
      stats.listHourCounts(db, organizationId, period),
      stats.listChannelCounts(db, organizationId, period),
      stats.listBusiestEvents(db, organizationId, period, maxEvents),
      stats.listLatencyCounts(db, organizationId, period),
      stats.listChannelNames(db, organizationId),
      stats.summarizeQueue(db, organizationId, maxPending),
      stats.countUnresolved(db, organizationId, maxUnresolved),
      stats.countDisabledAddresses(db, organizationId, maxDisabled),
      countDisabledWebhooks(db, organizationId),
      describePauses({ db }, organizationId),
    ]);
  const countsOfHour = new Map(byHour.map(row => [row.hour.getTime(), row]));
  const recent = await describeRecent(db, organizationId, byHour);
  const countsOfChannel = new Map(byChannel.map(row => [row.channel_id, row]));
  const total = (status: EndedStatus) => byHour.reduce((sum, row) => sum + row[status], 0);
  return {
    hours: Array.from({ length: hours }, (_, i) => {
      const hour = new Date(period.from.getTime() + i * hourMs);
      const counts = countsOfHour.get(hour.getTime());
      return { hour, triggers: counts?.triggers ?? 0, by_status: statusesOf(counts) };
    }),
    recent,
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
      capped: [queue.pending, queue.due, queue.scheduled, held].some(count => count >= maxPending),
      oldest_seconds: queue.oldest ? Math.max(0, Math.round((currentTime() - queue.oldest.getTime()) / 1_000)) : null,
    },
    attention: {
      failed: total('failed'),
      unknown: total('unknown'),
      unresolved: { ...unresolved, capped: unresolved.failed + unresolved.unknown >= maxUnresolved },
      disabled_addresses: disabled,
      disabled_webhooks: webhooks,
      paused: pauses,
    },
  };
}

/** Up to so many triggers and messages are counted by minutes: more are worth an hourly bar. */
const maxRecent = 10_000;
const stepMinutes = 5;

/** Returns steps of minutes, oldest first and without gaps, if all of the period is in this hour and the previous one. */
async function describeRecent(
  db: Deps['db'],
  organizationId: number,
  byHour: Awaited<ReturnType<typeof stats.listHourCounts>>,
) {
  const first = Math.min(...byHour.map(row => row.hour.getTime()));
  const now = currentTime();
  const total = byHour.reduce(
    (sum, row) => sum + row.triggers + endedStatuses.reduce((n, status) => n + row[status], 0),
    0,
  );
  if (total === 0 || total > maxRecent || first < Math.floor(now / hourMs) * hourMs - hourMs) return [];
  const rows = await stats.listRecentCounts(db, organizationId, new Date(first), stepMinutes);
  const countsOf = new Map(rows.map(row => [row.at.getTime(), row]));
  const stepMs = stepMinutes * 60_000;
  return Array.from({ length: Math.floor((now - first) / stepMs) + 1 }, (_, i) => {
    const counts = countsOf.get(first + i * stepMs);
    return { at: new Date(first + i * stepMs), triggers: counts?.triggers ?? 0, by_status: statusesOf(counts) };
  });
}

function describeLatency(latencies: { bucket: number; count: number }[]) {
  return {
    p50_ms: latencyPercentile(latencies, 0.5),
    p95_ms: latencyPercentile(latencies, 0.95),
    p99_ms: latencyPercentile(latencies, 0.99),
  };
}

function statusesOf(counts: stats.CountsByStatus | undefined): stats.CountsByStatus {
  return Object.fromEntries(endedStatuses.map(status => [status, counts?.[status] ?? 0])) as stats.CountsByStatus;
}

const dayMs = 24 * hourMs;
/**
 * A day is summed this long after its end. No counter changes later: statements take seconds, and clocks differ less.
 */
const settleMs = 6 * hourMs;

/** Sums finished days, each in its own transaction: on the first run an organization may have many. */
export async function sumStatistics({ db }: Pick<Deps, 'db'>, now: number): Promise<void> {
  const until = Math.floor((now - settleMs) / dayMs) * dayMs;
  for (const { id, from } of await listUnsummedAcrossTenants(db, new Date(until))) {
    let day = from?.getTime() ?? until;
    // Nothing was ever counted: only stores how far the sums reach.
    if (day === until) await advanceSummedUntil(db, id, new Date(until), new Date(until));
    for (let isOurs = true; isOurs && day < until; day += dayMs) isOurs = await sumDayOnce(db, id, new Date(day));
  }
}

/** Returns false when another process is summing this organization. */
async function sumDayOnce(db: Deps['db'], organizationId: number, day: Date): Promise<boolean> {
  const end = new Date(day.getTime() + dayMs);
  return db.transaction().execute(async trx => {
    const isOurs = await advanceSummedUntil(trx, organizationId, day, end);
    if (isOurs) await sumDay(trx, organizationId, day, end);
    return isOurs;
  });
}
