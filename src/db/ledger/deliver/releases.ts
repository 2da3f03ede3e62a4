/**
 * Releases work that is held by a pause: when the pause ends, and when the work expires during it; and messages that wait for a
 * provider, when it is back.
 */
import { CompiledQuery } from 'kysely';
import type pg from 'pg';
import { priorities } from '../../../core/trigger.ts';
import type { Db } from '../../connection/pool.ts';
import { waitingList } from '../status-text.ts';

/** SQL text: makes held work due that is no longer paused, of all organizations or of one. */
const releaseText = (organization?: string) => `
    with occurrences_due as (
      update occurrences o set due_at = now(), reason = null
      where o.status in ('accepted', 'expanding') and o.due_at = 'infinity'
        ${organization ? `and o.organization_id = ${organization}` : ''} and not exists (
        select from events e join applications a on a.organization_id = e.organization_id and a.id = e.application_id
        where e.organization_id = o.organization_id and e.id = o.event_id
          and (e.paused_at is not null or a.paused_at is not null))
      returning 1
    ), deliveries_due as (
      update deliveries d set due_at = now(), released_at = now(), retry_since = null, reason = null
      where d.status = 'pending' and d.due_at = 'infinity'
        ${organization ? `and d.organization_id = ${organization}` : ''} and not exists (
        select from channels c
        where c.organization_id = d.organization_id and c.id = d.channel_id and (c.paused_at is not null
          or c.bulk_paused_at is not null and d.reason = 'channel.bulk_paused'))
      and not exists (
        select from occurrences o
        join events e on e.organization_id = o.organization_id and e.id = o.event_id
        join applications a on a.organization_id = e.organization_id and a.id = e.application_id
        where o.organization_id = d.organization_id and o.id = d.occurrence_id
          and (e.paused_at is not null or a.paused_at is not null))
      returning 1
    ), released as (
      select (select count(*) from occurrences_due) + (select count(*) from deliveries_due) as released
    )
    select released::int, case when released > 0 then pg_notify('belfry_work', '') end from released`;

/** Releases held work and returns how much it was. */
export async function releasePaused(db: Db, organizationId: number): Promise<number> {
  const released = CompiledQuery.raw(releaseText('$1'), [organizationId]);
  const { rows } = await db.executeQuery<{ released: number }>(released);
  return rows[0]!.released;
}

const releaseExpired = {
  name: 'release_expired',
  text: `
    with occurrences_due as (
      update occurrences set due_at = now()
      where status in ('accepted', 'expanding') and due_at = 'infinity' and expires_at <= now()
      returning 1
    ), deliveries_due as (
      update deliveries d set due_at = now() from occurrences o
      where d.status = 'pending' and d.due_at = 'infinity' and o.organization_id = d.organization_id
        and o.id = d.occurrence_id and o.expires_at <= now()
      returning 1
    )
    select pg_notify('belfry_work', '') from (
      select from occurrences_due union all select from deliveries_due limit 1
    ) released`,
};

/** Makes held work due that has expired, so that it ends during the pause: expiry is checked before the pause. */
export async function releaseExpiredAcrossTenants(pool: pg.Pool): Promise<void> {
  await pool.query(releaseExpired);
}

const releaseAll = { name: 'release_paused', text: releaseText() };

/**
 * Releases held work of all organizations. Workers call it regularly: one that did not know of a resume yet may have
 * held a message after it.
 */
export async function releasePausedAcrossTenants(pool: pg.Pool): Promise<void> {
  await pool.query(releaseAll);
}

/** Rows that are read at a time, and how many times: others of the organization may be due before those of the channel. */
const retriesPerPage = 1_000;
const maxPages = 100;

// Reads what is due within the longest delay between two attempts, in the order of the index of due work. The organization of the page,
// not the parameter, is compared: otherwise the planner may read all of the organization for each row.
const releaseRetriesPage = {
  name: 'release_retries',
  text: `
    with page as (
      select organization_id, occurrence_id, id, channel_id, status, reason, due_at from deliveries
      where status in ${waitingList} and priority = $3::smallint and organization_id = $1
        and due_at > coalesce($4::timestamptz, now()) and due_at <= now() + interval '1 hour'
      order by due_at limit ${retriesPerPage}
    ), chosen as (
      select d.organization_id, d.occurrence_id, d.id from page p
      join deliveries d on d.organization_id = p.organization_id and d.occurrence_id = p.occurrence_id and d.id = p.id
      where p.channel_id = $2 and p.status = 'retrying' and p.reason in ('provider.paused', 'provider.failed', 'unknown')
        and d.status = 'retrying'
      limit $5 for update of d skip locked
    ), released as (
      update deliveries d set due_at = now() from chosen c
      where d.organization_id = c.organization_id and d.occurrence_id = c.occurrence_id and d.id = c.id
      returning 1
    )
    select (select count(*)::int from page) as read, (select max(due_at) from page) as last, count(*)::int as released,
      case when count(*) > 0 then pg_notify('belfry_work', '') end
    from released`,
};

/**
 * Makes messages of a channel due that wait for their provider, most urgent first. Returns how many: at most `max`, if it is small.
 * Those that wait for their recipient, such as for a full mailbox, or longer than an hour because the provider asked for it, wait on.
 */
export async function releaseRetries(
  pool: pg.Pool,
  organizationId: number,
  channelId: number,
  max = Number.POSITIVE_INFINITY,
): Promise<number> {
  let released = 0;
  for (const priority of priorities.keys()) {
    let after: Date | null = null;
    for (let page = 0; page < maxPages && released < max; page++) {
      const values: unknown[] = [organizationId, channelId, priority, after, Math.min(max - released, retriesPerPage)];
      const { rows } = await pool.query<{ read: number; last: Date | null; released: number }>({
        ...releaseRetriesPage,
        values,
      });
      const { read, last, released: found } = rows[0]!;
      released += found;
      if (read < retriesPerPage) break;
      after = last;
    }
  }
  return released;
}
