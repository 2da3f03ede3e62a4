/** Counters of the service levels, per day in UTC. */
import { sql } from 'kysely';
import type { CallResult } from '../../../core/history/service-levels.ts';
import type { Db } from '../../connection/pool.ts';
import { stoppedText } from '../../ledger/moving-text.ts';

export interface CallCounts extends Record<CallResult, number> {
  organization_id: number;
  /** Its beginning in UTC. */
  day: Date;
}

/**
 * Adds what a process has counted. Its batches are numbered: one whose answer was lost is added again under the same number, which does
 * nothing if it was committed. Organizations that have been deleted are left out.
 */
export async function addCallCountsAcrossTenants(
  db: Db,
  writer: { id: string; batch: number },
  counts: readonly CallCounts[],
): Promise<void> {
  const column = (name: keyof CallCounts) => counts.map(one => one[name]);
  await sql`
    with fresh as (
      insert into service_level_writers as w (id, batch, written_at) values (${writer.id}, ${writer.batch}, now())
      on conflict (id) do update set batch = excluded.batch, written_at = excluded.written_at where w.batch < excluded.batch
      returning id
    )
    insert into service_levels as l (organization_id, day, taken, failed, refused)
    select g.* from unnest(${column('organization_id')}::bigint[], ${column('day')}::timestamptz[], ${column('taken')}::bigint[],
      ${column('failed')}::bigint[], ${column('refused')}::bigint[]) as g (organization_id, day, taken, failed, refused)
    where exists (select from fresh) and exists (select from organizations o where o.id = g.organization_id)
    order by 1, 2
    on conflict (organization_id, day) do update set
      taken = l.taken + excluded.taken, failed = l.failed + excluded.failed, refused = l.refused + excluded.refused`.execute(
    db,
  );
}

/** Deletes the numbers of processes that are gone. */
export async function deleteOldWritersAcrossTenants(db: Db, before: Date): Promise<void> {
  await db.deleteFrom('service_level_writers').where('written_at', '<', before).execute();
}

export interface DayCounts extends Record<CallResult, number> {
  day: Date;
  pages_in_time: number;
  pages_late: number;
}

const since = (days: number) => sql`date_trunc('day', now(), 'UTC') - make_interval(hours => 24 * ${days}::integer)`;

/** Lists days on which something was counted, oldest first; the last one is today. */
export async function listDayCounts(db: Db, organizationId: number, days: number): Promise<DayCounts[]> {
  const { rows } = await sql<DayCounts>`
    select day, taken, failed, refused, pages_in_time, pages_late from service_levels
    where organization_id = ${organizationId} and day > ${since(days)} order by day`.execute(db);
  return rows;
}

export interface OrganizationCounts extends Omit<DayCounts, 'day'> {
  organization: string;
  service_levels: unknown;
}

/** Sums up the last days of each organization in which something was counted. */
export async function listLevelSumsAcrossTenants(db: Db, days: number): Promise<OrganizationCounts[]> {
  const sum = (name: string) => sql`sum(${sql.ref(`l.${name}`)})::bigint as ${sql.ref(name)}`;
  const names = ['taken', 'failed', 'refused', 'pages_in_time', 'pages_late'];
  const { rows } = await sql<OrganizationCounts>`
    select o.slug as organization, o.service_levels, ${sql.join(names.map(sum))}
    from service_levels l join organizations o on o.id = l.organization_id
    where l.day > ${since(days)} and o.id <> all(${sql.raw(stoppedText)})
    group by o.id order by o.id`.execute(db);
  return rows;
}
