/** What a worker may hand to a provider, by its lease. */
import { beforeEach, expect, test } from 'vitest';
import type { WorkerLease } from '../../src/db/ledger/workers.ts';
import { Fence } from '../../src/engine/deliver/fence.ts';
import { currentMoment } from '../../src/lib/time/elapsed.ts';

let fence: Fence;
/** Whether the database answers. */
let isReachable: boolean;

function leaseOf(id: number): WorkerLease {
  const lease = {
    id,
    confirmedAt: currentMoment(),
    confirm: async () => {
      if (!isReachable) throw new Error('no answer');
      lease.confirmedAt = currentMoment();
    },
    end: async () => {},
  };
  return lease;
}

/** Makes the lease as old as after this many seconds, by the given clock: the other one stood still. */
function age(lease: WorkerLease, seconds: number, clock: 'monotonic' | 'wall'): void {
  lease.confirmedAt[clock] -= seconds * 1_000;
}

beforeEach(() => {
  fence = new Fence();
  isReachable = true;
});

const delivery = (owner: number, id = 1) => ({ id, owner });

test.each(['monotonic', 'wall'] as const)('an old lease allows nothing, by the %s clock', async clock => {
  const lease = leaseOf(1);
  fence.lease = lease;
  expect(fence.holds(delivery(1))).toBe(true);
  age(lease, 4, clock);
  expect([fence.holds(delivery(1)), fence.isFresh(delivery(1))]).toEqual([false, false]);
  expect(await fence.hold(delivery(1))).toBe(true);
  expect(fence.holds(delivery(1))).toBe(true);
});

test('a delivery of another lease is not sent', () => {
  fence.lease = leaseOf(2);
  expect([fence.holds(delivery(1)), fence.holds(delivery(2))]).toEqual([false, true]);
});

test('after a lost lease, only what is still owned is sent', async () => {
  const lease = leaseOf(1);
  fence.lease = lease;
  age(lease, 60, 'monotonic');
  isReachable = false;
  const [kept, taken] = [delivery(1, 1), delivery(1, 2)];
  const waiting = [fence.hold(kept), fence.hold(taken)];
  fence.lease = undefined;
  isReachable = true;
  fence.lease = leaseOf(2);
  fence.adopt(new Set([1]), [1]);
  expect(await Promise.all(waiting)).toEqual([true, false]);
});

test('a claim that was lost stays lost when its delivery is claimed again and adopted', () => {
  fence.lease = leaseOf(2);
  fence.adopt(new Set(), [1]);
  fence.lease = leaseOf(3);
  fence.adopt(new Set([7]), [2]);
  expect([fence.holds(delivery(1, 7)), fence.holds(delivery(2, 7))]).toEqual([false, true]);
});

test('a worker that stops does not wait for a lease', async () => {
  const waiting = fence.hold(delivery(1));
  fence.stop();
  expect(await waiting).toBe(false);
});
