import { type ExpressionBuilder, sql } from 'kysely';
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
