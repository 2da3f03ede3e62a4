/** Deliveries that failed or whose outcome is unknown, as far as grouping them by cause needs. */
import { sql } from 'kysely';
import type { FailureFacts } from '../../../core/history/failures.ts';
import type { Db } from '../../connection/pool.ts';
import type { DeliveryKey } from '../replays.ts';

export interface Failure extends DeliveryKey, FailureFacts {
  created_at: Date;
}

/** Lists the newest failures, at most `max`: a scan of the index of failed deliveries. */
export async function listFailures(db: Db, organizationId: number, max: number): Promise<Failure[]> {
  const { rows } = await sql<Failure>`
    select occurrence_id as occurrence, id, channel_id, status, reason, left(detail, 1000) as detail, created_at
    from deliveries where organization_id = ${organizationId} and status in ('failed', 'unknown')
    order by occurrence_id desc, id desc limit ${max}`.execute(db);
  return rows;
}
