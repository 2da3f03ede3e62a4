/** The reputation guard: pauses bulk messages of an email channel whose messages bounce or are reported as spam too often. */
import { findBreach } from '../../../core/feedback/reputation.ts';
import type { Db } from '../../../db/connection/pool.ts';
import * as reputation from '../../../db/history/feedback/reputation.ts';
import type { Deps } from '../../deps.ts';
import { record } from '../../operations/audit.ts';

/**
 * Counts new reports and pauses channels above their limits. Reports for the same channel wait for each other from here to the
 * end of the transaction, so that no pause is missed or repeated.
 */
export async function guardReputation(
  deps: Pick<Deps, 'actor'>,
  trx: Db,
  organizationId: number,
  reports: readonly reputation.Report[],
): Promise<void> {
  const channelIds = await reputation.countReports(trx, organizationId, reports);
  if (channelIds.length === 0) return;
  for (const channel of await reputation.readReputations(trx, organizationId, channelIds)) {
    const reason = channel.reputation_guard ? findBreach(channel, channel) : undefined;
    if (!reason || !(await reputation.pauseBulk(trx, organizationId, channel, reason))) continue;
    const { path, messages, bounced, complained } = channel;
    const after = { scope: 'bulk', reason, messages, bounced, complained };
    await record(deps, trx, organizationId, { action: 'pause', noun: 'channel', path, after });
  }
}
