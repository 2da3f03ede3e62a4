/**
 * The backlog of the whole installation, told by every process: what autoscaling and alerts ask for, also where no worker
 * is left to tell. The database is asked at most every few seconds, however often somebody reads.
 */
import { Gauge, type Registry } from 'prom-client';
import type { Deps } from '../services/deps.ts';
import { type Backlog, readBacklog } from '../services/queue.ts';

const freshMs = 5_000;

export function registerBacklog(registry: Registry, deps: Deps): void {
  let reading: Promise<Backlog | undefined> | undefined;
  let readAt = 0;
  const read = () => {
    if (!reading || Date.now() - readAt > freshMs) {
      readAt = Date.now();
      // A database that is away is told of by other means; here the gauges are missing then.
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
        // Else a gauge without labels would say 0.
        else this.remove({});
      },
    });
  gauge(
    'belfry_backlog_age_seconds',
    'For how long the oldest of each class has been due.',
    ['class'],
    (it, { classes }) => {
      for (const { name, ageMs } of classes) it.set({ class: name }, ageMs / 1_000);
    },
  );
  gauge(
    'belfry_backlog_size',
    'Due and not yet being worked on; up to 100,000 a queue.',
    ['class'],
    (it, { classes }) => {
      for (const { name, size } of classes) it.set({ class: name }, size);
    },
  );
  gauge(
    'belfry_sending_paused',
    '1 while nothing is sent because the database was restored or cloned.',
    [],
    (it, { isPaused }) => it.set(isPaused ? 1 : 0),
  );
  gauge(
    'belfry_webhook_backlog_age_seconds',
    'For how long the oldest message to a webhook has been due.',
    [],
    (it, { webhooksAgeMs }) => it.set(webhooksAgeMs / 1_000),
  );
  gauge('belfry_workers', 'Workers that are running, of all processes.', [], (it, { workers }) => it.set(workers));
}
