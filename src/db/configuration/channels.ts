import { sql } from 'kysely';
import type { PageRequest } from '../connection/page.ts';
import type { Db } from '../connection/pool.ts';
import { columnsOf, type RowOf } from './rows.ts';

export interface PolledMailbox {
  mailbox: string;
  checked_at: string | null;
  failed_at: string | null;
  error: string | null;
}

export type ChannelDetails = RowOf<'channel'> & {
  /** Slug. */
  project: string | null;
  paused_at: Date | null;
  paused_reason: string | null;
  bulk_paused_at: Date | null;
  bulk_paused_reason: string | null;
  reputation_since: Date | null;
  feedback_token: string;
  last_received_at: Date | null;
  last_refused_at: Date | null;
  last_refusal: string | null;
  /** Mailboxes that have been polled for bounce mails; times in ISO 8601. */
  mailboxes: PolledMailbox[];
  created_at: Date;
  updated_at: Date;
};

const detailsOf = (organizationId: number) => sql`
  select c.id, c.project_id, p.slug as project, ${columnsOf('channel', 'c')}, c.providers, c.secrets, c.paused_at, c.paused_reason,
    c.created_at, c.updated_at, c.feedback_token, c.bulk_paused_at, c.bulk_paused_reason, c.reputation_since,
    f.last_received_at, f.last_refused_at, f.last_refusal,
    array(
      select json_build_object('mailbox', m.mailbox, 'checked_at', m.checked_at, 'failed_at', m.failed_at, 'error', m.error)
      from feedback_mailboxes m where m.organization_id = c.organization_id and m.channel_id = c.id
    ) as mailboxes
  from channels c left join projects p on p.organization_id = c.organization_id and p.id = c.project_id
  left join channel_feedback f on f.organization_id = c.organization_id and f.channel_id = c.id
  where c.organization_id = ${organizationId}`;

export async function findChannelDetails(db: Db, organizationId: number, id: number) {
  const { rows } = await sql<ChannelDetails>`${detailsOf(organizationId)} and c.id = ${id}`.execute(db);
  return rows[0];
}

/** Returns a page of the channels of the organization and of its projects. */
export async function listChannelDetails(db: Db, organizationId: number, page: PageRequest): Promise<ChannelDetails[]> {
  const { rows } = await sql<ChannelDetails>`
    ${detailsOf(organizationId)} and c.id > ${page.after} order by c.id limit ${page.limit}`.execute(db);
  return rows;
}

interface ChannelOutcomes {
  sent: number;
  failed: number;
  unknown: number;
}

/** Returns outcomes by channel from the hourly counts. Channels without any are absent. */
export async function countChannelOutcomes(db: Db, organizationId: number, ids: number[], since: Date) {
  const { rows } = await sql<ChannelOutcomes & { channel_id: number }>`
    select channel_id, coalesce(sum(count) filter (where status = 'sent'), 0)::bigint as sent,
      coalesce(sum(count) filter (where status = 'failed'), 0)::bigint as failed,
      coalesce(sum(count) filter (where status = 'unknown'), 0)::bigint as unknown
    from delivery_stats
    where organization_id = ${organizationId} and hour > ${since} and channel_id = any(${ids}::bigint[])
    group by channel_id`.execute(db);
  return new Map(rows.map(({ channel_id, ...outcomes }) => [channel_id, outcomes]));
}

export interface ProviderDay {
  channel_id: number;
  /** As `nameInChannel` returns it. */
  provider: string;
  day: Date;
  first_day: Date;
  used: number;
}

/** Lists what the providers of these channels have sent on the current day, as far as they have a limit. */
export async function listProviderDays(db: Db, organizationId: number, ids: number[]): Promise<ProviderDay[]> {
  const { rows } = await sql<ProviderDay>`
    select channel_id, provider, day, first_day, used from provider_days
    where organization_id = ${organizationId} and channel_id = any(${ids}::bigint[])
      and day = date_trunc('day', now(), 'UTC')`.execute(db);
  return rows;
}
