/** Lists open digests and closes them. pipeline/digest.ts collects their items. */
import type pg from 'pg';
import type { OccurrenceOutcome } from '../../core/decision/outcome.ts';
import * as rows from '../../db/ledger/digests/digests.ts';
import { Batcher } from '../../lib/load/batcher.ts';
import type { Deps } from '../deps.ts';

/** Lists the open digests of an event. */
export async function listDigests(
  { db }: Deps,
  organizationId: number,
  eventId: number,
  page: { after: string; limit: number },
): Promise<rows.DigestView[]> {
  return rows.listDigests(db, organizationId, eventId, page);
}

/** `add` resolves with the items of the digest once it is closed and nothing more can be added. */
export type DigestCloser = Batcher<rows.DigestItemsRequest, rows.ClosedDigest>;

/** Digests per read: each may have a megabyte of contexts. */
const digestsPerRead = 50;

/** `tellEnded` receives the outcomes of occurrences that end because their digest items came too late. */
export function createDigestCloser(pool: pg.Pool, reportEnded: (outcomes: OccurrenceOutcome[]) => void): DigestCloser {
  const close = async (requests: rows.DigestItemsRequest[]) => {
    const { digests, ended } = await rows.closeDigestsAcrossTenants(pool, requests);
    reportEnded(ended);
    return digests;
  };
  return new Batcher(close, {
    maxPerBatch: digestsPerRead,
  });
}
