/** What notifications say. Versions are only ever added: whatever was sent can be told from the one it was sent with. */
import { sql } from 'kysely';
import type { Json } from '../core/json.ts';
import type { Within } from './organizations.ts';
import type { PageRequest } from './page.ts';
import type { Db } from './pool.ts';

export interface CurrentMessage {
  notification_id: number;
  version: number;
  content: Json;
}

export async function listCurrentMessages(db: Db, organizationId: number, within?: Within): Promise<CurrentMessage[]> {
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

/** Becomes the current version; `by` is the name of whoever wrote it. */
export async function addMessage(
  db: Db,
  organizationId: number,
  notificationId: number,
  content: Json,
  by: string,
): Promise<void> {
  await sql`
    insert into messages (organization_id, notification_id, version, content, created_by)
    select ${organizationId}, ${notificationId}, coalesce(max(version), 0) + 1, ${JSON.stringify(content)}::jsonb, ${by}
    from messages where organization_id = ${organizationId} and notification_id = ${notificationId}`.execute(db);
}

export interface MessageVersion {
  version: number;
  created_at: Date;
  created_by: string | null;
}

/** The newest first; `after` is the version that the next ones are older than, 0 for the beginning. */
export async function listMessageVersions(
  db: Db,
  organizationId: number,
  notificationId: number,
  { after, limit }: PageRequest,
): Promise<MessageVersion[]> {
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

export async function findMessageVersion(
  db: Db,
  organizationId: number,
  notificationId: number,
  version: number,
): Promise<(MessageVersion & { content: Json }) | undefined> {
  return db
    .selectFrom('messages')
    .select(['version', 'created_at', 'created_by', 'content'])
    .where('organization_id', '=', organizationId)
    .where('notification_id', '=', notificationId)
    .where('version', '=', version)
    .executeTakeFirst();
}
