/** Counts of bounces and complaints per email channel and hour, and the pause of bulk messages that follows from them. */
import { CompiledQuery, sql } from 'kysely';
import { type Reputation, type ReputationLimits, reputationWindow } from '../../../core/feedback/reputation.ts';
import type { Db } from '../../connection/pool.ts';
import { channelEventsText } from '../../ledger/webhooks/events.ts';

/** A bounce or a complaint. */
export interface Report {
  /** Of the event. */
  id: string;
  type: 'bounced' | 'complained';
  /** Null for a complaint. */
  permanent: boolean | null;
  occurrence_id: string;
  delivery_id: number;
  channel_id: number;
  sent_at: Date | null;
}

/**
 * Counts reports about messages of email channels: each message once for each kind, unless it was sent before the channel's
 * last resume. Must run in the transaction that stores the events. Returns the channels whose counts have changed.
 */
export async function countReports(db: Db, organizationId: number, reports: readonly Report[]): Promise<number[]> {
  const { rows } = await sql<{ channel_id: number }>`
    insert into channel_reputation as r (organization_id, channel_id, hour, bounced, bounced_temporarily, complained)
    select ${organizationId}, channel_id, date_trunc('hour', now()), count(*) filter (where permanent),
      count(*) filter (where not permanent), count(*) filter (where type = 'complained')
    from (
      select distinct g.channel_id, g.type, g.permanent, g.occurrence_id, g.delivery_id
      from json_to_recordset(${JSON.stringify(reports)}::json) as g (
        id uuid, type text, permanent boolean, occurrence_id uuid, delivery_id bigint, channel_id bigint, sent_at timestamptz)
      join channels c on c.organization_id = ${organizationId} and c.id = g.channel_id
      where c.type = 'email' and (c.reputation_since is null or g.sent_at >= c.reputation_since) and not exists (
        select from feedback f
        where f.organization_id = ${organizationId} and f.occurrence_id = g.occurrence_id
          and f.delivery_id = g.delivery_id and f.type = g.type and f.permanent is not distinct from g.permanent
          and f.id <> all(${reports.map(({ id }) => id)}::uuid[]))
    ) reported
    group by channel_id order by channel_id
    on conflict (organization_id, channel_id, hour) do update
      set bounced = r.bounced + excluded.bounced,
        bounced_temporarily = r.bounced_temporarily + excluded.bounced_temporarily, complained = r.complained + excluded.complained
    returning channel_id`.execute(db);
  return rows.map(({ channel_id }) => channel_id);
}

export interface ChannelReputation extends Reputation, ReputationLimits {
  id: number;
  /** With the project, if it has one. */
  path: string;
  reputation_guard: boolean;
}

const windowStart = sql.raw(`now() - interval '${reputationWindow.hours} hours'`);

/** Reads the counts of these channels, as far as they are email channels. The cost does not depend on the messages sent. */
export async function readReputations(
  db: Db,
  organizationId: number,
  channelIds: readonly number[],
): Promise<ChannelReputation[]> {
  const { rows } = await sql<ChannelReputation>`
    with mail as (
      select c.*, concat_ws('/', p.slug, c.slug) as path from channels c
      left join projects p on p.organization_id = c.organization_id and p.id = c.project_id
      where c.organization_id = ${organizationId} and c.id = any(${[...channelIds]}::bigint[]) and c.type = 'email'
    ), sent as (
      select d.channel_id, sum(d.count) - case when date_trunc('hour', min(m.reputation_since)) > ${windowStart}
        then min(m.sent_before_since) else 0 end as count
      from delivery_stats d join mail m on m.id = d.channel_id
      where d.organization_id = ${organizationId} and d.hour > ${windowStart} and d.status = 'sent'
        and (m.reputation_since is null or d.hour >= date_trunc('hour', m.reputation_since))
      group by 1
    ), reported as (
      select channel_id, sum(bounced) as bounced, sum(complained) as complained,
        sum(bounced + bounced_temporarily) as corrected
      from channel_reputation
      where organization_id = ${organizationId} and channel_id = any(${[...channelIds]}::bigint[])
        and hour > ${windowStart}
      group by 1
    )
    select m.id, m.path, m.reputation_guard, m.max_bounce_percent, m.max_complaint_percent,
      (greatest(coalesce(s.count, 0), 0) + coalesce(r.corrected, 0))::int as messages,
      coalesce(r.bounced, 0)::int as bounced, coalesce(r.complained, 0)::int as complained
    from mail m left join sent s on s.channel_id = m.id left join reported r on r.channel_id = m.id`.execute(db);
  return rows;
}

const pauseText = `
    with paused as (
      update channels set bulk_paused_at = now(), bulk_paused_reason = $3
      where organization_id = $1 and id = $2 and bulk_paused_at is null
      returning organization_id, id as channel_id
    ), ${channelEventsText(
      'paused',
      'channel.reputation_low',
      `'reason', $3::text, 'messages', $4::int, 'bounced', $5::int, 'complained', $6::int`,
    )}
    select channel_id from paused`;

/** Pauses bulk messages and queues `channel.reputation_low`. Returns false if they are paused already. */
export async function pauseBulk(
  db: Db,
  organizationId: number,
  { id, messages, bounced, complained }: ChannelReputation,
  reason: string,
): Promise<boolean> {
  const values = [organizationId, id, reason, messages, bounced, complained];
  const { rows } = await db.executeQuery(CompiledQuery.raw(pauseText, values));
  return rows.length > 0;
}

/** Ends the pause of bulk messages, if there is one. The window starts again: messages sent before count no more. */
export async function resumeBulk(db: Db, organizationId: number, channelId: number): Promise<void> {
  const { rows } = await sql`
    update channels c set bulk_paused_at = null, bulk_paused_reason = null, reputation_since = now(),
      sent_before_since = coalesce((
        select sum(count) from delivery_stats d
        where d.organization_id = ${organizationId} and d.hour = date_trunc('hour', now()) and d.status = 'sent'
          and d.channel_id = ${channelId}), 0)
    where organization_id = ${organizationId} and id = ${channelId} and bulk_paused_at is not null
    returning id`.execute(db);
  if (rows.length === 0) return;
  await sql`
    delete from channel_reputation
    where organization_id = ${organizationId} and channel_id = ${channelId}`.execute(db);
}

/** Returns how many channels of the whole installation have their bulk messages paused. */
export async function countBulkPausedAcrossTenants(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from channels where bulk_paused_at is not null`.execute(db);
  return rows[0]!.count;
}

/** Deletes counts that no window contains any more. */
export async function deleteOldReportCountsAcrossTenants(db: Db, before: Date): Promise<void> {
  await sql`delete from channel_reputation where hour < ${before}`.execute(db);
}
