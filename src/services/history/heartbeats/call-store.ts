/** Stores calls of heartbeats in batches: thousands of cron jobs call at the full minute. */
import type pg from 'pg';
import { type CallResult, type NewCall, storeCallsAcrossTenants } from '../../../db/history/heartbeats/calls.ts';
import type { Batcher } from '../../../lib/load/batcher.ts';
import { createBatcher } from '../sources/source-store.ts';

const rowBytes = 512;

export class HeartbeatCalls {
  readonly #calls: Batcher<NewCall, CallResult>;
  /** Called if an event is to be triggered, or an occurrence to be resolved. */
  onAct: () => void = () => {};

  constructor(pool: pg.Pool) {
    this.#calls = createBatcher(
      items => storeCallsAcrossTenants(pool, items),
      ({ body }) => body.length + rowBytes,
    );
  }

  /** Resolves once the call is committed. Returns false if the heartbeat has been deleted. */
  async add(call: NewCall): Promise<boolean> {
    const { stored, acts } = await this.#calls.add(call);
    if (acts) this.onAct();
    return stored;
  }

  drain(): Promise<void> {
    return this.#calls.drain();
  }
}
