/** What has to be done now and then so that the service can run for years; harmless when several processes do it. */
import { deleteOldIdempotencyKeysAcrossTenants } from '../db/accepting.ts';
import { createPartitions } from '../db/partitions.ts';
import type { Deps } from './deps.ts';

/** Promised are 24 hours. */
const rememberedMs = 48 * 3_600_000;

export async function keepUp({ db }: Deps, now: number): Promise<void> {
  await createPartitions(db, now);
  await deleteOldIdempotencyKeysAcrossTenants(db, new Date(now - rememberedMs));
}
