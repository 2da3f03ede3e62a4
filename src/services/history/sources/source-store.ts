/** Stores what sources receive in batches: under load, many requests share a statement. Heartbeats use the same batches. */
import type pg from 'pg';
import { AppError } from '../../../core/errors.ts';
import { isUnavailable, sqlState } from '../../../db/connection/pool.ts';
import {
  type AlertKey,
  findAlertsAcrossTenants,
  type SeenAlert,
  type StoredAlert,
  storeOpenAlertsAcrossTenants,
} from '../../../db/history/sources/alerts.ts';
import {
  type NewPayload,
  type Settlement,
  settlePayloadsAcrossTenants,
  storePayloadsAcrossTenants,
} from '../../../db/history/sources/payloads.ts';
import { Batcher } from '../../../lib/load/batcher.ts';

const maxPerBatch = 500;
const maxBytesPerBatch = 1024 * 1024;
const bytesPerTurn = 256 * 1024;
/** What an alert or a settlement counts as. */
const rowBytes = 1_024;

export class SourceStore {
  readonly #payloads: Batcher<NewPayload, undefined>;
  readonly #lookups: Batcher<AlertKey, StoredAlert | undefined>;
  readonly #alerts: Batcher<SeenAlert, undefined>;
  readonly #settlements: Batcher<Settlement, undefined>;

  constructor(pool: pg.Pool) {
    this.#payloads = createBatcher(
      items => storePayloadsAcrossTenants(pool, items),
      ({ body }) => body.length + rowBytes,
    );
    this.#lookups = createBatcher(items => findAlertsAcrossTenants(pool, items));
    this.#alerts = createBatcher(items => storeOpenAlertsAcrossTenants(pool, items));
    this.#settlements = createBatcher(
      items => settlePayloadsAcrossTenants(pool, items),
      ({ alerts }) => (alerts.length + 1) * rowBytes,
    );
  }

  /** Resolves once the payload is committed. */
  async storePayload(payload: NewPayload): Promise<void> {
    await this.#payloads.add(payload);
  }

  findAlerts(keys: readonly AlertKey[]): Promise<(StoredAlert | undefined)[]> {
    return Promise.all(keys.map(key => this.#lookups.add(key)));
  }

  async storeOpenAlerts(alerts: readonly SeenAlert[]): Promise<void> {
    await Promise.all(alerts.map(alert => this.#alerts.add(alert)));
  }

  async settle(settlement: Settlement): Promise<void> {
    await this.#settlements.add(settlement);
  }

  async drain(): Promise<void> {
    await Promise.all([this.#payloads, this.#lookups, this.#alerts, this.#settlements].map(batcher => batcher.drain()));
  }
}

/** Organizations take turns in each batch. */
export function createBatcher<Item extends { organization_id: number }, Result>(
  write: (items: Item[]) => Promise<Result[]>,
  sizeOf: (item: Item) => number = () => rowBytes,
): Batcher<Item, Result> {
  return new Batcher(write, {
    maxPerBatch,
    maxWaiting: 40_000,
    full: () =>
      new AppError('service.unavailable', 'too many alerts and calls are waiting to be stored: try again', {
        retryAfterSeconds: 1,
      }),
    isItemError: error => sqlState(error) !== undefined && !isUnavailable(error),
    share: {
      groupOf: item => item.organization_id,
      sizeOf,
      maxSizePerBatch: maxBytesPerBatch,
      sizePerTurn: bytesPerTurn,
    },
  });
}
