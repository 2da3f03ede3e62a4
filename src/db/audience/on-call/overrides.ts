/** Overrides of schedules. */
import { type RawBuilder, sql } from 'kysely';
import type { OverrideState } from '../../../core/oncall/overrides.ts';
import type { PageRequest } from '../../connection/page.ts';
import type { Db } from '../../connection/pool.ts';

export interface OverrideRow {
  id: number;
  user: string;
  /** Null: everyone. */
  replaces: string | null;
  starts_at: Date;
  ends_at: Date;
  reason: string | null;
  created_at: Date;
  created_by: string;
}

const columns = sql`o.id, u.username as "user", o.replaces, o.starts_at, o.ends_at, o.reason, o.created_at, o.created_by`;
const joins = sql`join users u on u.organization_id = o.organization_id and u.id = o.user_id`;

const conditionOf: Record<OverrideState, RawBuilder<unknown>> = {
  active: sql`o.starts_at <= now() and o.ends_at > now()`,
  planned: sql`o.starts_at > now()`,
  ended: sql`o.ends_at <= now()`,
};

/** Lists overrides, newest first. The page starts below the id `after`; 0 is the beginning. */
export async function listOverrides(
  db: Db,
  organizationId: number,
  scheduleId: number,
  { state, page }: { state?: OverrideState | undefined; page: PageRequest },
): Promise<OverrideRow[]> {
  const { rows } = await sql<OverrideRow>`
    select ${columns} from schedule_overrides o ${joins}
    where o.organization_id = ${organizationId} and o.schedule_id = ${scheduleId} ${page.after > 0 ? sql`and o.id < ${page.after}` : sql``}
      ${state ? sql`and ${conditionOf[state]}` : sql``}
    order by o.id desc limit ${page.limit}`.execute(db);
  return rows;
}

export async function findOverride(
  db: Db,
  organizationId: number,
  scheduleId: number,
  id: number,
): Promise<OverrideRow | undefined> {
  const { rows } = await sql<OverrideRow>`
    select ${columns} from schedule_overrides o ${joins}
    where o.organization_id = ${organizationId} and o.schedule_id = ${scheduleId} and o.id = ${id}`.execute(db);
  return rows[0];
}

/**
 * Counts overrides, and those that are not over. The schedule is locked first, so that concurrent requests do not exceed a
 * limit.
 */
export async function countOverrides(
  db: Db,
  organizationId: number,
  scheduleId: number,
): Promise<{ all: number; open: number }> {
  await sql`select from schedules where organization_id = ${organizationId} and id = ${scheduleId} for no key update`.execute(
    db,
  );
  const { rows } = await sql<{ all: number; open: number }>`
    select count(*)::int as "all", (count(*) filter (where ends_at > now()))::int as open from schedule_overrides
    where organization_id = ${organizationId} and schedule_id = ${scheduleId}`.execute(db);
  return rows[0]!;
}

/** Ends an override now, or deletes one that has not begun. Returns false if it is over. */
export async function endOverride(db: Db, organizationId: number, id: number): Promise<boolean> {
  const { rows } = await sql<{ ended: number }>`
    with deleted as (
      delete from schedule_overrides where organization_id = ${organizationId} and id = ${id} and starts_at > now() returning 1
    ), ended as (
      update schedule_overrides set ends_at = now()
      where organization_id = ${organizationId} and id = ${id} and starts_at <= now() and ends_at > now() returning 1
    ) select ((select count(*) from deleted) + (select count(*) from ended))::int as ended`.execute(db);
  return rows[0]!.ended > 0;
}
