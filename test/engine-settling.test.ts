/** What a worker does when outcomes cannot be written. */
import { expect, test } from 'vitest';
import type { Delivery } from '../src/db/deliveries.ts';
import { type ClaimedDelivery, deliverAll } from '../src/engine/deliver.ts';
import type { Engine } from '../src/engine/engine.ts';
import { Meters } from '../src/engine/meters.ts';

const failure = new Error('the ledger is broken');
/** Only what a message needs that has been cancelled meanwhile. */
const engine = {
  log: { info() {}, warn() {}, error() {} },
  meters: new Meters({ inFlight: () => [], circuits: () => [], pools: {} }),
  plans: { listChannels: async () => [], findEvent: async () => undefined },
  outcomes: {
    settle: async () => {
      throw failure;
    },
  },
} as unknown as Engine;

test('a failure of the first is told once all have been looked at, and ends nothing else', async () => {
  const occurrence = { cancelled_at: new Date(), due_at: new Date() } as ClaimedDelivery['occurrence'];
  const ready = Array.from({ length: 300 }, (_, id) => ({
    delivery: { id, occurrence_id: 'o', provider_attempts: 1, attempts: 1 } as Delivery,
    occurrence,
    person: {} as ClaimedDelivery['person'],
  }));
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', note);
  await expect(deliverAll(engine, ready as ClaimedDelivery[], () => {})).rejects.toBe(failure);
  await new Promise(setImmediate);
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});
