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

type Owned = Pick<Delivery, 'id' | 'owner'>;

export class Fence {
  #lease: WorkerLease | undefined;
  /** Deliveries that were moved to the lease from lost ones, by id, with the first of these. An earlier claim is another one's. */
  #adopted: ReadonlyMap<number, number> = new Map();
  /** Whether it is known what was moved to the current lease. */
  #isAdopted = false;
  #isStopping = false;
  readonly #waiting: (() => void)[] = [];

  /** The current lease; undefined while there is none. */
  set lease(lease: WorkerLease | undefined) {
    this.#lease = lease;
    this.#isAdopted = false;
    this.#wake();
  }

  /** Ends all waits: what is not held by now is not sent. */
  stop(): void {
    this.#isStopping = true;
    this.#wake();
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** Returns whether the delivery may be handed to a provider right now. */
  holds(delivery: Owned): boolean {
    const lease = this.#lease;
    return lease !== undefined && this.#owns(lease, delivery) && elapsedMs(lease.confirmedAt) < fenceMs;
  }

  /** Returns whether it may be, and the lease was confirmed just now; otherwise call `hold`. */
  isFresh(delivery: Owned): boolean {
    const lease = this.#lease;
    if (!lease || !this.#owns(lease, delivery)) return false;
    const ageMs = elapsedMs(lease.confirmedAt);
    // A lease that cannot be confirmed is replaced by the worker.
    if (ageMs > renewMs) lease.confirm().catch(() => {});
    return ageMs < freshMs;
  }

  /** Waits until the lease is confirmed. Returns false if another worker has the delivery, or this one stops. */
  async hold(delivery: Owned): Promise<boolean> {
    if (this.isFresh(delivery)) return true;
    while (!this.#isStopping && !this.#isLost(delivery)) {
      const lease = this.#lease;
      if (lease && this.#owns(lease, delivery)) await lease.confirm().catch(() => this.#change(lease));
      else await this.#change(lease);
      // On a busy machine, the confirmation itself may have taken longer than `freshMs`.
      if (this.holds(delivery)) return true;
    }
    return false;
  }

  /** After a lease was replaced, keeps the deliveries that were moved to the new one, and gives up the others. */
  adopt(kept: ReadonlySet<number>, former: readonly number[]): void {
    const first = Math.min(...former);
    this.#adopted = new Map([...kept].map(id => [id, this.#adopted.get(id) ?? first]));
    this.#isAdopted = true;
    this.#wake();
  }

  #owns(lease: WorkerLease, { owner, id }: Owned): boolean {
    return owner === lease.id || (this.#isAdopted && owner >= (this.#adopted.get(id) ?? Number.POSITIVE_INFINITY));
  }

  /** Returns whether another worker has taken the delivery over. */
  #isLost(delivery: Owned): boolean {
    return this.#lease !== undefined && this.#isAdopted && !this.#owns(this.#lease, delivery);
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
