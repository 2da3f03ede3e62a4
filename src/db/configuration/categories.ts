import { sql } from 'kysely';
import type { Category, CategoryKind } from '../../core/decision/preferences.ts';
import type { PageRequest } from '../connection/page.ts';
import type { Db } from '../connection/pool.ts';

export interface CategoryRow extends Category {
  id: number;
}

const columns = ['id', 'slug', 'name', 'description', 'kind', 'channel_defaults', 'channels'] as const;

function select(db: Db, organizationId: number) {
  return db
    .selectFrom('categories')
    .select([...columns, 'default_on', 'quiet_hours', 'track', 'locales'])
    .where('organization_id', '=', organizationId);
}

type Selected = Awaited<ReturnType<ReturnType<typeof select>['executeTakeFirstOrThrow']>>;

function toCategory({ default_on, ...row }: Selected): CategoryRow {
  return {
    ...row,
    kind: row.kind as CategoryKind,
    default: default_on,
    channel_defaults: row.channel_defaults as Category['channel_defaults'],
    quiet_hours: row.quiet_hours as Category['quiet_hours'],
    locales: row.locales as Category['locales'],
  };
}

function toRow({ default: default_on, channel_defaults, locales, ...fields }: Category) {
  return {
    ...fields,
    default_on,
    channel_defaults: JSON.stringify(channel_defaults),
    locales: JSON.stringify(locales),
  };
}

/** Returns all categories, in order of creation. */
export async function listAllCategories(db: Db, organizationId: number): Promise<CategoryRow[]> {
  return (await select(db, organizationId).orderBy('id').execute()).map(toCategory);
}

export async function listCategories(db: Db, organizationId: number, page: PageRequest): Promise<CategoryRow[]> {
  const query = select(db, organizationId).where('id', '>', page.after).orderBy('id').limit(page.limit);
  return (await query.execute()).map(toCategory);
}

export async function findCategory(db: Db, organizationId: number, slug: string): Promise<CategoryRow | undefined> {
  const row = await select(db, organizationId).where('slug', '=', slug).executeTakeFirst();
  return row && toCategory(row);
}

export async function createCategory(db: Db, organizationId: number, category: Category): Promise<number> {
  const row = await db
    .insertInto('categories')
    .values({ organization_id: organizationId, ...toRow(category) })
    .returning('id')
    .executeTakeFirstOrThrow();
  return row.id;
}

export async function updateCategory(db: Db, organizationId: number, id: number, category: Category): Promise<void> {
  await db
    .updateTable('categories')
    .set({ ...toRow(category), updated_at: sql`now()` })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .execute();
}

export async function deleteCategory(db: Db, organizationId: number, id: number): Promise<void> {
  await db.deleteFrom('categories').where('organization_id', '=', organizationId).where('id', '=', id).execute();
}

/** Returns the paths of up to 100 events in the category. */
export async function listCategoryUses(db: Db, organizationId: number, id: number): Promise<string[]> {
  const { rows } = await sql<{ path: string }>`
    select concat_ws('/', p.slug, a.slug, e.slug) as path
    from events e
    join applications a on a.organization_id = e.organization_id and a.id = e.application_id
    join projects p on p.organization_id = a.organization_id and p.id = a.project_id
    where e.organization_id = ${organizationId} and e.category_id = ${id}
    order by path limit 100`.execute(db);
  return rows.map(({ path }) => path);
}

/** Returns whether any event has no category and so belongs to the general one. */
export async function hasUncategorizedEvents(db: Db, organizationId: number): Promise<boolean> {
  const row = await db
    .selectFrom('events')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('category_id', 'is', null)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Counts promotional events of organizations that send mail: a sandbox does not. */
export async function countPromotionalEventsAcrossTenants(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from events e
    join categories c on c.organization_id = e.organization_id and c.id = e.category_id
    where c.kind = 'promotional' and exists (
      select from channels h, jsonb_array_elements(h.providers) as provider
      where h.organization_id = e.organization_id and h.type = 'email' and provider ->> 'use' is distinct from 'sandbox')`.execute(
    db,
  );
  return rows[0]!.count;
}

export async function countTrackedCategoriesAcrossTenants(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from categories where track and kind <> 'required'`.execute(db);
  return rows[0]!.count;
}
