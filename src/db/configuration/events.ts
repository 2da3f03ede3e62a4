import { sql } from 'kysely';
import { generalSlug } from '../../core/decision/preferences.ts';
import type { JsonObject } from '../../core/json.ts';
import type { PageRequest } from '../connection/page.ts';
import type { Db } from '../connection/pool.ts';
import { categoryId } from './rows.ts';

export interface OrganizationEvent {
  id: number;
  /** prj/app/evt */
  path: string;
  name: string;
  active: boolean;
  /** Slug. */
  category: string;
  /** Only if requested by `withSchemas`. */
  context_schema?: JsonObject | null;
}

export interface EventFilter {
  /** Slug. */
  category?: string;
  withSchemas?: boolean;
}

/** Returns the events of all applications in order of creation, optionally of one category. */
export async function listOrganizationEvents(
  db: Db,
  organizationId: number,
  { category, withSchemas = false }: EventFilter,
  page: PageRequest,
): Promise<OrganizationEvent[]> {
  const ofCategory =
    category === undefined
      ? sql`true`
      : category === generalSlug
        ? sql`(e.category_id is null or c.slug = ${generalSlug})`
        : sql`e.category_id = ${categoryId(organizationId, category)}`;
  const { rows } = await sql<OrganizationEvent>`
    select e.id, concat_ws('/', p.slug, a.slug, e.slug) as path, e.name, e.active,
      coalesce(c.slug, ${generalSlug}) as category ${withSchemas ? sql`, e.context_schema` : sql``}
    from events e
    join applications a on a.organization_id = e.organization_id and a.id = e.application_id
    join projects p on p.organization_id = a.organization_id and p.id = a.project_id
    left join categories c on c.organization_id = e.organization_id and c.id = e.category_id
    where e.organization_id = ${organizationId} and e.id > ${page.after} and ${ofCategory}
    order by e.id limit ${page.limit}`.execute(db);
  return rows;
}

export async function findContextSchema(db: Db, organizationId: number, id: number): Promise<JsonObject | null> {
  const row = await db
    .selectFrom('events')
    .select(sql<JsonObject | null>`context_schema`.as('context_schema'))
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst();
  return row?.context_schema ?? null;
}
