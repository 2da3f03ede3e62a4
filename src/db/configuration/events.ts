import { type ExpressionBuilder, sql } from 'kysely';
import { generalSlug } from '../../core/decision/preferences.ts';
import type { JsonObject } from '../../core/json.ts';
import type { PageRequest } from '../connection/page.ts';
import type { Db } from '../connection/pool.ts';
import type { Tables } from '../connection/types.ts';
import type { PathIds } from './organizations.ts';

function categorySlug(eb: ExpressionBuilder<Tables, 'events'>) {
  return eb
    .selectFrom('categories as c')
    .whereRef('c.organization_id', '=', 'events.organization_id')
    .whereRef('c.id', '=', 'events.category_id')
    .select('c.slug')
    .as('category');
}

/** Narrows the type of the jsonb column. */
const contextSchema = sql<JsonObject | null>`events.context_schema`.as('context_schema');

function categoryId(organizationId: number, slug: string | null) {
  return sql<number | null>`(select id from categories where organization_id = ${organizationId} and slug = ${slug})`;
}

export async function listEvents(db: Db, organizationId: number, applicationId: number, page: PageRequest) {
  return db
    .selectFrom('events')
    .select(['id', 'slug', 'name'])
    .where('organization_id', '=', organizationId)
    .where('application_id', '=', applicationId)
    .where('id', '>', page.after)
    .orderBy('id')
    .limit(page.limit)
    .execute();
}

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

export async function listAllEvents(db: Db, organizationId: number, within?: PathIds) {
  return db
    .selectFrom('events')
    .select(['id', 'application_id', 'slug', 'name', 'active'])
    .select(contextSchema)
    .select(categorySlug)
    .where('organization_id', '=', organizationId)
    .$if(within !== undefined, query => query.where('id', '=', within?.event ?? 0))
    .orderBy('id')
    .execute();
}

interface EventFields {
  active: boolean;
  /** Slug; null: general. */
  category: string | null;
  /** Null: any context is accepted. */
  context_schema: JsonObject | null;
}

export async function findEvent(db: Db, organizationId: number, id: number) {
  return db
    .selectFrom('events')
    .select(['id', 'slug', 'name', 'active', 'paused_at', 'paused_reason', 'created_at'])
    .select(contextSchema)
    .select(categorySlug)
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** An undefined schema is left unchanged. */
type OptionalSchema = Omit<EventFields, 'context_schema'> & { context_schema?: JsonObject | null };

function schemaColumn(schema: JsonObject | null | undefined): { context_schema?: string | null } {
  return schema === undefined ? {} : { context_schema: schema && JSON.stringify(schema) };
}

export async function findContextSchema(db: Db, organizationId: number, id: number): Promise<JsonObject | null> {
  const row = await db
    .selectFrom('events')
    .select(contextSchema)
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst();
  return row?.context_schema ?? null;
}

export async function createEvent(
  db: Db,
  organizationId: number,
  applicationId: number,
  { category, context_schema, ...fields }: { slug: string; name: string } & OptionalSchema,
): Promise<number> {
  const row = await db
    .insertInto('events')
    .values({
      organization_id: organizationId,
      application_id: applicationId,
      ...fields,
      ...schemaColumn(context_schema),
      category_id: categoryId(organizationId, category),
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return row.id;
}

export async function updateEvent(
  db: Db,
  organizationId: number,
  id: number,
  { category, context_schema, ...fields }: { name: string } & OptionalSchema,
): Promise<void> {
  await db
    .updateTable('events')
    .set({
      ...fields,
      ...schemaColumn(context_schema),
      category_id: categoryId(organizationId, category),
      updated_at: sql`now()`,
    })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .execute();
}

export async function deleteEvent(db: Db, organizationId: number, id: number): Promise<void> {
  await db.deleteFrom('events').where('organization_id', '=', organizationId).where('id', '=', id).execute();
}
