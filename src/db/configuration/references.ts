/** What blocks a deletion: notifications that reference the object, and objects below it that would be deleted too. */
import { sql } from 'kysely';
import type { Json } from '../../core/json.ts';
import type { Db } from '../connection/pool.ts';
import type { PathIds } from './organizations.ts';

export interface ReferencingNotification {
  project_id: number;
  /** shop/web/order-paid/receipt */
  path: string;
  channels: string[];
  /** Of the current message version. */
  content: Json;
}

function selectNotifications(organizationId: number, projectId: number | null) {
  return sql`
    select a.project_id, concat_ws('/', p.slug, a.slug, e.slug, n.name) as path, n.channels, m.content
    from notifications n
    join events e on e.organization_id = n.organization_id and e.id = n.event_id
    join applications a on a.organization_id = e.organization_id and a.id = e.application_id
    join projects p on p.organization_id = a.organization_id and p.id = a.project_id
    left join lateral (
      select content from messages m
      where m.organization_id = n.organization_id and m.notification_id = n.id
      order by version desc limit 1
    ) m on true
    where n.organization_id = ${organizationId} and (${projectId}::bigint is null or a.project_id = ${projectId})`;
}

/** Returns the notifications of a project, or of all projects, that name one of these channel slugs or types. */
export async function listNotificationsNamingChannels(
  db: Db,
  organizationId: number,
  projectId: number | null,
  names: string[],
): Promise<ReferencingNotification[]> {
  const { rows } = await sql<ReferencingNotification>`
    ${selectNotifications(organizationId, projectId)}
      and (n.channels && ${names}::text[] or m.content -> 'overrides' ?| ${names}::text[])
    order by path`.execute(db);
  return rows;
}

/** Returns the notifications of a project, or of all projects, whose message names a layout. */
export async function listNotificationsNamingLayouts(db: Db, organizationId: number, projectId: number | null) {
  const { rows } = await sql<ReferencingNotification>`
    ${selectNotifications(organizationId, projectId)} and m.content -> 'message' ? 'layout' order by path`.execute(db);
  return rows;
}

export type Counts = Record<string, number>;

/** Counts the objects below the last object of the path, or below the organization; includes API keys limited to it. */
export async function countBelow(
  db: Db,
  organizationId: number,
  { project, application, event }: PathIds,
): Promise<Counts> {
  const here = (table: string, alias: string, condition = sql``) =>
    sql`(select count(*)::int from ${sql.table(table)} ${sql.raw(alias)}
      where ${sql.raw(alias)}.organization_id = ${organizationId} ${condition})`;
  const inProject = project === undefined ? sql`` : sql`and project_id = ${project}`;
  const inApplications = sql`and application_id in (
    select id from applications where organization_id = ${organizationId} ${inProject})`;
  const inEvents = (events: ReturnType<typeof sql>) => sql`and event_id in (
    select id from events where organization_id = ${organizationId} ${events})`;
  const columns =
    event !== undefined
      ? { notifications: here('notifications', 'n', sql`and event_id = ${event}`) }
      : application !== undefined
        ? {
            events: here('events', 'e', sql`and application_id = ${application}`),
            notifications: here('notifications', 'n', inEvents(sql`and application_id = ${application}`)),
            keys: here('keys', 'k', sql`and application_id = ${application}`),
            registrations: here('registrations', 'r', sql`and application_id = ${application}`),
          }
        : {
            ...(project === undefined && { projects: here('projects', 'p'), users: here('users', 'u') }),
            applications: here('applications', 'a', inProject),
            events: here('events', 'e', inApplications),
            notifications: here('notifications', 'n', inEvents(inApplications)),
            channels: here('channels', 'c', inProject),
            layouts: here('layouts', 'l', inProject),
            distribution_lists: here('distribution_lists', 'd', inProject),
            keys: here('keys', 'k', inProject),
            registrations: here('registrations', 'r', inApplications),
          };
  const pairs = Object.entries(columns).map(([name, count]) => sql`${sql.lit(name)}, ${count}`);
  const { rows } = await sql<{ counts: Counts }>`select jsonb_build_object(${sql.join(pairs)}) as counts`.execute(db);
  return Object.fromEntries(Object.entries(rows[0]!.counts).filter(([, count]) => count > 0));
}
