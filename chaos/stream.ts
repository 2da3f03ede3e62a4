/**
 * Triggers as a careful client sends them: each with an idempotency key of its own, and again with the same key until it
 * is answered with 201. What was answered is the promise that the ledger is held against.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Stage } from './stage.ts';

export interface Stream {
  /** Occurrences answered with 201. */
  accepted: string[];
  /** Sends no new ones, and waits for those under way. */
  stop(): Promise<void>;
}

const retryMs = 200;
const timeoutMs = 30_000;

export function startStream(stage: Stage, perSecond: number): Stream {
  const accepted: string[] = [];
  const underWay = new Set<Promise<void>>();
  let streaming = true;
  let next = 0;
  const began = Date.now();
  const pacing = (async () => {
    while (streaming) {
      const due = ((Date.now() - began) / 1_000) * perSecond;
      while (next < due) {
        const sending = triggerOnce(stage, next++).then(occurrence => {
          if (occurrence) accepted.push(occurrence);
          underWay.delete(sending);
        });
        underWay.add(sending);
      }
      await sleep(10);
    }
  })();
  return {
    accepted,
    stop: async () => {
      streaming = false;
      await pacing;
      await Promise.all(underWay);
    },
  };
}

/** The occurrence, or undefined when nobody accepted it for a long time: then nothing was promised. */
export async function triggerOnce(stage: Stage, n: number, options = {}): Promise<string | undefined> {
  const deadline = Date.now() + timeoutMs;
  while (Date.now() < deadline) {
    try {
      const response = await fetch(`${stage.alive('all', 'api')[0]!.address}/api/o/chaos/p/shop/a/web/e/go/trigger/`, {
        method: 'POST',
        headers: {
          authorization: `Key ${stage.key}`,
          'content-type': 'application/json',
          'idempotency-key': `n-${n}`,
        },
        body: JSON.stringify({ context: { n }, options }),
        signal: AbortSignal.timeout(10_000),
      });
      const text = await response.text();
      if (response.status === 201) return (JSON.parse(text) as { occurrence: string }).occurrence;
    } catch {
      // The server is away: the same again.
    }
    await sleep(retryMs);
  }
  return undefined;
}
