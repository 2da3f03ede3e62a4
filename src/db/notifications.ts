import { sql } from 'kysely';
import type { Json, JsonObject } from '../core/json.ts';
import { type Priority, priorities } from '../core/trigger.ts';
import type { Db } from './pool.ts';

export interface NotificationFields {
  name: string;
  active: boolean;
  recipients: Json;
  /** Slugs or types. */
  channels: string[];
  filter: string | null;
  environs: string[] | null;
  extra_context: JsonObject;
  /** Null: not stated. */
  priority: Priority | null;
}

export async function listAllNotifications(
  db: Db,
  organizationId: number,
): Promise<(NotificationFields & { id: number; event_id: number })[]> {
  const rows = await db
    .selectFrom('notifications')
    .select(['id', 'event_id', 'name', 'active', 'recipients', 'channels', 'filter', 'environs', 'extra_context'])
    .select('priority')
    .where('organization_id', '=', organizationId)
    .orderBy('id')
    .execute();
  return rows.map(row => ({
    ...row,
    extra_context: row.extra_context as JsonObject,
    priority: row.priority === null ? null : priorities[row.priority]!,
  }));
}

export async function createNotification(
  db: Db,
  organizationId: number,
  eventId: number,
  fields: NotificationFields,
): Promise<number> {
  const row = await db
    .insertInto('notifications')
    .values({ organization_id: organizationId, event_id: eventId, ...toRow(fields) })
    .returning('id')
    .executeTakeFirstOrThrow();
  return row.id;
}

export async function updateNotification(
  db: Db,
  organizationId: number,
  id: number,
  fields: NotificationFields,
): Promise<void> {
  await db
    .updateTable('notifications')
    .set({ ...toRow(fields), updated_at: sql`now()` })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .execute();
}

export async function deleteNotification(db: Db, organizationId: number, id: number): Promise<void> {
  await db.deleteFrom('notifications').where('organization_id', '=', organizationId).where('id', '=', id).execute();
}

function toRow({ recipients, extra_context, priority, ...fields }: NotificationFields) {
  return {
    ...fields,
    recipients: JSON.stringify(recipients),
    extra_context: JSON.stringify(extra_context),
    priority: priority === null ? null : priorities.indexOf(priority),
  };
}
