/** Mailboxes that are polled for bounce mails: when each is due, how far it was read, and why it could not be. */
import { sql } from 'kysely';
import type { FeedbackChannel } from '../../configuration/channel-feedback.ts';
import type { Db } from '../../connection/pool.ts';
import { stoppedText } from '../../ledger/moving-text.ts';

interface MailboxChannel extends Pick<FeedbackChannel, 'organization_id' | 'id' | 'providers'> {
  /** Names of its mailboxes that were added already. */
  known: string[];
}

/** Returns all channels with a mailbox in their settings. */
export async function listMailboxChannelsAcrossTenants(db: Db): Promise<MailboxChannel[]> {
  const { rows } = await sql<MailboxChannel>`
    select c.organization_id, c.id, c.providers, array(
      select m.mailbox from feedback_mailboxes m where m.organization_id = c.organization_id and m.channel_id = c.id
    ) as known
    from channels c where c.type = 'email' and c.providers @? '$[*].imap_host'
      and c.organization_id <> all(${sql.raw(stoppedText)})
    order by c.organization_id, c.id`.execute(db);
  return rows;
}

/** Adds mailboxes that are not there yet, due now. */
export async function addMailboxes(
  db: Db,
  organizationId: number,
  channelId: number,
  names: readonly string[],
): Promise<void> {
  await sql`
    insert into feedback_mailboxes (organization_id, channel_id, mailbox)
    select c.organization_id, c.id, wanted.mailbox from channels c, unnest(${[...names]}::text[]) as wanted (mailbox)
    where c.organization_id = ${organizationId} and c.id = ${channelId}
    on conflict do nothing`.execute(db);
}

export interface ClaimedMailbox extends FeedbackChannel {
  mailbox: string;
  uid_validity: number | null;
  last_uid: number;
  error: string | null;
}

interface MailboxClaim {
  /** How long the claim lasts. */
  seconds: number;
  /** The organization whose turn was last: the next ones come first. */
  after: number;
  /** Organizations that have enough mailboxes being read. */
  except: readonly number[];
}

/** Claims the mailbox of the next organization with one that is due. */
export async function claimMailboxAcrossTenants(
  db: Db,
  { seconds, after, except }: MailboxClaim,
): Promise<ClaimedMailbox | undefined> {
  const { rows } = await sql<ClaimedMailbox>`
    update feedback_mailboxes m set due_at = now() + make_interval(secs => ${seconds})
    from (
      select organization_id, channel_id, mailbox from feedback_mailboxes
      where due_at <= now() and organization_id <> all(${sql.raw(stoppedText)})
        and organization_id <> all(${[...except]}::bigint[])
      order by organization_id <= ${after}, organization_id, due_at limit 1 for update skip locked
    ) due
    join channels c on c.organization_id = due.organization_id and c.id = due.channel_id
    where m.organization_id = due.organization_id and m.channel_id = due.channel_id and m.mailbox = due.mailbox
    returning m.organization_id, m.channel_id as id, c.project_id, c.type, c.slug, c.providers, c.secrets, m.mailbox,
      m.uid_validity, m.last_uid, m.error`.execute(db);
  return rows[0];
}

export interface MailboxResult {
  uid_validity: number | null;
  last_uid: number;
  /** Null: it was read. */
  error: string | null;
  /** Seconds until it is polled again, from when it was claimed. */
  again: number;
  /** Seconds since it was claimed. */
  elapsed: number;
}

export async function settleMailbox(
  db: Db,
  organizationId: number,
  channelId: number,
  name: string,
  { uid_validity, last_uid, error, again, elapsed }: MailboxResult,
): Promise<void> {
  await sql`
    update feedback_mailboxes set uid_validity = ${uid_validity}, last_uid = ${last_uid}, error = ${error},
      checked_at = case when ${error}::text is null then now() else checked_at end,
      failed_at = case when ${error}::text is null then failed_at else now() end,
      due_at = now() + make_interval(secs => ${Math.max(0, again - elapsed)})
    where organization_id = ${organizationId} and channel_id = ${channelId} and mailbox = ${name}`.execute(db);
}

/** Returns the mailboxes that could not be read the last time, and why. */
export async function listFailedMailboxes(
  db: Db,
  organizationId: number,
): Promise<{ channel_id: number; mailbox: string; error: string }[]> {
  const { rows } = await sql<{ channel_id: number; mailbox: string; error: string }>`
    select channel_id, mailbox, error from feedback_mailboxes
    where organization_id = ${organizationId} and error is not null order by channel_id, mailbox`.execute(db);
  return rows;
}

/** Deletes a mailbox that is no longer in the settings of its channel. */
export async function deleteMailbox(db: Db, organizationId: number, channelId: number, name: string): Promise<void> {
  await sql`
    delete from feedback_mailboxes
    where organization_id = ${organizationId} and channel_id = ${channelId} and mailbox = ${name}`.execute(db);
}
