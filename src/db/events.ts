import { type ExpressionBuilder, sql } from 'kysely';
import { generalSlug } from '../core/preferences.ts';
import type { Named, Within } from './organizations.ts';
import type { PageRequest } from './page.ts';
import type { Db } from './pool.ts';
import type { Tables } from './types.ts';

function categorySlug(eb: ExpressionBuilder<Tables, 'events'>) {
  return eb
    .selectFrom('categories as c')
    .whereRef('c.organization_id', '=', 'events.organization_id')
    .whereRef('c.id', '=', 'events.category_id')
    .select('c.slug')
    .as('category');
}

function categoryId(organizationId: number, slug: string | null) {
  return sql<number | null>`(select id from categories where organization_id = ${organizationId} and slug = ${slug})`;
}

export async function listEvents(
  db: Db,
  organizationId: number,
  applicationId: number,
  page: PageRequest,
): Promise<Named[]> {
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
}

/** Of every application, in the order in which they were created; of one category where it is given. */
export async function listOrganizationEvents(
  db: Db,
  organizationId: number,
  category: string | undefined,
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
      coalesce(c.slug, ${generalSlug}) as category
    from events e
    join applications a on a.organization_id = e.organization_id and a.id = e.application_id
    join projects p on p.organization_id = a.organization_id and p.id = a.project_id
    left join categories c on c.organization_id = e.organization_id and c.id = e.category_id
    where e.organization_id = ${organizationId} and e.id > ${page.after} and ${ofCategory}
    order by e.id limit ${page.limit}`.execute(db);
  return rows;
}

export async function listAllEvents(
  db: Db,
  organizationId: number,
  within?: Within,
): Promise<(Named & { application_id: number; active: boolean; category: string | null })[]> {
  return db
    .selectFrom('events')
    .select(['id', 'application_id', 'slug', 'name', 'active'])
    .select(categorySlug)
    .where('organization_id', '=', organizationId)
    .$if(within !== undefined, query => query.where('id', '=', within?.event ?? 0))
    .orderBy('id')
    .execute();
}

export interface EventDetails extends Named {
  active: boolean;
  /** Slug; null: general. */
  category: string | null;
  paused_at: Date | null;
  created_at: Date;
}

export async function findEvent(db: Db, organizationId: number, id: number): Promise<EventDetails | undefined> {
  return db
    .selectFrom('events')
    .select(['id', 'slug', 'name', 'active', 'paused_at', 'created_at'])
    .select(categorySlug)
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst();
}

export async function createEvent(
  db: Db,
  organizationId: number,
  applicationId: number,
  { category, ...fields }: { slug: string; name: string; active: boolean; category: string | null },
): Promise<number> {
  const row = await db
    .insertInto('events')
    .values({
      organization_id: organizationId,
      application_id: applicationId,
      ...fields,
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
  { category, ...fields }: { name: string; active: boolean; category: string | null },
): Promise<void> {
  await db
    .updateTable('events')
    .set({ ...fields, category_id: categoryId(organizationId, category), updated_at: sql`now()` })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .execute();
}

export async function deleteEvent(db: Db, organizationId: number, id: number): Promise<void> {
  await db.deleteFrom('events').where('organization_id', '=', organizationId).where('id', '=', id).execute();
}

/** Pausing keeps messages: what is paused has no due time until it is resumed. Nothing is dropped. */
export async function setEventPaused(db: Db, organizationId: number, id: number, paused: boolean): Promise<void> {
  await db
    .updateTable('events')
    .set({ paused_at: paused ? sql`coalesce(paused_at, now())` : null, updated_at: sql`now()` })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .execute();
}
