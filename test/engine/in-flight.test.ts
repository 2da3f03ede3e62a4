/** How many deliveries a worker takes on. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { priorities } from '../../src/core/trigger.ts';
import type { Delivery } from '../../src/db/ledger/deliver/deliveries.ts';
import { InFlight } from '../../src/engine/in-flight.ts';

const bulk = priorities.indexOf('bulk');
let inFlight: InFlight;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  vi.advanceTimersByTime(1_000_000);
  inFlight = new InFlight(new Set());
});
afterEach(() => void vi.useRealTimers());

const delivery = (id: number) => ({ id, priority: bulk, organization_id: 1 }) as Delivery;

/** Sends this many deliveries within one window. */
function send(count: number): void {
  const deliveries = Array.from({ length: count }, (_, i) => delivery(i + 1));
  for (const one of deliveries) inFlight.add(one);
  for (const one of deliveries) inFlight.delete(one);
}

test('pages of a fan-out grow with the rate, up to a limit', () => {
  expect(inFlight.pageSize(bulk)).toBe(500);
  send(800);
  expect(inFlight.pageSize(bulk)).toBe(800);
  send(10_000);
  expect(inFlight.pageSize(bulk)).toBe(1_000);
  vi.advanceTimersByTime(2_000);
  expect(inFlight.pageSize(bulk)).toBe(500);
});

test('a delivery that is claimed again before its last attempt has left stays in flight, and counts once', () => {
  const [first, second] = [delivery(1), delivery(1)];
  inFlight.add(first);
  inFlight.add(second);
  inFlight.delete(first);
  expect([inFlight.ids(), inFlight.counts()[bulk]]).toEqual([[1], 1]);
  inFlight.delete(second);
  expect([inFlight.ids(), inFlight.counts()[bulk]]).toEqual([[], 0]);
});

test('a page waits for capacity until the timeout, and never when nothing is in flight', () => {
  const now = performance.now();
  expect(inFlight.updateCapacityWait(bulk, now)).toBe(false);
  for (let id = 1; id <= 400; id++) inFlight.add(delivery(id));
  expect(inFlight.updateCapacityWait(bulk, now)).toBe(true);
  expect(inFlight.updateCapacityWait(bulk, now + 399)).toBe(true);
  expect(inFlight.updateCapacityWait(bulk, now + 400)).toBe(false);
});

test('a further page does not wait when half of one fits, and has the size that fits', () => {
  const now = performance.now();
  for (let id = 1; id <= 250; id++) inFlight.add(delivery(id));
  expect(inFlight.updateCapacityWait(bulk, now)).toBe(false);
  expect(inFlight.pageSizeFor(bulk, 1)).toBe(250);
  inFlight.add(delivery(251));
  expect(inFlight.updateCapacityWait(bulk, now)).toBe(true);
});

test('a small further page is decided even without capacity', () => {
  for (let id = 1; id <= 500; id++) inFlight.add(delivery(id));
  expect(inFlight.capacityFor(bulk, 1)).toBe(0);
  expect(inFlight.pageSizeFor(bulk, 1)).toBe(64);
});

const deliveryOf = (id: number, organization_id: number) => ({ id, priority: 1, organization_id }) as Delivery;

/** Takes on as many deliveries of an organization as it has capacity for, and returns how many. */
function fill(organization: number): number {
  const capacity = inFlight.capacityFor(1, organization);
  for (let i = 0; i < capacity; i++) inFlight.add(deliveryOf(organization * 10_000 + i, organization));
  return capacity;
}

test('the next organization has capacity, however many others have slow receivers', () => {
  expect([1, 2, 3, 4, 5].map(fill)).toEqual([500, 250, 125, 63, 31]);
  expect(Array.from({ length: 150 }, (_, i) => fill(6 + i)).every(share => share >= 16)).toBe(true);
  expect(inFlight.capacity(1)).toBe(16);
  expect(inFlight.shares(1).defaultShare).toBe(16);
  // An organization with its share gets no more while others wait.
  expect(inFlight.capacityFor(1, 1)).toBeLessThanOrEqual(0);
});

test('no organization has capacity once a worker holds four times its limit', () => {
  for (let organization = 1; fill(organization) > 0; organization++);
  expect(inFlight.counts()[1]).toBe(4_000);
  expect(inFlight.capacity(1)).toBe(0);
});

test('a claim takes what each organization has capacity for, and nothing of those that have their share', () => {
  fill(1);
  for (let i = 0; i < 20; i++) inFlight.add(deliveryOf(i, 2));
  const { defaultShare, byOrganization } = inFlight.shares(1);
  expect(defaultShare).toBe(240);
  expect(Object.fromEntries(byOrganization)).toEqual({ 1: 0, 2: 230 });
});

test('an organization with deliveries in flight gets more once a claim is worth its cost', () => {
  const deliveries = Array.from({ length: 450 }, (_, i) => deliveryOf(i, 1));
  for (const one of deliveries) inFlight.add(one);
  expect(inFlight.shares(1).byOrganization.get(1)).toBe(0);
  for (const one of deliveries.slice(0, 100)) inFlight.delete(one);
  expect(inFlight.shares(1).byOrganization.get(1)).toBe(150);
});

test('deliveries that wait for a limit of their channel need no capacity', () => {
  const waiting = new Set<number>();
  inFlight = new InFlight(waiting);
  fill(1);
  for (let i = 0; i < 400; i++) waiting.add(10_000 + i);
  expect(inFlight.capacityFor(1, 1)).toBe(400);
});
