import { sql } from 'kysely';
import type { NotificationFields } from '../../core/configuration/state.ts';
import type { Digest } from '../../core/decision/digest.ts';
import type { Step } from '../../core/decision/steps.ts';
import type { Throttle } from '../../core/decision/throttle.ts';
import type { JsonObject } from '../../core/json.ts';
import { priorities } from '../../core/trigger.ts';
import type { Db } from '../connection/pool.ts';
import type { PathIds } from './organizations.ts';

export async function listAllNotifications(db: Db, organizationId: number, within?: PathIds) {
  const rows = await db
    .selectFrom('notifications')
    .select(['id', 'event_id', 'name', 'active', 'recipients', 'channels', 'filter', 'environs', 'extra_context'])
    .select(['priority', 'throttle', 'digest', 'steps', 'give_up_after', 'notify_resolved'])
    .where('organization_id', '=', organizationId)
    .$if(within !== undefined, query => query.where('event_id', '=', within?.event ?? 0))
    .orderBy('id')
    .execute();
  return rows.map(row => ({
    ...row,
    recipients: row.recipients as unknown as NotificationFields['recipients'],
    extra_context: row.extra_context as JsonObject,
    priority: row.priority === null ? null : priorities[row.priority]!,
    throttle: row.throttle as unknown as Throttle | null,
    digest: row.digest as unknown as Digest | null,
    steps: row.steps as Step[] | null,
  }));
}

export async function listEventNotifications(db: Db, organizationId: number, eventId: number) {
  return db
    .selectFrom('notifications')
    .select(['id', 'name', 'active', 'channels'])
    .where('organization_id', '=', organizationId)
    .where('event_id', '=', eventId)
    .orderBy('id')
    .execute();
}

export async function findNotification(db: Db, organizationId: number, eventId: number, id: number) {
  return db
    .selectFrom('notifications')
    .select(['id', 'name'])
    .where('organization_id', '=', organizationId)
    .where('event_id', '=', eventId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Returns the current message version and the time of the last change of each notification of an event. */
export async function listNotificationVersions(db: Db, organizationId: number, eventId: number) {
  const { rows } = await sql<{ id: number; version: number; updated_at: Date }>`
    select n.id, n.updated_at, coalesce((
      select max(m.version) from messages m
      where m.organization_id = n.organization_id and m.notification_id = n.id), 0) as version
    from notifications n
    where n.organization_id = ${organizationId} and n.event_id = ${eventId}`.execute(db);
  return rows;
}

/** Renames a notification. Returns false if another one of the event has the name. */
export async function renameNotification(db: Db, organizationId: number, id: number, name: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update notifications n set name = ${name}, updated_at = now()
    where n.organization_id = ${organizationId} and n.id = ${id} and not exists (
      select from notifications twin
      where twin.organization_id = n.organization_id and twin.event_id = n.event_id and twin.name = ${name}
        and twin.id <> n.id)`.execute(db);
  return Number(numAffectedRows) === 1;
}

export async function createNotification(db: Db, organizationId: number, eventId: number, fields: NotificationFields) {
  const row = await db
    .insertInto('notifications')
    .values({ organization_id: organizationId, event_id: eventId, ...toRow(fields) })
    .returning('id')
    .executeTakeFirstOrThrow();
  return row.id;
}

export async function updateNotification(db: Db, organizationId: number, id: number, fields: NotificationFields) {
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

function toRow({ recipients, extra_context, priority, throttle, digest, steps, ...fields }: NotificationFields) {
  return {
    ...fields,
    recipients: JSON.stringify(recipients),
    extra_context: JSON.stringify(extra_context),
    priority: priority === null ? null : priorities.indexOf(priority),
    throttle: throttle && JSON.stringify(throttle),
    digest: digest && JSON.stringify(digest),
    steps: steps && JSON.stringify(steps),
  };
}
