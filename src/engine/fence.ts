/**
 * Keeps a worker from sending what another one may have taken over. A message is handed to a provider only while the worker's
 * lease, which owns the delivery, was confirmed by the database less than `fenceMs` ago. A worker that was frozen, suspended or
 * cut off finds its lease too old, and waits until it is confirmed or replaced; then it keeps only what it still owns.
 *
 * Invariant: `fenceMs` < `graceMs`. Recovery begins `graceMs` after another worker has seen that the lock of the lease is gone,
 * and every confirmation began while the lock was held; so the last one is too old by then. The difference allows for the time
 * from the check to the first byte. docs/architecture.md has the table of all times.
 */
import type { Delivery } from '../db/ledger/deliveries.ts';
import type { WorkerLease } from '../db/ledger/workers.ts';
import { elapsedMs } from '../lib/elapsed.ts';

/** How long another worker waits after the lock is gone. Until then, the owner can continue under a new lease. */
export const graceMs = 5_000;
const fenceMs = 3_000;
/** A confirmation that is older than this is renewed while messages are sent, so that they need not wait for one. */
const renewMs = 1_000;
/** The owner of a delivery that another worker has taken over. */
const lost = 0;

type Owned = Pick<Delivery, 'owner'>;

export class Fence {
  #lease: WorkerLease | undefined;
  #isStopping = false;
  readonly #waiting: (() => void)[] = [];

  /** The current lease; undefined while there is none. */
  set lease(lease: WorkerLease | undefined) {
    this.#lease = lease;
    this.#wake();
  }

  /** Ends all waits: what is not held by now is not sent. */
  stop(): void {
    this.#isStopping = true;
    this.#wake();
  }

  /** Returns whether the delivery may be handed to a provider right now. */
  holds({ owner }: Owned): boolean {
    const lease = this.#lease;
    if (!lease || owner !== lease.id) return false;
    const ageMs = elapsedMs(lease.confirmedAt);
    // A lease that cannot be confirmed is replaced by the worker.
    if (ageMs > renewMs) lease.confirm().catch(() => {});
    return ageMs < fenceMs;
  }

  /** Waits until the delivery may be handed over. Returns false if another worker has it, or this one stops. */
  async hold(delivery: Owned): Promise<boolean> {
    while (!this.#isStopping && delivery.owner !== lost) {
      if (this.holds(delivery)) return true;
      const lease = this.#lease;
      if (lease?.id === delivery.owner) await lease.confirm().catch(() => this.#change(lease));
      else await this.#change(lease);
    }
    return false;
  }

  /** After a lease was replaced, keeps the deliveries that were moved to the new one, and gives up the others. */
  adopt(deliveries: Iterable<Owned & Pick<Delivery, 'id'>>, owner: number, kept: ReadonlySet<number>): void {
    for (const delivery of deliveries) {
      if (delivery.owner !== owner) delivery.owner = kept.has(delivery.id) ? owner : lost;
    }
    this.#wake();
  }

  /** Resolves when the lease, or what it owns, has changed. */
  #change(lease: WorkerLease | undefined): Promise<void> | undefined {
    if (this.#lease !== lease || this.#isStopping) return undefined;
    return new Promise(resolve => this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
