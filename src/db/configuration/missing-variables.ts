/** Variables that were missing when messages were rendered, by notification. */
import { sql } from 'kysely';
import type { Db } from '../connection/pool.ts';

interface MissingVariable {
  organization_id: number;
  notification_id: number;
  /** As written in the template: order.total */
  name: string;
  /** Number of deliveries rendered without it. */
  count: number;
  /** Version of the last message in which it was missing. */
  version: number;
  at: Date;
}

/** Per notification. A template can compute variable names from the context, so their number is unbounded. */
const maxNames = 100;

/** Adds to the stored counts. Notifications that have been deleted in the meantime are skipped. */
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
      or ${maxNames} > (
        select count(*) from missing_variables m
        where m.organization_id = g.organization_id and m.notification_id = g.notification_id)
    order by 1, 2, 3
    on conflict (organization_id, notification_id, name) do update set
      count = missing_variables.count + excluded.count, version = excluded.version,
      last_at = greatest(missing_variables.last_at, excluded.last_at)`.execute(db);
}

/** Returns the missing variables of all or of these notifications, most recent first for each. */
export async function listMissingVariables(db: Db, organizationId: number, notificationIds?: number[]) {
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
