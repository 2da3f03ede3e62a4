/** Message versions of notifications. They are never changed, so that a sent message can be traced to its version. */
import { sql } from 'kysely';
import type { Json } from '../../core/json.ts';
import type { PageRequest } from '../connection/page.ts';
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

/** Stores the content as the new current version; `by` is the name of the author. */
export async function addMessage(db: Db, organizationId: number, notificationId: number, content: Json, by: string) {
  await sql`
    insert into messages (organization_id, notification_id, version, content, created_by)
    select ${organizationId}, ${notificationId}, coalesce(max(version), 0) + 1, ${JSON.stringify(content)}::jsonb, ${by}
    from messages where organization_id = ${organizationId} and notification_id = ${notificationId}`.execute(db);
}

/** Returns versions, newest first. `after` is the last version of the previous page; 0 starts at the newest. */
export async function listMessageVersions(
  db: Db,
  organizationId: number,
  notificationId: number,
  { after, limit }: PageRequest,
) {
  return db
    .selectFrom('messages')
    .select(['version', 'created_at', 'created_by'])
    .where('organization_id', '=', organizationId)
    .where('notification_id', '=', notificationId)
    .$if(after > 0, query => query.where('version', '<', after))
    .orderBy('version', 'desc')
    .limit(limit)
    .execute();
}

export async function findMessageVersion(db: Db, organizationId: number, notificationId: number, version: number) {
  return db
    .selectFrom('messages')
    .select(['version', 'created_at', 'created_by', 'content'])
    .where('organization_id', '=', organizationId)
    .where('notification_id', '=', notificationId)
    .where('version', '=', version)
    .executeTakeFirst();
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
