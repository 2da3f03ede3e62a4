/** Who is missing while an occurrence waits for an acknowledgement of each recipient. */
import { findOccurrencesAcrossTenants } from '../../../db/history/occurrences.ts';
import { readMissing } from '../../../db/ledger/expand/acknowledge-each.ts';
import type { Missing } from '../../../db/ledger/expand/answer-result.ts';
import type { Deps } from '../../deps.ts';

/** Returns undefined if the occurrence is over, or one acknowledgement is enough. */
export async function findMissing(
  { pool, plans }: Pick<Deps, 'pool' | 'plans'>,
  organizationId: number,
  identifier: string,
): Promise<Missing | undefined> {
  const [occurrence] = await findOccurrencesAcrossTenants(pool, [{ organizationId, id: identifier }]);
  if (!occurrence || occurrence.acknowledged_at || occurrence.resolved_at || occurrence.cancelled_at) return undefined;
  const plan = await plans.findEvent(organizationId, occurrence.event_id);
  const each = plan?.notifications.filter(({ steps }) => steps?.acknowledgedByEach) ?? [];
  if (each.length === 0) return undefined;
  const notifications = each.map(({ id }) => id);
  return readMissing(pool, organizationId, identifier, { notifications, users: occurrence.acknowledged_users ?? [] });
}
