/** Metrics of the replicas that this process may read from. */
import type { Registry } from 'prom-client';
import type { Replicas } from '../../../db/connection/replicas.ts';
import { readings } from './readings.ts';

export function registerReplicas(registry: Registry, replicas: Replicas): void {
  const { gauge, counter } = readings(registry);
  gauge('belfry_replica_used', '1 if reads go to the replica, else 0.', ['replica'], () =>
    replicas.listStatuses().map(({ address: replica, cause }) => [{ replica }, cause ? 0 : 1]),
  );
  gauge('belfry_replica_staleness_seconds', 'How old the data of the replica is at most.', ['replica'], () =>
    replicas
      .listStatuses()
      .map(({ address: replica, stalenessMs: ms }) => [{ replica }, ms === undefined ? undefined : ms / 1_000]),
  );
  counter('belfry_replica_reads_total', 'Statements that replicas answered.', [], () => replicas.reads);
  counter(
    'belfry_replica_fallbacks_total',
    'Reads that went to the primary although they may go to a replica, by cause.',
    ['cause'],
    () => [...replicas.fallbacks].map(([cause, count]) => [{ cause }, count]),
  );
}
