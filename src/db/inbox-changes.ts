/** Changing in-app messages, and reading what changed. */
import { type RawBuilder, sql } from 'kysely';
import type pg from 'pg';
import {
  type InboxCounts,
  type InboxMessage,
  type InboxName,
  inboxChannel,
  inboxColumns,
  revokedTokens,
} from './inbox.ts';
import type { Db } from './pool.ts';

/** Which messages it changes, and to what: what is in that state already keeps its time. */
const changes = {
  seen: { from: sql`seen_at is null and read_at is null`, to: sql`seen_at = now()` },
  read: { from: sql`read_at is null`, to: sql`read_at = now(), seen_at = coalesce(seen_at, now())` },
  unread: { from: sql`read_at is not null`, to: sql`read_at = null` },
  archive: { from: sql`archived_at is null`, to: sql`archived_at = now()` },
  unarchive: { from: sql`archived_at is not null`, to: sql`archived_at = null` },
};

export type InboxChange = keyof typeof changes;
/** What can be done with everything that is not archived. */
export type InboxSweep = 'seen' | 'read';

/** Inside a transaction. Returns whether anything changed. */
export async function changeInboxMessage(
  db: Db,
  organizationId: number,
  userId: number,
  id: number,
  change: InboxChange,
): Promise<boolean> {
  const { from, to } = changes[change];
  return (await changeSome(db, organizationId, userId, sql`id = ${id} and ${from}`, to, 1)) > 0;
}

/** Inside a transaction. False when an action has been taken already. */
export async function actOnInboxMessage(
  db: Db,
  organizationId: number,
  userId: number,
  id: number,
  action: string,
): Promise<boolean> {
  const to = sql`acted_at = now(), action = ${action}, read_at = coalesce(read_at, now()), seen_at = coalesce(seen_at, now())`;
  return (await changeSome(db, organizationId, userId, sql`id = ${id} and acted_at is null`, to, 1)) > 0;
}

/** Inside a transaction. Returns how many changed: fewer than `most` when none is left. */
export async function sweepInbox(
  db: Db,
  organizationId: number,
  userId: number,
  change: InboxSweep,
  most: number,
): Promise<number> {
  const { from, to } = changes[change];
  // What is not seen is not read either, and for that there is an index.
  const current = sql`archived_at is null and read_at is null and ${from}`;
  return changeSome(db, organizationId, userId, current, to, most);
}

async function changeSome(
  db: Db,
  organizationId: number,
  userId: number,
  which: RawBuilder<unknown>,
  to: RawBuilder<unknown>,
  most: number,
): Promise<number> {
  const own = sql`organization_id = ${organizationId} and user_id = ${userId}`;
  // First of all, so that what is read next is what is there while the lock is held.
  const { rows } = await sql<{ sequence: number }>`
    select sequence from inboxes where ${own} for no key update`.execute(db);
  if (!rows[0]) return 0;
  const { numAffectedRows = 0n } = await sql`
    update inbox set ${to}, sequence = ${rows[0].sequence} + chosen.n
    from (
      select id as chosen_id, row_number() over (order by id) as n
      from (select id from inbox where ${own} and ${which} order by id limit ${most}) found
    ) chosen
    where ${own} and id = chosen_id`.execute(db);
  const changed = Number(numAffectedRows);
  if (changed === 0) return 0;
  await sql`
    with told as (select pg_notify(${inboxChannel}, ${`${organizationId}:${userId}`}))
    update inboxes set sequence = sequence + ${changed} from told where ${own}`.execute(db);
  return changed;
}

/** So that streams that were opened with one of them end. */
export async function announceRevokedTokens(db: Db, organizationId: number, userId: number): Promise<void> {
  const payload = `${revokedTokens} ${organizationId}:${userId}`;
  await sql`select pg_notify(${inboxChannel}, ${payload})`.execute(db);
}

/** How far a reader of an inbox has come. */
export interface InboxPosition extends InboxName {
  /** Undefined: it wants to know where the inbox is now, and nothing of before. */
  after: number | undefined;
}

export interface ChangedMessage extends InboxMessage {
  sequence: number;
  created_sequence: number;
}

export interface InboxChanges extends InboxName, InboxCounts {
  /** Of the last change of all. */
  sequence: number;
  /** In their order: the first so many after the position. */
  messages: ChangedMessage[];
}

const changed = {
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

/** One statement for all of them. No two positions of one inbox. */
export async function listInboxChangesAcrossTenants(
  pool: pg.Pool,
  positions: readonly InboxPosition[],
  most: number,
): Promise<InboxChanges[]> {
  type Row = InboxName & InboxCounts & { sequence: number; message_sequence: number } & ChangedMessage;
  const { rows } = await pool.query<Row>({
    ...changed,
    values: [
      positions.map(one => one.organization_id),
      positions.map(one => one.user_id),
      positions.map(one => one.after ?? null),
      most,
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
