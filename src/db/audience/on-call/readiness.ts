/** What makes people on call ready: verified addresses, and lists that are notified instead of them. */
import { sql } from 'kysely';
import type { Db } from '../../connection/pool.ts';

/** Lists the verified addresses of these users that are not disabled. */
export async function listVerifiedAddresses(
  db: Db,
  organizationId: number,
  usernames: readonly string[],
): Promise<{ username: string; name: string }[]> {
  const { rows } = await sql<{ username: string; name: string }>`
    select u.username, a.name from users u
    join addresses a on a.organization_id = u.organization_id and a.user_id = u.id
    where u.organization_id = ${organizationId} and u.username = any(${[...usernames]}::text[])
      and a.verified_at is not null and a.disabled_at is null`.execute(db);
  return rows;
}

/** Lists the lists of these projects that have active members, by their folded names. */
export async function listFilledLists(
  db: Db,
  organizationId: number,
  projects: readonly string[],
): Promise<{ project: string; name_key: string }[]> {
  const { rows } = await sql<{ project: string; name_key: string }>`
    select p.slug as project, l.name_key from projects p
    join distribution_lists l on l.organization_id = p.organization_id and l.project_id = p.id
    where p.organization_id = ${organizationId} and p.slug = any(${[...projects]}::text[]) and l.active_members > 0`.execute(
    db,
  );
  return rows;
}

/** Lists the notifications that go to these schedules, as a recipient of their own or of a step. */
export async function listUsesOfSchedules(
  db: Db,
  organizationId: number,
  scheduleIds: readonly number[],
): Promise<{ schedule_id: number; path: string }[]> {
  const { rows } = await sql<{ schedule_id: number; path: string }>`
    select s.id as schedule_id, concat_ws('/', p.slug, a.slug, e.slug, n.name) as path
    from notifications n
    join events e on e.organization_id = n.organization_id and e.id = n.event_id
    join applications a on a.organization_id = e.organization_id and a.id = e.application_id
    join projects p on p.organization_id = a.organization_id and p.id = a.project_id
    join schedules s on s.organization_id = p.organization_id and s.project_id = p.id and (
      n.recipients ->> 'schedule' = s.slug or exists (
        select from jsonb_array_elements(coalesce(n.steps, '[]')) step where step -> 'recipients' ->> 'schedule' = s.slug))
    where n.organization_id = ${organizationId} and s.id = any(${[...scheduleIds]}::bigint[])
    order by path`.execute(db);
  return rows;
}

/** Lists the organizations that have schedules. */
export async function listOrganizationsOnCallAcrossTenants(db: Db): Promise<{ id: number; slug: string }[]> {
  const { rows } = await sql<{ id: number; slug: string }>`
    select id, slug from organizations o
    where exists (select from schedules s where s.organization_id = o.id) order by id`.execute(db);
  return rows;
}
