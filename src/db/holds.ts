/** Pausing keeps messages: what is paused has no due time until it is resumed. Nothing is dropped. */
import { CompiledQuery, sql } from 'kysely';
import type pg from 'pg';
import type { Db } from './pool.ts';

export type Pausable = 'channels' | 'events' | 'applications';

export async function setPaused(
  db: Db,
  organizationId: number,
  table: Pausable,
  id: number,
  paused: boolean,
): Promise<void> {
  const at = paused ? sql`coalesce(paused_at, now())` : sql`null`;
  await sql`
    update ${sql.table(table)} set paused_at = ${at}, updated_at = now()
    where organization_id = ${organizationId} and id = ${id}`.execute(db);
}

/** SQL text: whatever waits for something that is not paused is due; of everybody, or of one organization. */
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
      update deliveries d set due_at = now(), reason = null
      where d.status = 'pending' and d.due_at = 'infinity'
        ${organization ? `and d.organization_id = ${organization}` : ''} and not exists (
        select from channels c
        where c.organization_id = d.organization_id and c.id = d.channel_id and c.paused_at is not null)
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

/** Returns how many wait no longer. */
export async function releaseHeld(db: Db, organizationId: number): Promise<number> {
  const released = CompiledQuery.raw(releaseText('$1'), [organizationId]);
  const { rows } = await db.executeQuery<{ released: number }>(released);
  return rows[0]!.released;
}

const releaseAll = { name: 'release_held', text: releaseText() };

/** Workers do this now and then: one that had not yet heard of a resumption may have put a message aside after it. */
export async function releaseHeldAcrossTenants(pool: pg.Pool): Promise<void> {
  await pool.query(releaseAll);
}
