/** Versions of messages and layouts. They are never changed, so that a sent message can be traced to its version. */
import { type RawBuilder, sql } from 'kysely';
import type { Json } from '../../core/json.ts';
import type { PageRequest } from '../connection/page.ts';
import type { Db } from '../connection/pool.ts';

/** What has versions: the message of a notification, and the body of a layout. */
export type Versioned = 'notification' | 'layout';

const tables = {
  notification: { table: sql.table('messages'), owner: sql.ref('notification_id'), content: sql.ref('content') },
  layout: { table: sql.table('layout_versions'), owner: sql.ref('layout_id'), content: sql.ref('body') },
};

interface VersionRow {
  version: number;
  created_at: Date;
  created_by: string | null;
}

/** Stores the content as the new current version; `by` is the name of the author. */
export async function addVersion(
  db: Db,
  organizationId: number,
  noun: Versioned,
  id: number,
  value: Json,
  by: string,
): Promise<void> {
  const { table, owner, content } = tables[noun];
  const stored: RawBuilder<unknown> = noun === 'layout' ? sql`${value}` : sql`${JSON.stringify(value)}::jsonb`;
  await sql`
    insert into ${table} (organization_id, ${owner}, version, ${content}, created_by)
    select ${organizationId}, ${id}, coalesce(max(version), 0) + 1, ${stored}, ${by}
    from ${table} where organization_id = ${organizationId} and ${owner} = ${id}`.execute(db);
}

/** Returns versions, newest first. `after` is the last version of the previous page; 0 starts at the newest. */
export async function listVersions(
  db: Db,
  organizationId: number,
  noun: Versioned,
  id: number,
  { after, limit }: PageRequest,
): Promise<VersionRow[]> {
  const { table, owner } = tables[noun];
  const { rows } = await sql<VersionRow>`
    select version, created_at, created_by from ${table}
    where organization_id = ${organizationId} and ${owner} = ${id} ${after > 0 ? sql`and version < ${after}` : sql``}
    order by version desc limit ${limit}`.execute(db);
  return rows;
}

export async function findVersion(db: Db, organizationId: number, noun: Versioned, id: number, version: number) {
  const { table, owner, content } = tables[noun];
  const { rows } = await sql<VersionRow & { content: Json }>`
    select version, created_at, created_by, ${content} as content from ${table}
    where organization_id = ${organizationId} and ${owner} = ${id} and version = ${version}`.execute(db);
  return rows[0];
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
