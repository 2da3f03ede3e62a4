/** Metrics of the outboxes that this process drains. */
import type { Registry } from 'prom-client';
import type { DrainStatus, OutboxDrains } from '../../../services/operations/outbox-drains.ts';
import { readings } from './readings.ts';

export function registerOutboxes(registry: Registry, outboxes: OutboxDrains): void {
  const { gauge, counter } = readings(registry);
  const perOutbox =
    (define: typeof gauge | typeof counter) =>
    (name: string, help: string, pick: (status: DrainStatus) => number | undefined) =>
      define(name, help, ['outbox'], () =>
        outboxes.listStatuses().map(({ source, status }) => [{ outbox: source.database }, pick(status)]),
      );
  const [show, count] = [perOutbox(gauge), perOutbox(counter)];
  show('belfry_outbox_up', '1 if the database of the outbox is reachable, else 0.', ({ state }) => (state ? 1 : 0));
  show('belfry_outbox_lag_seconds', 'How long the oldest row has been waiting to be drained.', ({ state }) =>
    state ? state.lagMs / 1_000 : undefined,
  );
  show('belfry_outbox_pending', 'Rows waiting to be drained, counted up to 10,000.', ({ state }) => state?.pending);
  show(
    'belfry_outbox_failed',
    'Rejected rows that need to be retried or deleted, counted up to 10,000.',
    ({ state }) => state?.failed,
  );
  count('belfry_outbox_taken_total', 'Rows stored as occurrences.', ({ taken }) => taken);
  count('belfry_outbox_refused_total', 'Rows rejected.', ({ refused }) => refused);
}
