/** What notifications say. Versions are only ever added: whatever was sent can be told from the one it was sent with. */
import { sql } from 'kysely';
import type { Json } from '../core/json.ts';
import type { Db } from './pool.ts';

export interface CurrentMessage {
  notification_id: number;
  version: number;
  content: Json;
}

export async function listCurrentMessages(db: Db, organizationId: number): Promise<CurrentMessage[]> {
  return db
    .selectFrom('messages')
    .distinctOn('notification_id')
    .select(['notification_id', 'version', 'content'])
    .where('organization_id', '=', organizationId)
    .orderBy('notification_id')
    .orderBy('version', 'desc')
    .execute();
}

/** Becomes the current version. */
export async function addMessage(db: Db, organizationId: number, notificationId: number, content: Json): Promise<void> {
  await sql`
    insert into messages (organization_id, notification_id, version, content)
    select ${organizationId}, ${notificationId}, coalesce(max(version), 0) + 1, ${JSON.stringify(content)}::jsonb
    from messages where organization_id = ${organizationId} and notification_id = ${notificationId}`.execute(db);
}
