/** Changes in-app messages, and reads what changed. */
import { type RawBuilder, sql } from 'kysely';
import type pg from 'pg';
import type { Db } from '../connection/pool.ts';
import { type InboxCounts, type InboxKey, type InboxMessage, inboxChannel, inboxColumns } from './inbox.ts';

/** For each change, the messages it applies to and the assignments. Messages already in that state keep their time. */
const changes = {
  seen: { from: sql`seen_at is null and read_at is null`, to: sql`seen_at = now()` },
  read: { from: sql`read_at is null`, to: sql`read_at = now(), seen_at = coalesce(seen_at, now())` },
  unread: { from: sql`read_at is not null`, to: sql`read_at = null` },
  archive: { from: sql`archived_at is null`, to: sql`archived_at = now()` },
  unarchive: { from: sql`archived_at is not null`, to: sql`archived_at = null` },
};

export type InboxChange = keyof typeof changes;
/** The changes that can be applied to all messages that are not archived. */
export type InboxBulkChange = 'seen' | 'read';

/** Returns whether anything changed. Must run inside a transaction. */
export async function changeInboxMessage(
  db: Db,
  organizationId: number,
  userId: number,
  id: number,
  change: InboxChange,
): Promise<boolean> {
  const { from, to } = changes[change];
  return (await changeMatching(db, organizationId, userId, sql`id = ${id} and ${from}`, to, 1)) > 0;
}

/** Returns false when an action has already been taken. Must run inside a transaction. */
export async function actOnInboxMessage(db: Db, organizationId: number, userId: number, id: number, action: string) {
  const to = sql`acted_at = now(), action = ${action}, read_at = coalesce(read_at, now()), seen_at = coalesce(seen_at, now())`;
  return (await changeMatching(db, organizationId, userId, sql`id = ${id} and acted_at is null`, to, 1)) > 0;
}

/** Replaces the body and removes the buttons, because the occurrence has ended. Must run inside a transaction. */
export async function reviseInboxMessage(
  db: Db,
  organizationId: number,
  userId: number,
  id: number,
  { body, isRetracted }: { body: string; isRetracted: boolean },
): Promise<void> {
  const archived = isRetracted ? sql`, archived_at = coalesce(archived_at, now())` : sql``;
  await changeMatching(db, organizationId, userId, sql`id = ${id}`, sql`body = ${body}, actions = null${archived}`, 1);
}

/** Returns the number of changed messages: fewer than `max` when none are left. Must run inside a transaction. */
export async function changeInboxMessages(
  db: Db,
  organizationId: number,
  userId: number,
  change: InboxBulkChange,
  max: number,
): Promise<number> {
  const { from, to } = changes[change];
  // Unseen messages are also unread, and there is an index on unread messages.
  const current = sql`archived_at is null and read_at is null and ${from}`;
  return changeMatching(db, organizationId, userId, current, to, max);
}

async function changeMatching(
  db: Db,
  organizationId: number,
  userId: number,
  condition: RawBuilder<unknown>,
  to: RawBuilder<unknown>,
  max: number,
): Promise<number> {
  const own = sql`organization_id = ${organizationId} and user_id = ${userId}`;
  // Locks first, so that the next statement sees the state that the lock protects.
  const { rows } = await sql<{ sequence: number }>`
    select sequence from inboxes where ${own} for no key update`.execute(db);
  if (!rows[0]) return 0;
  const { numAffectedRows = 0n } = await sql`
    update inbox set ${to}, sequence = ${rows[0].sequence} + chosen.n
    from (
      select id as chosen_id, row_number() over (order by id) as n
      from (select id from inbox where ${own} and ${condition} order by id limit ${max}) found
    ) chosen
    where ${own} and id = chosen_id`.execute(db);
  const listChanges = Number(numAffectedRows);
  if (listChanges === 0) return 0;
  await sql`
    with notified as (select pg_notify(${inboxChannel}, ${`${organizationId}:${userId}`}))
    update inboxes set sequence = sequence + ${listChanges} from notified where ${own}`.execute(db);
  return listChanges;
}

/** How far a stream has read an inbox. */
interface InboxPosition extends InboxKey {
  /** Undefined: only the current sequence is requested, no earlier changes. */
  after: number | undefined;
}

export interface ChangedMessage extends InboxMessage {
  sequence: number;
  created_sequence: number;
}

export interface InboxChanges extends InboxKey, InboxCounts {
  /** Sequence of the latest change of the inbox. */
  sequence: number;
  /** The first changes after the position, in order. */
  messages: ChangedMessage[];
}

const listChanges = {
  name: 'list_inbox_changes',
  text: `
    select g.organization_id, g.user_id, coalesce(i.sequence, 0) as sequence, coalesce(i.unread, 0) as unread,
      coalesce(i.unseen, 0) as unseen, m.*
    from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as g (organization_id, user_id, after)
    left join inboxes i on i.organization_id = g.organization_id and i.user_id = g.user_id
    left join lateral (
      select ${inboxColumns.join(', ')}, sequence as message_sequence, created_sequence
      from inbox where organization_id = g.organization_id and user_id = g.user_id and sequence > g.after
      order by sequence limit $4
    ) m on true
    order by g.organization_id, g.user_id, m.message_sequence`,
};

/** Reads all inboxes in one statement. There must be at most one position per inbox. */
export async function listInboxChangesAcrossTenants(
  pool: pg.Pool,
  positions: readonly InboxPosition[],
  max: number,
): Promise<InboxChanges[]> {
  type Row = InboxKey & InboxCounts & { sequence: number; message_sequence: number } & ChangedMessage;
  const { rows } = await pool.query<Row>({
    ...listChanges,
    values: [
      positions.map(one => one.organization_id),
      positions.map(one => one.user_id),
      positions.map(one => one.after ?? null),
      max,
    ],
  });
  const found: InboxChanges[] = [];
  for (const { organization_id, user_id, sequence, unread, unseen, message_sequence, ...message } of rows) {
    let inbox = found.at(-1);
    if (inbox?.organization_id !== organization_id || inbox.user_id !== user_id) {
      inbox = { organization_id, user_id, sequence, unread, unseen, messages: [] };
      found.push(inbox);
    }
    if (message_sequence !== null) inbox.messages.push({ ...message, sequence: message_sequence });
  }
  return found;
}
