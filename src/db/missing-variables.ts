/** Which variables messages asked for and did not get, for each notification. */
import { sql } from 'kysely';
import type { Db } from './pool.ts';

export interface MissingVariable {
  organization_id: number;
  notification_id: number;
  /** As the template writes it: order.total */
  name: string;
  /** Deliveries that were written without it. */
  count: number;
  /** Of the message in which it was missing last. */
  version: number;
  at: Date;
}

/** A template can ask for names that come from the context: of these there may be any number. */
const mostNames = 100;

/** Adds to what is known; what belongs to a notification that has been deleted meanwhile is left out. */
export async function addMissingVariablesAcrossTenants(db: Db, missing: MissingVariable[]): Promise<void> {
  await sql`
    insert into missing_variables (organization_id, notification_id, name, count, version, first_at, last_at)
    select g.organization_id, g.notification_id, g.name, g.count, g.version, g.at, g.at
    from unnest(
      ${missing.map(one => one.organization_id)}::bigint[],
      ${missing.map(one => one.notification_id)}::bigint[],
      ${missing.map(one => one.name)}::text[],
      ${missing.map(one => one.count)}::bigint[],
      ${missing.map(one => one.version)}::integer[],
      ${missing.map(one => one.at)}::timestamptz[]
    ) as g (organization_id, notification_id, name, count, version, at)
    join notifications n on n.organization_id = g.organization_id and n.id = g.notification_id
    where exists (
        select from missing_variables m
        where m.organization_id = g.organization_id and m.notification_id = g.notification_id and m.name = g.name)
      or ${mostNames} > (
        select count(*) from missing_variables m
        where m.organization_id = g.organization_id and m.notification_id = g.notification_id)
    order by 1, 2, 3
    on conflict (organization_id, notification_id, name) do update set
      count = missing_variables.count + excluded.count, version = excluded.version,
      last_at = greatest(missing_variables.last_at, excluded.last_at)`.execute(db);
}

export interface MissingVariableView {
  notification_id: number;
  name: string;
  count: number;
  version: number;
  first_at: Date;
  last_at: Date;
}

/** Of all notifications, or of these; of each, the one that was missing last comes first. */
export async function listMissingVariables(
  db: Db,
  organizationId: number,
  notificationIds?: number[],
): Promise<MissingVariableView[]> {
  return db
    .selectFrom('missing_variables')
    .select(['notification_id', 'name', 'count', 'version', 'first_at', 'last_at'])
    .where('organization_id', '=', organizationId)
    .$if(notificationIds !== undefined, query =>
      query.where('notification_id', '=', sql<number>`any(${notificationIds}::bigint[])`),
    )
    .orderBy('notification_id')
    .orderBy('last_at', 'desc')
    .orderBy('name')
    .execute();
}
