/** Pausing and resuming applications, events and channels. */
import { type Pausable, setPaused } from '../../db/configuration/pauses.ts';
import { resumeBulk } from '../../db/history/feedback/reputation.ts';
import { releasePaused } from '../../db/ledger/deliver/releases.ts';
import type { Deps } from '../deps.ts';
import { record } from '../operations/audit.ts';

interface PauseTarget {
  noun: Pausable;
  id: number;
  /** For the audit log. */
  path: string;
}

/** Pauses: messages are held until it is resumed. A blank reason counts as none. */
export async function pause(
  deps: Deps,
  organizationId: number,
  target: PauseTarget,
  text: string | undefined,
): Promise<void> {
  const { noun, path } = target;
  const reason = text?.trim() || null;
  await deps.db.transaction().execute(async trx => {
    await setPaused(trx, organizationId, target, { reason });
    await record(deps, trx, organizationId, { action: 'pause', noun, path, ...(reason && { after: { reason } }) });
  });
}

/**
 * Resumes, and returns how many held messages and occurrences of the organization are due now. A channel's bulk messages are resumed,
 * too, if the reputation guard has paused them.
 */
export async function resume(deps: Deps, organizationId: number, target: PauseTarget): Promise<number> {
  const { noun, id, path } = target;
  await deps.db.transaction().execute(async trx => {
    await setPaused(trx, organizationId, target, null);
    if (noun === 'channel') await resumeBulk(trx, organizationId, id);
    await record(deps, trx, organizationId, { action: 'resume', noun, path });
  });
  return releasePaused(deps.db, organizationId);
}

/** Returns the fields of the API. A process of the previous version leaves the reason when it resumes. */
export function showPause({ paused_at, paused_reason }: { paused_at: Date | null; paused_reason: string | null }) {
  return { paused: paused_at !== null, paused_reason: paused_at && paused_reason };
}
