import { sql } from 'kysely';
import type { Db } from '../connection/pool.ts';

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
