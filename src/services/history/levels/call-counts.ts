/** Counts calls of senders in memory and stores the counts in batches, so that a call costs no statement. */

import { type CallResult, callResults } from '../../../core/history/service-levels.ts';
import { uuidv7 } from '../../../core/ids.ts';
import type { Db } from '../../../db/connection/pool.ts';
import { addCallCountsAcrossTenants, type CallCounts } from '../../../db/history/levels/counts.ts';
import { currentTime } from '../../../lib/time/clock.ts';

/** Bounds memory: days and organizations that wait to be stored while the database is away. */
const maxWaiting = 50_000;
const maxRemembered = 10_000;
const dayMs = 86_400_000;

const none = { taken: 0, failed: 0, refused: 0 } as const satisfies Record<CallResult, number>;

export class CallCounter {
  /** By this process since it started, for the metrics: also those whose organization is unknown. */
  readonly totals: Record<CallResult, number> = { ...none };
  readonly #db: Db;
  /** Of the process: batches are numbered from 1. */
  readonly #id = uuidv7(currentTime());
  #batch = 1;
  #waiting = new Map<string, CallCounts>();
  /** What is being stored, until that is known to be committed. */
  #sent: CallCounts[] = [];
  /** Which organization a token belonged to, so that its calls count while the database cannot say it. */
  readonly #organizations = new Map<string, number>();
  #flushing: Promise<void> | undefined;

  constructor(db: Db) {
    this.#db = db;
  }

  remember(token: string, organizationId: number): void {
    if (this.#organizations.get(token) === organizationId) return;
    if (this.#organizations.size >= maxRemembered) this.#organizations.clear();
    this.#organizations.set(token, organizationId);
  }

  /** Counts a call whose source cannot be looked up. */
  addFailed(token: string): void {
    this.add(this.#organizations.get(token), 'failed');
  }

  add(organizationId: number | undefined, result: CallResult): void {
    this.totals[result]++;
    if (organizationId === undefined) return;
    const now = currentTime();
    const day = new Date(now - (now % dayMs));
    const key = `${organizationId} ${day.getTime()}`;
    let counts = this.#waiting.get(key);
    if (!counts) {
      if (this.#waiting.size >= maxWaiting) return;
      counts = { organization_id: organizationId, day, ...none };
      this.#waiting.set(key, counts);
    }
    counts[result]++;
  }

  /** Stores what was counted. What cannot be stored is kept and stored next time, under the same number. */
  flush(): Promise<void> {
    this.#flushing ??= this.#store().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  async #store(): Promise<void> {
    if (this.#sent.length > 0) await this.#storeBatch();
    if (this.#waiting.size === 0) return;
    this.#sent = [...this.#waiting.values()].filter(counts => callResults.some(result => counts[result] > 0));
    this.#waiting = new Map();
    await this.#storeBatch();
  }

  async #storeBatch(): Promise<void> {
    await addCallCountsAcrossTenants(this.#db, { id: this.#id, batch: this.#batch }, this.#sent);
    this.#batch++;
    this.#sent = [];
  }
}
