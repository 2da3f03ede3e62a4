/**
 * Triggers like a careful client: each has its own idempotency key and is repeated with the same key until it gets a 201. The ledger
 * expects a message for every trigger that got one.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Stage } from './stage.ts';

export interface Stream {
  /** Occurrences of triggers that got a 201. */
  accepted: string[];
  /** When each of them got it. */
  acceptedAt: Map<string, number>;
  /** How long each of them took, with all repetitions. */
  tookMs: number[];
  /** How often each status was returned. */
  statuses: Map<number, number>;
  /** Stops sending new triggers, and waits for those in flight. */
  stop(): Promise<void>;
}

export interface Target {
  organization?: string;
  event?: string;
  /** The idempotency key. Default: the event and the number of the trigger. */
  key?: string;
  /** Where triggers are sent to. Default: the first process that accepts them. */
  address?: () => string;
}

const retryMs = 200;
const timeoutMs = 30_000;

export function startStream(stage: Stage, perSecond: number, target: Target = {}): Stream {
  const accepted: string[] = [];
  const acceptedAt = new Map<string, number>();
  const tookMs: number[] = [];
  const statuses = new Map<number, number>();
  const inFlight = new Set<Promise<void>>();
  let streaming = true;
  let next = 0;
  const began = Date.now();
  const pacing = (async () => {
    while (streaming) {
      const due = ((Date.now() - began) / 1_000) * perSecond;
      while (next < due) {
        const startedAt = Date.now();
        const sending = triggerOnce(stage, next++, {}, { ...target, statuses }).then(occurrence => {
          if (occurrence) {
            accepted.push(occurrence);
            acceptedAt.set(occurrence, Date.now());
            tookMs.push(Date.now() - startedAt);
          }
          inFlight.delete(sending);
        });
        inFlight.add(sending);
      }
      await sleep(10);
    }
  })();
  return {
    accepted,
    acceptedAt,
    tookMs,
    statuses,
    stop: async () => {
      streaming = false;
      await pacing;
      await Promise.all(inFlight);
    },
  };
}

/** Returns the occurrence, or undefined if the trigger was not accepted before the timeout. */
export async function triggerOnce(
  stage: Stage,
  n: number,
  options = {},
  {
    organization = 'chaos',
    event = 'go',
    key = `${event}-${n}`,
    address = () => stage.alive('all', 'api')[0]!.address,
    statuses,
  }: Target & { statuses?: Map<number, number> } = {},
): Promise<string | undefined> {
  const deadline = Date.now() + timeoutMs;
  const path = `/api/o/${organization}/p/shop/a/web/e/${event}/trigger/`;
  let location: string | null = null;
  while (Date.now() < deadline) {
    try {
      const response: Response = await fetch(location ?? `${address()}${path}`, {
        method: 'POST',
        headers: {
          authorization: `Key ${stage.keys.get(organization)}`,
          'content-type': 'application/json',
          'idempotency-key': key,
        },
        body: JSON.stringify({ context: { n }, options }),
        // A redirect to another origin would lose the key.
        redirect: 'manual',
        signal: AbortSignal.timeout(10_000),
      });
      const text = await response.text();
      statuses?.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      location = response.headers.get('location');
      if (location) continue;
      if (response.status === 201) return (JSON.parse(text) as { occurrence: string }).occurrence;
    } catch {
      // The server is down: try again.
    }
    await sleep(retryMs);
  }
  return undefined;
}
