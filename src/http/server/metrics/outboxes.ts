/** Metrics of the outboxes that this process drains. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { DrainStatus, OutboxDrains } from '../../../services/operations/outbox-drains.ts';

export function registerOutboxes(registry: Registry, outboxes: OutboxDrains): void {
  const each = (use: (labels: { outbox: string }, status: DrainStatus) => void) => {
    for (const { source, status } of outboxes.listStatuses()) use({ outbox: source.database }, status);
  };
  const gauge = (name: string, help: string, pick: (status: DrainStatus) => number | undefined) =>
    new Gauge({
      name,
      help,
      labelNames: ['outbox'],
      registers: [registry],
      collect() {
        this.reset();
        each((labels, status) => {
          const value = pick(status);
          if (value !== undefined) this.set(labels, value);
        });
      },
    });
  gauge('belfry_outbox_up', '1 if the database of the outbox is reachable, else 0.', ({ state }) => (state ? 1 : 0));
  gauge('belfry_outbox_lag_seconds', 'How long the oldest row has been waiting to be drained.', ({ state }) =>
    state ? state.lagMs / 1_000 : undefined,
  );
  gauge('belfry_outbox_pending', 'Rows waiting to be drained, counted up to 10,000.', ({ state }) => state?.pending);
  gauge(
    'belfry_outbox_failed',
    'Rejected rows that need to be retried or deleted, counted up to 10,000.',
    ({ state }) => state?.failed,
  );
  const counter = (name: string, help: string, pick: (status: DrainStatus) => number) =>
    new Counter({
      name,
      help,
      labelNames: ['outbox'],
      registers: [registry],
      collect() {
        this.reset();
        each((labels, status) => this.inc(labels, pick(status)));
      },
    });
  counter('belfry_outbox_taken_total', 'Rows stored as occurrences.', ({ taken }) => taken);
  counter('belfry_outbox_refused_total', 'Rows rejected.', ({ refused }) => refused);
}
