/**
 * Records opens and clicks of emails, as feedback of the source `belfry`. Requests do not wait for it and never fail because
 * of it. Each open, and each click of a link, is stored once; repeated ones do not reach the database.
 */

import type { FeedbackEvent } from '../../../core/feedback/event.ts';
import { feedbackKey } from '../../../core/feedback/identify.ts';
import { readTrackingToken, type TrackedUse } from '../../../core/feedback/tracking.ts';
import { Batcher } from '../../../lib/load/batcher.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { Deps } from '../../deps.ts';
import { storeFeedback } from './feedback.ts';

const source = 'belfry';

/** Repetitions are recognized among so many uses; older ones by their key in the database. */
const maxRecent = 10_000;
/** At most ten batches a second. What exceeds the queue is not counted. */
const batches = { maxPerBatch: 500, maxWaiting: 5_000, linger: { ms: 100, enough: 500 } };

interface Use {
  organizationId: number;
  key: string;
  event: FeedbackEvent;
}

export function findTrackedUse({ signer }: Pick<Deps, 'signer'>, token: string): TrackedUse | undefined {
  return readTrackingToken(token, signer.isSignedShort);
}

export class TrackedUses {
  readonly #deps: Deps;
  readonly #onError: (error: unknown) => void;
  readonly #recent = new Set<string>();
  readonly #batcher: Batcher<Use, undefined>;

  constructor(deps: Deps, onError: (error: unknown) => void) {
    this.#deps = deps;
    this.#onError = onError;
    this.#batcher = new Batcher(uses => this.#store(uses), {
      ...batches,
      full: () => new Error('too many opens and clicks are waiting to be stored'),
      share: { groupOf: one => one.organizationId, sizeOf: () => 1, maxSizePerBatch: 500, sizePerTurn: 50 },
    });
  }

  record({ organizationId, occurrence, id, target }: TrackedUse): void {
    const event: FeedbackEvent = {
      type: target === undefined ? 'opened' : 'clicked',
      permanent: null,
      reason: null,
      recipient: null,
      messageId: null,
      deliveryId: `${occurrence}.${id}`,
      at: null,
      text: target ?? null,
      ...(target !== undefined && { link: target }),
    };
    const key = feedbackKey(source, event);
    if (this.#recent.has(key)) return;
    if (this.#recent.size >= maxRecent) this.#recent.clear();
    this.#recent.add(key);
    this.#batcher.add({ organizationId, key, event }).catch(error => {
      this.#recent.delete(key);
      this.#onError(error);
    });
  }

  /** Resolves when everything recorded so far is stored or given up. */
  async drain(): Promise<void> {
    await this.#batcher.drain();
  }

  /** Stores the uses of each organization separately: one that was deleted meanwhile does not affect others. */
  async #store(uses: Use[]): Promise<undefined[]> {
    const byOrganization = Map.groupBy(uses, ({ organizationId }) => organizationId);
    for (const [organizationId, own] of byOrganization) {
      try {
        const events = own.map(({ event }) => event);
        await storeFeedback(this.#deps, organizationId, null, source, events, currentTime());
      } catch (error) {
        for (const { key } of own) this.#recent.delete(key);
        this.#onError(error);
      }
    }
    return uses.map(() => undefined);
  }
}
