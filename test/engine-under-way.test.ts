/** How much a worker takes on. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { priorities } from '../src/core/trigger.ts';
import type { Delivery } from '../src/db/deliveries.ts';
import { UnderWay } from '../src/engine/under-way.ts';

const bulk = priorities.indexOf('bulk');
let underWay: UnderWay;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 });
  underWay = new UnderWay(new Set());
});
afterEach(() => void vi.useRealTimers());

const delivery = (id: number) => ({ id, priority: bulk, organization_id: 1 }) as Delivery;

/** So many are sent within half a second. */
function send(count: number): void {
  for (let id = 1; id <= count; id++) underWay.add(delivery(id));
  for (let id = 1; id <= count; id++) underWay.delete(delivery(id));
}

test('pages of a fan-out are small at first, and larger the faster its messages go, up to a limit', () => {
  expect(underWay.page(bulk)).toBe(500);
  send(800);
  expect(underWay.page(bulk)).toBe(800);
  send(10_000);
  expect(underWay.page(bulk)).toBe(1_000);
  vi.setSystemTime(1_002_000);
  expect(underWay.page(bulk)).toBe(500);
});

test('a page waits for room, but not for ever, and not where nothing is under way', () => {
  const now = Date.now();
  expect(underWay.soon(bulk, now)).toBe(false);
  for (let id = 1; id <= 400; id++) underWay.add(delivery(id));
  expect(underWay.soon(bulk, now)).toBe(true);
  expect(underWay.soon(bulk, now + 399)).toBe(true);
  expect(underWay.soon(bulk, now + 400)).toBe(false);
});

test('a page of the size that fits does not wait', () => {
  const now = Date.now();
  for (let id = 1; id <= 50; id++) underWay.add(delivery(id));
  expect(underWay.soon(bulk, now)).toBe(false);
  underWay.add(delivery(51));
  expect(underWay.soon(bulk, now)).toBe(true);
});
