import { sql } from 'kysely';
import type { Db } from '../connection/pool.ts';

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

/** Counts the promotional events of organizations whose mail leaves Belfry: the sandbox sends nothing. */
export async function countPromotionalEventsAcrossTenants(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from events e
    join categories c on c.organization_id = e.organization_id and c.id = e.category_id
    where c.kind = 'promotional' and exists (select from channels
      where organization_id = e.organization_id and type = 'email' and enabled
        and providers @? '$[*] ? (@.use != "sandbox")')`.execute(db);
  return rows[0]!.count;
}

export async function countTrackedCategoriesAcrossTenants(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from categories where track and kind <> 'required'`.execute(db);
  return rows[0]!.count;
}
