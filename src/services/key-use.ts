import { touchKeysAcrossTenants } from '../db/keys.ts';
import type { Db } from '../db/pool.ts';
import { LastUses } from '../lib/last-uses.ts';

/** Remembers which keys were used when, and writes it down now and then instead of on every request. */
export class KeyUse {
  readonly #uses = new LastUses();

  note(id: string, at: number): void {
    this.#uses.note(id, at);
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
