/** In-app messages. The id is that of the delivery, so that a message that is delivered twice is there once. */
import { type SqlBool, sql } from 'kysely';
import type pg from 'pg';
import type { PageRequest } from './page.ts';
import type { Db } from './pool.ts';

export interface InboxMessage {
  id: number;
  occurrence_id: string;
  title: string;
  body: string;
  created_at: Date;
  read_at: Date | null;
  archived_at: Date | null;
}

export interface NewInboxMessage {
  organization_id: number;
  user_id: number;
  id: number;
  occurrence_id: string;
  title: string;
  body: string;
}

export interface InboxFilter {
  unread?: boolean;
  archived?: boolean;
}

const columns = ['id', 'occurrence_id', 'title', 'body', 'created_at', 'read_at', 'archived_at'] as const;

const store = {
  name: 'store_inbox',
  text: `
    insert into inbox (organization_id, user_id, id, occurrence_id, title, body)
    select organization_id, user_id, id, occurrence_id, title, body from json_to_recordset($1::json) as given (
      organization_id bigint, user_id bigint, id bigint, occurrence_id uuid, title text, body text)
    on conflict do nothing`,
};

export async function storeInboxMessagesAcrossTenants(pool: pg.Pool, messages: NewInboxMessage[]): Promise<void> {
  await pool.query({ ...store, values: [JSON.stringify(messages)] });
}

/** The newest first: `after` is the id of the last one seen, 0 for the beginning. */
export async function listInbox(
  db: Db,
  organizationId: number,
  userId: number,
  { unread, archived = false }: InboxFilter,
  { after, limit }: PageRequest,
): Promise<InboxMessage[]> {
  let query = db
    .selectFrom('inbox')
    .select(columns)
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId)
    .where('archived_at', archived ? 'is not' : 'is', null);
  if (unread !== undefined) query = query.where('read_at', unread ? 'is' : 'is not', null);
  if (after > 0) query = query.where('id', '<', after);
  return query.orderBy('id', 'desc').limit(limit).execute();
}

/** Counts no further than `most`. */
export async function countUnread(db: Db, organizationId: number, userId: number, most: number): Promise<number> {
  const { rows } = await sql<{ unread: number }>`
    select count(*)::int as unread from (
      select from inbox where organization_id = ${organizationId} and user_id = ${userId}
        and archived_at is null and read_at is null
      limit ${most}
    ) counted`.execute(db);
  return rows[0]!.unread;
}

export async function hasInboxMessage(db: Db, organizationId: number, userId: number, id: number): Promise<boolean> {
  const found = await db
    .selectFrom('inbox')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .executeTakeFirst();
  return found !== undefined;
}

/** What is read or archived already keeps its time. */
const changes = {
  read: { read_at: sql<Date>`coalesce(read_at, now())` },
  unread: { read_at: null },
  archive: { archived_at: sql<Date>`coalesce(archived_at, now())` },
  unarchive: { archived_at: null },
};

export type InboxChange = keyof typeof changes;

/** Undefined when there is no such message. */
export async function changeInboxMessage(
  db: Db,
  organizationId: number,
  userId: number,
  id: number,
  change: InboxChange,
): Promise<InboxMessage | undefined> {
  return db
    .updateTable('inbox')
    .set(changes[change])
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .returning(columns)
    .executeTakeFirst();
}

/** Returns how many were unread. */
export async function readWholeInbox(db: Db, organizationId: number, userId: number): Promise<number> {
  const result = await db
    .updateTable('inbox')
    .set(changes.read)
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId)
    .where(sql<SqlBool>`archived_at is null and read_at is null`)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}
