/** What a worker does when outcomes cannot be stored. */
import { expect, test } from 'vitest';
import type { Delivery } from '../../src/db/ledger/deliver/deliveries.ts';
import { type ClaimedDelivery, type DeliverTools, deliverAll } from '../../src/engine/deliver/deliver.ts';
import { Meters } from '../../src/engine/telemetry/meters.ts';
import { Announcements } from '../../src/lib/caching/announcements.ts';

const failure = new Error('the ledger is broken');
/** Only what is needed for a message that was cancelled meanwhile. */
const tools = {
  stops: new Announcements(),
  log: { info() {}, warn() {}, error() {} },
  meters: new Meters({ inFlight: () => [], circuits: () => [], pools: {} }),
  plans: { listChannels: async () => [], findEvent: async () => undefined },
  outcomes: {
    settle: async () => {
      throw failure;
    },
  },
} as unknown as DeliverTools;

test('a failed settlement rejects after all deliveries were processed, without unhandled rejections', async () => {
  const occurrence = { cancelled_at: new Date(), due_at: new Date() };
  const ready = Array.from({ length: 300 }, (_, id) => ({
    delivery: { id, occurrence_id: 'o', provider_attempts: 1, attempts: 1 } as Delivery,
    state: { occurrence, recipient: {}, readAt: 0 },
  }));
  const unhandled: unknown[] = [];
  const onRejection = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', onRejection);
  await expect(deliverAll(tools, ready as unknown as ClaimedDelivery[], () => {})).rejects.toBe(failure);
  await new Promise(setImmediate);
  process.off('unhandledRejection', onRejection);
  expect(unhandled).toEqual([]);
});
