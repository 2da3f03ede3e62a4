/** What blocks a deletion: notifications that reference the object, and objects below it that would be deleted too. */
import { type RawBuilder, sql } from 'kysely';
import {
  type NounName,
  nouns,
  type PathNoun,
  parentOf,
  pathNouns,
  sectionOf,
} from '../../core/configuration/document.ts';
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

export async function hasNotificationsNamingChannel(db: Db, organizationId: number, name: string): Promise<boolean> {
  const { rows } = await sql`
    select from notifications where organization_id = ${organizationId} and channels @> array[${name}::text] limit 1`.execute(
    db,
  );
  return rows.length > 0;
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
      and (n.channels && ${names}::text[] or m.content -> 'overrides' ?| ${names}::text[]
        or m.content -> 'variant' -> 'overrides' ?| ${names}::text[])
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

/**
 * Counts the objects below the last object of the path, or below the organization; includes API keys limited to it. What
 * only an organization has, such as categories, does not count.
 */
export async function countBelow(db: Db, organizationId: number, path: PathIds): Promise<Counts> {
  const last = pathNouns.findLast(part => path[part] !== undefined);
  /** Returns the condition for rows whose column names an object on or below the path; undefined: there are none. */
  const isBelow = (above: PathNoun | undefined): RawBuilder<unknown> | undefined => {
    if (!last) return sql`true`;
    if (!above) return undefined;
    const column = sql.ref(`${above}_id`);
    if (above === last) return sql`${column} = ${path[last]}`;
    const parent = isBelow(parentOf(above).parent);
    return (
      parent &&
      sql`${column} in (
        select id from ${sql.table(sectionOf(above)!)} where organization_id = ${organizationId} and ${parent})`
    );
  };
  const configured = (Object.keys(nouns) as NounName[])
    .map(noun => ({ noun, above: parentOf(noun).parent }))
    .filter(({ noun, above }) => noun === 'project' || above);
  const tables: [name: string, above: PathNoun | undefined][] = [
    ...configured.map(({ noun, above }) => [sectionOf(noun)!, above] as [string, typeof above]),
    ['users', undefined],
    ['distribution_lists', 'project'],
    ['keys', last === 'application' ? last : 'project'],
    ['registrations', 'application'],
  ];
  const pairs = tables.flatMap(([name, above]) => {
    const condition = isBelow(above);
    if (!condition) return [];
    const from = sql`from ${sql.table(name)} where organization_id = ${organizationId} and ${condition}`;
    return [sql`${sql.lit(name)}, (select count(*)::int ${from})`];
  });
  const { rows } = await sql<{ counts: Counts }>`select jsonb_build_object(${sql.join(pairs)}) as counts`.execute(db);
  return Object.fromEntries(Object.entries(rows[0]!.counts).filter(([, count]) => count > 0));
}
