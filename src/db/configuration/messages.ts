/** The current messages of notifications; versions.ts has all of them. */
import { sql } from 'kysely';
import type { Db } from '../connection/pool.ts';
import type { PathIds } from './organizations.ts';

export async function listCurrentMessages(db: Db, organizationId: number, within?: PathIds) {
  return db
    .selectFrom('messages')
    .distinctOn('notification_id')
    .select(['notification_id', 'version', 'content'])
    .where('organization_id', '=', organizationId)
    .$if(within !== undefined, query =>
      query.where('notification_id', 'in', where =>
        where
          .selectFrom('notifications')
          .select('id')
          .where('organization_id', '=', organizationId)
          .where('event_id', '=', within?.event ?? 0),
      ),
    )
    .orderBy('notification_id')
    .orderBy('version', 'desc')
    .execute();
}

/** Counts the notifications whose current message mentions the acknowledge link. */
export async function countAcknowledgeLinksAcrossTenants(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from notifications n, lateral (
      select m.content from messages m where m.organization_id = n.organization_id and m.notification_id = n.id
      order by m.version desc limit 1
    ) current where current.content::text like '%acknowledge\\_url%'`.execute(db);
  return rows[0]!.count;
}
