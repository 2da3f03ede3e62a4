/**
 * Metrics of the whole installation's backlog, for autoscaling and alerts. Every process exports them, so they remain
 * available without a running worker. The database is queried at most every few seconds, however often metrics are read.
 */
import type { Registry } from 'prom-client';
import type { Deps } from '../../../services/deps.ts';
import { type Backlog, readBacklog } from '../../../services/operations/backlog.ts';
import { readings } from './readings.ts';

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
  const { gauge } = readings(registry);
  const total = (name: string, help: string, pick: (backlog: Backlog) => number) =>
    gauge(name, help, [], async () => {
      const backlog = await read();
      return backlog && pick(backlog);
    });
  const perClass = (name: string, help: string, pick: (work: Backlog['classes'][number]) => number) =>
    gauge(name, help, ['class'], async () =>
      (await read())?.classes.map(work => [{ class: work.name }, pick(work)] as const),
    );
  perClass(
    'belfry_backlog_age_seconds',
    'How long the oldest due work of each priority class has been waiting.',
    ({ ageMs }) => ageMs / 1_000,
  );
  perClass(
    'belfry_backlog_size',
    'Due work that no worker has claimed, counted up to 100,000 per queue.',
    ({ size }) => size,
  );
  total(
    'belfry_sending_paused',
    '1 while sending is paused because the database was restored or cloned.',
    ({ isPaused }) => (isPaused ? 1 : 0),
  );
  total(
    'belfry_channels_bulk_paused',
    'Email channels whose bulk messages are paused, because too many bounced or were reported as spam.',
    ({ bulkPausedChannels }) => bulkPausedChannels,
  );
  total(
    'belfry_rate_guard_paused',
    'Keys, events and applications that the rate guard has paused, because they triggered far more often than ever.',
    ({ guardedRates }) => guardedRates,
  );
  total('belfry_holds', 'Occurrences that wait for an approval.', ({ holds }) => holds.open);
  total(
    'belfry_holds_expiring',
    'Occurrences that wait for an approval, and fail without one within two hours.',
    ({ holds }) => holds.expiring,
  );
  total(
    'belfry_webhook_backlog_age_seconds',
    'How long the oldest due webhook message has been waiting.',
    ({ webhooksAgeMs }) => webhooksAgeMs / 1_000,
  );
  total('belfry_workers', 'Running workers of all processes.', ({ workers }) => workers);
}
