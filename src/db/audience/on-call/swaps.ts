/** Swaps of shifts. */
import { sql } from 'kysely';
import type { SwapState } from '../../../core/oncall/swaps.ts';
import type { PageRequest } from '../../connection/page.ts';
import type { Db } from '../../connection/pool.ts';

export interface SwapRow {
  id: number;
  state: SwapState;
  /** Usernames. */
  user: string;
  accepted_by: string | null;
  starts_at: Date;
  ends_at: Date;
  message: string | null;
  created_at: Date;
  created_by: string;
}

const select = sql`
  select w.id, case when w.state = 'open' and w.starts_at <= now() then 'expired' else w.state end as state,
    u.username as "user", t.username as accepted_by, w.starts_at, w.ends_at, w.message, w.created_at, w.created_by
  from schedule_swaps w
  join users u on u.organization_id = w.organization_id and u.id = w.user_id
  left join users t on t.organization_id = w.organization_id and t.id = w.accepted_by_id`;

/** Lists swaps, newest first. The page starts below the id `after`; 0 is the beginning. */
export async function listSwaps(
  db: Db,
  organizationId: number,
  scheduleId: number,
  { after, limit }: PageRequest,
): Promise<SwapRow[]> {
  const { rows } = await sql<SwapRow>`
    ${select} where w.organization_id = ${organizationId} and w.schedule_id = ${scheduleId}
      ${after > 0 ? sql`and w.id < ${after}` : sql``}
    order by w.id desc limit ${limit}`.execute(db);
  return rows;
}

export async function findSwap(
  db: Db,
  organizationId: number,
  scheduleId: number,
  id: number,
): Promise<SwapRow | undefined> {
  const { rows } = await sql<SwapRow>`
    ${select} where w.organization_id = ${organizationId} and w.schedule_id = ${scheduleId} and w.id = ${id}`.execute(
    db,
  );
  return rows[0];
}

/** Counts swaps, and those that are open. The schedule is locked first, so that concurrent requests do not exceed a limit. */
export async function countSwaps(
  db: Db,
  organizationId: number,
  scheduleId: number,
): Promise<{ all: number; open: number }> {
  await sql`select from schedules where organization_id = ${organizationId} and id = ${scheduleId} for no key update`.execute(
    db,
  );
  const { rows } = await sql<{ all: number; open: number }>`
    select count(*)::int as "all", (count(*) filter (where state = 'open' and starts_at > now()))::int as open
    from schedule_swaps where organization_id = ${organizationId} and schedule_id = ${scheduleId}`.execute(db);
  return rows[0]!;
}

/** Ends a swap that is open. Returns false if it is not: of two requests, the first one counts. */
export async function endSwap(
  db: Db,
  organizationId: number,
  id: number,
  { state, acceptedById }: { state: 'accepted' | 'withdrawn'; acceptedById: number | null },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('schedule_swaps')
    .set({ state, accepted_by_id: acceptedById })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .where('state', '=', 'open')
    .where('starts_at', '>', sql<Date>`now()`)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}
