/** The outboxes that this process drains: whether it reaches them, how far behind it is, and what it took and refused. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { DrainStatus, OutboxDrains } from '../services/outbox-drains.ts';

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
  gauge('belfry_outbox_up', 'Whether the database of the outbox was reached lately.', ({ state }) => (state ? 1 : 0));
  gauge('belfry_outbox_lag_seconds', 'For how long the oldest row has waited.', ({ state }) =>
    state ? state.lagMs / 1_000 : undefined,
  );
  gauge('belfry_outbox_pending', 'Rows that wait; up to 10,000.', ({ state }) => state?.pending);
  gauge(
    'belfry_outbox_failed',
    'Refused rows that wait for somebody to look; up to 10,000.',
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
  counter('belfry_outbox_taken_total', 'Rows that became occurrences.', ({ taken }) => taken);
  counter('belfry_outbox_refused_total', 'Rows that were refused.', ({ refused }) => refused);
}
