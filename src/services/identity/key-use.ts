import type { Db } from '../../db/connection/pool.ts';
import { touchKeysAcrossTenants } from '../../db/identity/keys.ts';
import { LastUsedTimes } from '../../lib/caching/last-used-times.ts';

/** Tracks when keys were last used and writes it periodically instead of on every request. */
export class KeyUse {
  readonly #uses = new LastUsedTimes();

  note(id: string, at: number): void {
    this.#uses.record(id, at);
  }

  flush(db: Db): Promise<void> {
    return this.#uses.flush(used =>
      touchKeysAcrossTenants(
        db,
        used.map(([id, at]) => ({ id, at: new Date(at) })),
      ),
    );
  }
}
