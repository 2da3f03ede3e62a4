/** Pause and resume: a channel, an event, or all events of an application. */
import { findChannelId } from '../db/channels.ts';
import { type Pausable, releaseHeld, setPaused } from '../db/holds.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';

export interface Held {
  what: Pausable;
  id: number;
  /** For the audit log. */
  path: string;
}

const nouns: Record<Pausable, string> = { channels: 'channel', events: 'event', applications: 'application' };

export async function pause(deps: Deps, organizationId: number, { what, id, path }: Held): Promise<void> {
  await deps.db.transaction().execute(async trx => {
    await setPaused(trx, organizationId, what, id, true);
    await record(deps, trx, organizationId, { action: 'pause', noun: nouns[what], path });
  });
}

/** Returns how many messages and occurrences of the organization had been kept and are due now. */
export async function resume(deps: Deps, organizationId: number, { what, id, path }: Held): Promise<number> {
  await deps.db.transaction().execute(async trx => {
    await setPaused(trx, organizationId, what, id, false);
    await record(deps, trx, organizationId, { action: 'resume', noun: nouns[what], path });
  });
  return releaseHeld(deps.db, organizationId);
}

export async function findChannel({ db }: Deps, organizationId: number, projectId: number | null, slug: string) {
  return findChannelId(db, organizationId, projectId, slug);
}
