/**
 * Metrics of the whole installation's backlog, for autoscaling and alerts. Every process exports them, so they remain
 * available without a running worker. The database is queried at most every few seconds, however often metrics are read.
 */
import { Gauge, type Registry } from 'prom-client';
import type { Deps } from '../../../services/deps.ts';
import { type Backlog, readBacklog } from '../../../services/operations/backlog.ts';

const freshMs = 5_000;

export function registerBacklog(registry: Registry, deps: Deps): void {
  let reading: Promise<Backlog | undefined> | undefined;
  let readAt = 0;
  const read = () => {
    if (!reading || performance.now() - readAt > freshMs) {
      readAt = performance.now();
      // While the database is unreachable the gauges are absent; other checks report that.
      reading = readBacklog(deps).catch(() => undefined);
    }
    return reading;
  };
  const gauge = (name: string, help: string, labelNames: string[], set: (gauge: Gauge, backlog: Backlog) => void) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        this.reset();
        const backlog = await read();
        if (backlog) set(this, backlog);
        // Otherwise a gauge without labels would export 0.
        else this.remove({});
      },
    });
  gauge(
    'belfry_backlog_age_seconds',
    'How long the oldest due work of each priority class has been waiting.',
    ['class'],
    (it, { classes }) => {
      for (const { name, ageMs } of classes) it.set({ class: name }, ageMs / 1_000);
    },
  );
  gauge(
    'belfry_backlog_size',
    'Due work that no worker has claimed, counted up to 100,000 per queue.',
    ['class'],
    (it, { classes }) => {
      for (const { name, size } of classes) it.set({ class: name }, size);
    },
  );
  gauge(
    'belfry_sending_paused',
    '1 while sending is paused because the database was restored or cloned.',
    [],
    (it, { isPaused }) => it.set(isPaused ? 1 : 0),
  );
  gauge(
    'belfry_channels_bulk_paused',
    'Email channels whose bulk messages are paused, because too many bounced or were reported as spam.',
    [],
    (it, { bulkPausedChannels }) => it.set(bulkPausedChannels),
  );
  gauge(
    'belfry_webhook_backlog_age_seconds',
    'How long the oldest due webhook message has been waiting.',
    [],
    (it, { webhooksAgeMs }) => it.set(webhooksAgeMs / 1_000),
  );
  gauge('belfry_workers', 'Running workers of all processes.', [], (it, { workers }) => it.set(workers));
}
