/** Pause and resume: a channel, an event, or all events of an application. */
import { findChannelId } from '../db/channels.ts';
import { type Pausable, releaseHeldAcrossTenants, setPaused } from '../db/holds.ts';
import type { Deps } from './deps.ts';

export async function pause({ db }: Deps, organizationId: number, what: Pausable, id: number): Promise<void> {
  await setPaused(db, organizationId, what, id, true);
}

/** Returns how many messages and occurrences had been kept and are due now. */
export async function resume({ db }: Deps, organizationId: number, what: Pausable, id: number): Promise<number> {
  await setPaused(db, organizationId, what, id, false);
  return releaseHeldAcrossTenants(db);
}

export async function findChannel({ db }: Deps, organizationId: number, projectId: number | null, slug: string) {
  return findChannelId(db, organizationId, projectId, slug);
}
