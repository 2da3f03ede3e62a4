/** Digests as people look at them, and how they are closed; how they gather is in gathering.ts. */
import type pg from 'pg';
import type { OccurrenceOutcome } from '../core/outcome.ts';
import * as rows from '../db/digests.ts';
import { Batcher } from '../lib/batcher.ts';
import type { Deps } from './deps.ts';

/** Of an event, those that gather now, a page at a time. */
export async function listDigests(
  { db }: Deps,
  organizationId: number,
  eventId: number,
  page: { after: string; limit: number },
): Promise<rows.DigestView[]> {
  return rows.listDigests(db, organizationId, eventId, page);
}

/** Adding resolves with what the digest has gathered, once nothing can be added to it any more. */
export type DigestCloser = Batcher<rows.WantedItems, rows.ClosedDigest>;

/** So many are read at a time: each may have a megabyte of contexts. */
const digestsAtOnce = 50;

/** `tellEnded` hears the outcomes of occurrences that end because what they had in a digest is too late for it. */
export function createDigestCloser(pool: pg.Pool, tellEnded: (outcomes: OccurrenceOutcome[]) => void): DigestCloser {
  const close = async (wanted: rows.WantedItems[]) => {
    const { digests, ended } = await rows.closeDigestsAcrossTenants(pool, wanted);
    tellEnded(ended);
    return digests;
  };
  return new Batcher(close, {
    mostPerBatch: digestsAtOnce,
    mostWaiting: Number.POSITIVE_INFINITY,
    full: () => new Error('never'),
    isItemsFault: () => false,
  });
}
