/**
 * In-app messages. The id is that of the delivery, so that a message that is delivered twice is there once. Whoever changes
 * some locks the inbox first, and numbers each change: a stream goes on after the last number it told, and as numbers become
 * visible in their order it misses none. Triggers keep the counts.
 */
import { type SqlBool, sql } from 'kysely';
import type pg from 'pg';
import type { PageRequest } from './page.ts';
import type { Db } from './pool.ts';
import { inPlainTransaction } from './transaction.ts';

/** As it was rendered. */
export interface InboxAction {
  name: string;
  label: string;
  /** Where it leads. */
  url?: string;
  /** What it triggers: slugs of project, application and event, with slashes between them. */
  event?: string;
  /** It acknowledges the occurrence. */
  acknowledge?: true;
}

export interface InboxMessage {
  id: number;
  occurrence_id: string;
  title: string;
  body: string;
  category: string | null;
  avatar: string | null;
  actions: InboxAction[] | null;
  /** Name of the action that was taken. */
  action: string | null;
  created_at: Date;
  seen_at: Date | null;
  read_at: Date | null;
  archived_at: Date | null;
  acted_at: Date | null;
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
  actions?: InboxAction[];
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
  'action',
  'created_at',
  'seen_at',
  'read_at',
  'archived_at',
  'acted_at',
] as const;

/** The channel on which changed inboxes are announced: `organization:user`, with spaces between them, or `*` for any. */
export const inboxChannel = 'belfry_inbox';
/** The first word of an announcement that says whose tokens are good no longer. */
export const revokedTokens = 'revoked';

// In the order of the key, so that two batches never wait crosswise. A number that is not used in the end is no harm.
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

// A payload is shorter than 8,000 bytes.
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
    ), told as (
      select string_agg(distinct organization_id || ':' || user_id, ' ') as names from stored
    )
    select pg_notify('${inboxChannel}', case when length(names) < 7900 then names else '*' end) from told
    where names is not null`,
};

/** All of them or none; one that is there already stays as it is. */
export async function storeInboxMessagesAcrossTenants(pool: pg.Pool, messages: NewInboxMessage[]): Promise<void> {
  await inPlainTransaction(pool, async client => {
    const values = [messages.map(one => one.organization_id), messages.map(one => one.user_id)];
    const { rows } = await client.query<InboxName & { sequence: number }>({ ...reserve, values });
    const last = new Map(rows.map(row => [nameOf(row), row.sequence]));
    // From the last one down, so that the newest message has the highest number.
    const numbered = messages
      .toSorted((a, b) => b.id - a.id)
      .map(message => {
        const name = nameOf(message);
        const sequence = last.get(name)!;
        last.set(name, sequence - 1);
        return { ...message, sequence };
      });
    await client.query({ ...store, values: [JSON.stringify(numbered)] });
  });
}

export interface InboxName {
  organization_id: number;
  user_id: number;
}

function nameOf({ organization_id, user_id }: InboxName): string {
  return `${organization_id}:${user_id}`;
}

/** The newest first: `after` is the id of the last one seen, 0 for the beginning. */
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

/** Zero where nothing ever arrived. */
export async function getInboxCounts(db: Db, organizationId: number, userId: number): Promise<InboxCounts> {
  const counts = await db
    .selectFrom('inboxes')
    .select(['unread', 'unseen'])
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId)
    .executeTakeFirst();
  return counts ?? { unread: 0, unseen: 0 };
}

export async function findInboxMessage(
  db: Db,
  organizationId: number,
  userId: number,
  id: number,
): Promise<InboxMessage | undefined> {
  const found = await db
    .selectFrom('inbox')
    .select(inboxColumns)
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .executeTakeFirst();
  return found as InboxMessage | undefined;
}
