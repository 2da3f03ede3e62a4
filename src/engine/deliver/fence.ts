/**
 * Keeps a worker from sending what another one may have taken over. A message is handed to a provider only while the worker's
 * lease, which owns the delivery, was confirmed by the database less than `fenceMs` ago. A worker that was frozen, suspended or
 * cut off finds its lease too old, and waits until it is confirmed or replaced; then it keeps only what it still owns.
 *
 * Invariant: `fenceMs` < `graceMs`. Recovery begins `graceMs` after another worker has seen that the lock of the lease is gone,
 * and every confirmation began while the lock was held; so the last one is too old by then. The difference allows for the time
 * from the check to the first byte. docs/architecture.md has the table of all times.
 */
import type { Delivery } from '../../db/ledger/deliver/deliveries.ts';
import type { WorkerLease } from '../../db/ledger/workers.ts';
import { elapsedMs } from '../../lib/time/elapsed.ts';

/** How long another worker waits after the lock is gone. Until then, the owner can continue under a new lease. */
export const graceMs = 5_000;
const fenceMs = 3_000;
/**
 * While messages are sent, a confirmation that is older than `renewMs` is renewed, so that they need not wait for one. After
 * `freshMs` they do: a worker that is cut off from the database sends little whose outcome it cannot store.
 */
const freshMs = 1_000;
const renewMs = 500;
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
    return lease !== undefined && owner === lease.id && elapsedMs(lease.confirmedAt) < fenceMs;
  }

  /** Returns whether it may be, and the lease was confirmed just now; otherwise call `hold`. */
  isFresh({ owner }: Owned): boolean {
    const lease = this.#lease;
    if (!lease || owner !== lease.id) return false;
    const ageMs = elapsedMs(lease.confirmedAt);
    // A lease that cannot be confirmed is replaced by the worker.
    if (ageMs > renewMs) lease.confirm().catch(() => {});
    return ageMs < freshMs;
  }

  /** Waits until the lease is confirmed. Returns false if another worker has the delivery, or this one stops. */
  async hold(delivery: Owned): Promise<boolean> {
    if (this.isFresh(delivery)) return true;
    while (!this.#isStopping && delivery.owner !== lost) {
      const lease = this.#lease;
      if (lease?.id === delivery.owner) await lease.confirm().catch(() => this.#change(lease));
      else await this.#change(lease);
      // On a busy machine, the confirmation itself may have taken longer than `freshMs`.
      if (this.holds(delivery)) return true;
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
