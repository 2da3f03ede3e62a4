/**
 * In-app messages. A message has the id of its delivery, so a message that is delivered twice is stored once. Every
 * change locks the inbox row first and takes the next sequence number: numbers become visible in order, so a stream
 * that resumes after the last number it sent misses nothing. Triggers maintain the counts.
 */
import { type SqlBool, sql } from 'kysely';
import type pg from 'pg';
import type { LiveText } from '../../core/text/live-text.ts';
import type { PageRequest } from '../connection/page.ts';
import type { Db, Row } from '../connection/pool.ts';
import { inPlainTransaction } from '../connection/transaction.ts';

/** An action button of a message, as rendered. */
export interface InboxAction<Text = LiveText> {
  name: string;
  label: Text;
  /** The link that the action opens. */
  url?: Text;
  /** The event that the action triggers: `project/application/event`, as slugs. */
  event?: string;
  /** The action acknowledges the occurrence. */
  acknowledge?: true;
}

export interface NewInboxMessage {
  organization_id: number;
  user_id: number;
  id: number;
  occurrence_id: string;
  title: string;
  body: string;
  category?: string;
  avatar?: string;
  actions?: InboxAction<string>[];
}

export interface InboxCounts {
  unread: number;
  unseen: number;
}

export interface InboxFilter {
  unread?: boolean;
  unseen?: boolean;
  archived?: boolean;
  /** Slug. */
  category?: string;
}

export const inboxColumns = [
  'id',
  'occurrence_id',
  'title',
  'body',
  'category',
  'avatar',
  'actions',
  // Name of the action that was taken.
  'action',
  'created_at',
  'seen_at',
  'read_at',
  'archived_at',
  'acted_at',
] as const;

type InboxRow = Row<'inbox', (typeof inboxColumns)[number]>;

export interface InboxMessage extends Omit<InboxRow, 'title' | 'body' | 'avatar' | 'actions'> {
  title: LiveText;
  body: LiveText;
  avatar: LiveText | null;
  actions: InboxAction[] | null;
}

/** The NOTIFY channel for changed inboxes. The payload is `organization:user`, separated by spaces, or `*` for all. */
export const inboxChannel = 'belfry_inbox';

// In key order, so that two batches never deadlock. Gaps from reserved but unused numbers are harmless.
const reserve = {
  name: 'reserve_inbox_sequences',
  text: `
    insert into inboxes as i (organization_id, user_id, sequence)
    select organization_id, user_id, count(*)
    from unnest($1::bigint[], $2::bigint[]) as given (organization_id, user_id)
    group by 1, 2 order by 1, 2
    on conflict (organization_id, user_id) do update set sequence = i.sequence + excluded.sequence
    returning organization_id, user_id, sequence`,
};

// PostgreSQL limits a NOTIFY payload to 8,000 bytes.
const store = {
  name: 'store_inbox',
  text: `
    with stored as (
      insert into inbox (organization_id, user_id, id, occurrence_id, title, body, category, avatar, actions, sequence,
        created_sequence)
      select organization_id, user_id, id, occurrence_id, title, body, category, avatar, actions, sequence, sequence
      from json_to_recordset($1::json) as given (
        organization_id bigint, user_id bigint, id bigint, occurrence_id uuid, title text, body text, category text,
        avatar text, actions jsonb, sequence bigint)
      on conflict do nothing
      returning organization_id, user_id
    ), changed_inboxes as (
      select string_agg(distinct organization_id || ':' || user_id, ' ') as names from stored
    )
    select pg_notify('${inboxChannel}', case when length(names) < 7900 then names else '*' end) from changed_inboxes
    where names is not null`,
};

/** Stores all messages or none. A message that is already stored is left unchanged. */
export async function storeInboxMessagesAcrossTenants(pool: pg.Pool, messages: NewInboxMessage[]): Promise<void> {
  await inPlainTransaction(pool, async client => {
    const values = [messages.map(one => one.organization_id), messages.map(one => one.user_id)];
    const { rows } = await client.query<InboxKey & { sequence: number }>({ ...reserve, values });
    const last = new Map(rows.map(row => [keyOf(row), row.sequence]));
    // Counts down from the last reserved number, so that the newest message gets the highest.
    const numbered = messages
      .toSorted((a, b) => b.id - a.id)
      .map(message => {
        const name = keyOf(message);
        const sequence = last.get(name)!;
        last.set(name, sequence - 1);
        return { ...message, sequence };
      });
    await client.query({ ...store, values: [JSON.stringify(numbered)] });
  });
}

export interface InboxKey {
  organization_id: number;
  user_id: number;
}

function keyOf({ organization_id, user_id }: InboxKey): string {
  return `${organization_id}:${user_id}`;
}

/** Lists messages, newest first. `after` is the id of the last message of the previous page, or 0. */
export async function listInbox(
  db: Db,
  organizationId: number,
  userId: number,
  { unread, unseen, archived = false, category }: InboxFilter,
  { after, limit }: PageRequest,
): Promise<InboxMessage[]> {
  let query = db
    .selectFrom('inbox')
    .select(inboxColumns)
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId)
    .where('archived_at', archived ? 'is not' : 'is', null);
  if (unread !== undefined) query = query.where('read_at', unread ? 'is' : 'is not', null);
  if (unseen !== undefined) {
    const isSeen = sql<SqlBool>`(seen_at is not null or read_at is not null)`;
    query = query.where(isSeen, unseen ? 'is' : 'is not', false);
  }
  if (category !== undefined) query = query.where('category', '=', category);
  if (after > 0) query = query.where('id', '<', after);
  return (await query.orderBy('id', 'desc').limit(limit).execute()) as unknown as InboxMessage[];
}

/** Returns zeros when the inbox has never received a message. */
export async function getInboxCounts(db: Db, organizationId: number, userId: number): Promise<InboxCounts> {
  const counts = await db
    .selectFrom('inboxes')
    .select(['unread', 'unseen'])
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId)
    .executeTakeFirst();
  return counts ?? { unread: 0, unseen: 0 };
}

export async function findInboxMessage(db: Db, organizationId: number, userId: number, id: number) {
  const found = await db
    .selectFrom('inbox')
    .select(inboxColumns)
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .executeTakeFirst();
  return found as InboxMessage | undefined;
}
