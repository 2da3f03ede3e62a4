/** How much a worker takes on. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { priorities } from '../src/core/trigger.ts';
import type { Delivery } from '../src/db/deliveries.ts';
import { InFlight } from '../src/engine/in-flight.ts';

const bulk = priorities.indexOf('bulk');
let inFlight: InFlight;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 });
  inFlight = new InFlight(new Set());
});
afterEach(() => void vi.useRealTimers());

const delivery = (id: number) => ({ id, priority: bulk, organization_id: 1 }) as Delivery;

/** So many are sent within half a second. */
function send(count: number): void {
  for (let id = 1; id <= count; id++) inFlight.add(delivery(id));
  for (let id = 1; id <= count; id++) inFlight.delete(delivery(id));
}

test('pages of a fan-out are small at first, and larger the faster its messages go, up to a limit', () => {
  expect(inFlight.page(bulk)).toBe(500);
  send(800);
  expect(inFlight.page(bulk)).toBe(800);
  send(10_000);
  expect(inFlight.page(bulk)).toBe(1_000);
  vi.setSystemTime(1_002_000);
  expect(inFlight.page(bulk)).toBe(500);
});

test('a page waits for room, but not for ever, and not where nothing is under way', () => {
  const now = Date.now();
  expect(inFlight.shouldWaitForRoom(bulk, now)).toBe(false);
  for (let id = 1; id <= 400; id++) inFlight.add(delivery(id));
  expect(inFlight.shouldWaitForRoom(bulk, now)).toBe(true);
  expect(inFlight.shouldWaitForRoom(bulk, now + 399)).toBe(true);
  expect(inFlight.shouldWaitForRoom(bulk, now + 400)).toBe(false);
});

test('a further page does not wait when half of one fits, and is as large as what fits', () => {
  const now = Date.now();
  for (let id = 1; id <= 250; id++) inFlight.add(delivery(id));
  expect(inFlight.shouldWaitForRoom(bulk, now)).toBe(false);
  expect(inFlight.pageFor(bulk, 1)).toBe(250);
  inFlight.add(delivery(251));
  expect(inFlight.shouldWaitForRoom(bulk, now)).toBe(true);
});

test('a further page is decided, if a small one, also where there is no room for it', () => {
  for (let id = 1; id <= 500; id++) inFlight.add(delivery(id));
  expect(inFlight.roomFor(bulk, 1)).toBe(0);
  expect(inFlight.pageFor(bulk, 1)).toBe(64);
});

const of = (id: number, organization_id: number) => ({ id, priority: 1, organization_id }) as Delivery;

/** Takes on as many of an organization as it may have. */
function fill(organization: number): number {
  const room = inFlight.roomFor(1, organization);
  for (let i = 0; i < room; i++) inFlight.add(of(organization * 10_000 + i, organization));
  return room;
}

test('however many organizations have slow receivers, the next one has room', () => {
  expect([1, 2, 3, 4, 5].map(fill)).toEqual([500, 250, 125, 63, 31]);
  // Nor does any of those take more while others wait.
  expect(inFlight.roomFor(1, 1)).toBeLessThanOrEqual(0);
});

test('a claim takes of each organization what it has room for, and nothing of those that have their share', () => {
  fill(1);
  for (let i = 0; i < 20; i++) inFlight.add(of(i, 2));
  const { usual, byOrganization } = inFlight.shares(1);
  expect(usual).toBe(240);
  expect(Object.fromEntries(byOrganization)).toEqual({ 1: 0, 2: 230 });
});

test('whoever has some in flight is claimed more of when that is worth a claim', () => {
  for (let i = 0; i < 450; i++) inFlight.add(of(i, 1));
  expect(inFlight.shares(1).byOrganization.get(1)).toBe(0);
  for (let i = 0; i < 100; i++) inFlight.delete(of(i, 1));
  expect(inFlight.shares(1).byOrganization.get(1)).toBe(150);
});

test('what waits for a limit of its channel takes no room', () => {
  const waiting = new Set<number>();
  inFlight = new InFlight(waiting);
  fill(1);
  for (let i = 0; i < 400; i++) waiting.add(10_000 + i);
  expect(inFlight.roomFor(1, 1)).toBe(400);
});
