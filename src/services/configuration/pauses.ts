/** Pausing and resuming organizations, projects, applications, events, channels and keys. */

import { actorName } from '../../core/identity/actor.ts';
import { findPauseCause, isGuardedKind, type Pausable, setPaused } from '../../db/configuration/pauses.ts';
import { resumeBulk } from '../../db/history/feedback/reputation.ts';
import { acceptRate, forgetRate } from '../../db/history/stats/trigger-rates.ts';
import { dropPaused, releasePaused } from '../../db/ledger/deliver/releases.ts';
import type { Deps } from '../deps.ts';
import { record } from '../operations/audit.ts';
import { changeCached } from '../operations/transaction.ts';

export interface PauseTarget {
  noun: Pausable;
  id: number | string;
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
  await changeCached(deps, organizationId, async trx => {
    await setPaused(trx, organizationId, target, { reason });
    await record(deps, trx, organizationId, { action: 'pause', noun, path, ...(reason && { after: { reason } }) });
  });
}

export interface ResumeOptions {
  /** How many held messages and occurrences are due per second; undefined: all at once. */
  perSecond?: number | undefined;
  /** Whether what is held is dropped instead. */
  drop?: boolean | undefined;
}

export interface ResumeResult {
  /** Messages and occurrences that were held and are due. */
  released: number;
  dropped: number;
}

/**
 * Resumes, and releases or drops what is held, in one transaction: workers also release what is no longer paused. A channel's bulk
 * messages are resumed, too, if the reputation guard has paused them.
 */
export async function resume(
  deps: Deps,
  organizationId: number,
  target: PauseTarget,
  { perSecond, drop = false }: ResumeOptions = {},
): Promise<ResumeResult> {
  const { noun, id, path } = target;
  return changeCached(deps, organizationId, async trx => {
    const cause = await findPauseCause(trx, organizationId, target);
    await setPaused(trx, organizationId, target, null);
    if (cause && isGuardedKind(noun)) await (drop ? forgetRate : acceptRate)(trx, organizationId, noun, String(id));
    if (noun === 'channel') await resumeBulk(trx, organizationId, Number(id));
    const counts = drop ? await dropPaused(trx, organizationId, target, actorName(deps.actor)) : undefined;
    const dropped = counts ? counts.messages + counts.occurrences : 0;
    const released = await releasePaused(trx, organizationId, perSecond);
    const after = {
      released,
      ...(cause && { cause }),
      ...(drop && { dropped }),
      ...(perSecond !== undefined && { per_second: perSecond }),
    };
    await record(deps, trx, organizationId, { action: 'resume', noun, path, after });
    return { released, dropped };
  });
}

/** Returns the fields of the API. A process of the previous version leaves the reason when it resumes. */
export function showPause({ paused_at, paused_reason }: { paused_at: Date | null; paused_reason: string | null }) {
  return { paused: paused_at !== null, paused_reason: paused_at && paused_reason };
}
