/** Metrics of the replicas that this process may read from. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Replicas } from '../../../db/connection/replicas.ts';

export function registerReplicas(registry: Registry, replicas: Replicas): void {
  new Gauge({
    name: 'belfry_replica_used',
    help: '1 if reads go to the replica, else 0.',
    labelNames: ['replica'],
    registers: [registry],
    collect() {
      for (const { address: replica, cause } of replicas.listStatuses()) this.set({ replica }, cause ? 0 : 1);
    },
  });
  new Gauge({
    name: 'belfry_replica_staleness_seconds',
    help: 'How old the data of the replica is at most.',
    labelNames: ['replica'],
    registers: [registry],
    collect() {
      for (const { address: replica, stalenessMs } of replicas.listStatuses()) {
        if (stalenessMs !== undefined) this.set({ replica }, stalenessMs / 1_000);
      }
    },
  });
  new Counter({
    name: 'belfry_replica_reads_total',
    help: 'Statements that replicas answered.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(replicas.reads);
    },
  });
  new Counter({
    name: 'belfry_replica_fallbacks_total',
    help: 'Reads that went to the primary although they may go to a replica, by cause.',
    labelNames: ['cause'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [cause, count] of replicas.fallbacks) this.inc({ cause }, count);
    },
  });
}
