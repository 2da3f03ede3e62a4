/** Schedules with their overrides, as they decide who is on call. */
import { type RawBuilder, sql } from 'kysely';
import type { ScheduleFields } from '../../../core/configuration/nouns/schedule.ts';
import type { EarlierRules, Override } from '../../../core/oncall/schedule.ts';
import { fold } from '../../../core/text/text.ts';
import { columnsOf } from '../../configuration/rows.ts';
import type { PageRequest } from '../../connection/page.ts';
import type { Db } from '../../connection/pool.ts';

export interface ScheduleRow extends Required<ScheduleFields> {
  id: number;
  project_id: number;
  /** Slug of its project. */
  project: string;
  overrides: Override[];
  /** Rules that were replaced since the beginning of the time, the oldest first. */
  history: EarlierRules[];
}

interface Selection {
  id?: number;
  project?: { id: number };
  slug?: string | undefined;
  page?: PageRequest;
  /** Username. Only schedules that name the user in a layer, now or at the time, or in an override of the time. */
  user?: string | undefined;
  /** Only overrides that end later, and begin before `until`. */
  from: Date;
  until?: Date | undefined;
}

/** Lists schedules in order of creation, each with the overrides of a time, and what its rules were then. */
export async function listSchedules(
  db: Db,
  organizationId: number,
  { id, project, slug, page, user, from, until }: Selection,
): Promise<ScheduleRow[]> {
  const username = user && fold(user);
  const ofTime = sql`
    o.organization_id = s.organization_id and o.schedule_id = s.id and o.ends_at > ${from}
    ${until ? sql`and o.starts_at < ${until}` : sql``}`;
  const { rows } = await sql<ScheduleRow>`
    select s.id, s.project_id, p.slug as project, ${columnsOf('schedule', 's')}, coalesce((
      select jsonb_agg(jsonb_build_object('id', o.id, 'user', u.username, 'replaces', o.replaces,
        'from', round(extract(epoch from o.starts_at) * 1000), 'until', round(extract(epoch from o.ends_at) * 1000)) order by o.id)
      from schedule_overrides o
      join users u on u.organization_id = o.organization_id and u.id = o.user_id
      where ${ofTime}
    ), '[]') as overrides, coalesce((
      select jsonb_agg(jsonb_build_object('timezone', h.timezone, 'layers', h.layers, 'combine', h.combine,
        'until', round(extract(epoch from h.replaced_at) * 1000)) order by h.replaced_at)
      from schedule_history h
      where h.organization_id = s.organization_id and h.schedule_id = s.id and h.replaced_at > ${from}
    ), '[]') as history
    from schedules s
    join projects p on p.organization_id = s.organization_id and p.id = s.project_id
    where s.organization_id = ${organizationId} ${id === undefined ? sql`` : sql`and s.id = ${id}`} ${project ? sql`and s.project_id = ${project.id}` : sql``}
      ${slug === undefined ? sql`` : sql`and s.slug = ${slug}`} ${page ? sql`and s.id > ${page.after}` : sql``}
      ${
        username === undefined
          ? sql``
          : sql`and (${namesUser(sql`s.layers`, username)} or exists (
        select from schedule_history h
        where h.organization_id = s.organization_id and h.schedule_id = s.id and h.replaced_at > ${from}
          and ${namesUser(sql`h.layers`, username)}) or exists (
        select from schedule_overrides o
        join users u on u.organization_id = o.organization_id and u.id = o.user_id and u.username = ${username}
        where ${ofTime}))`
      }
    order by s.id ${page ? sql`limit ${page.limit}` : sql``}`.execute(db);
  return rows;
}

/** Turns of several users are arrays, whose items the comparison looks at. */
const namesUser = (layers: RawBuilder<unknown>, username: string) => sql`
  jsonb_path_exists(${layers}, '$[*].users[*] ? (@ == $user)', jsonb_build_object('user', ${username}::text))`;

/** Lists the schedules of a project that fall back to the list, by its folded name. */
export async function listSchedulesWithFallback(
  db: Db,
  organizationId: number,
  projectId: number,
  listKey: string,
): Promise<{ id: number; slug: string }[]> {
  const { rows } = await sql<{ id: number; slug: string; fallback: string }>`
    select id, slug, fallback from schedules
    where organization_id = ${organizationId} and project_id = ${projectId} and fallback is not null
    order by id`.execute(db);
  return rows.filter(({ fallback }) => fold(fallback) === listKey);
}

/** Lists the notifications of a project that go to the schedule. */
export async function listNotificationsUsingSchedule(
  db: Db,
  organizationId: number,
  projectId: number,
  slug: string,
): Promise<string[]> {
  const { rows } = await sql<{ path: string }>`
    select concat_ws('/', p.slug, a.slug, e.slug, n.name) as path
    ${usingSchedule(organizationId, projectId, slug)}
    order by path`.execute(db);
  return rows.map(({ path }) => path);
}

/** Lists the events of a project whose notifications or steps go to the schedule. */
export async function listEventsUsingSchedule(
  db: Db,
  organizationId: number,
  projectId: number,
  slug: string,
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select distinct e.id ${usingSchedule(organizationId, projectId, slug)}`.execute(db);
  return rows.map(({ id }) => id);
}

const usingSchedule = (organizationId: number, projectId: number, slug: string) => sql`
  from notifications n
  join events e on e.organization_id = n.organization_id and e.id = n.event_id
  join applications a on a.organization_id = e.organization_id and a.id = e.application_id
  join projects p on p.organization_id = a.organization_id and p.id = a.project_id
  where n.organization_id = ${organizationId} and a.project_id = ${projectId} and (
    n.recipients ->> 'schedule' = ${slug} or exists (
      select from jsonb_array_elements(coalesce(n.steps, '[]')) step
      where step -> 'recipients' ->> 'schedule' = ${slug}))`;

export async function countSchedules(db: Db, organizationId: number, projectId: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from schedules
    where organization_id = ${organizationId} and project_id = ${projectId}`.execute(db);
  return rows[0]!.count;
}
