/** Releases work that is held by a pause: when the pause ends, and when the work expires during it. */
import { CompiledQuery } from 'kysely';
import type pg from 'pg';
import type { Db } from '../connection/pool.ts';

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
      update deliveries d set due_at = now(), released_at = now(), reason = null
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
