import { sql } from 'kysely';
import type { PageRequest } from './page.ts';
import type { Db } from './pool.ts';

export interface DistributionList {
  id: number;
  name: string;
}

export async function listDistributionLists(
  db: Db,
  organizationId: number,
  projectId: number,
  page: PageRequest,
): Promise<DistributionList[]> {
  return db
    .selectFrom('distribution_lists')
    .select(['id', 'name'])
    .where('organization_id', '=', organizationId)
    .where('project_id', '=', projectId)
    .where('id', '>', page.after)
    .orderBy('id')
    .limit(page.limit)
    .execute();
}

export async function findDistributionList(
  db: Db,
  organizationId: number,
  projectId: number,
  id: number,
): Promise<DistributionList | undefined> {
  return db
    .selectFrom('distribution_lists')
    .select(['id', 'name'])
    .where('organization_id', '=', organizationId)
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Undefined when the project has a list of this name. */
export async function createDistributionList(
  db: Db,
  organizationId: number,
  projectId: number,
  list: { name: string; name_key: string },
): Promise<DistributionList | undefined> {
  return db
    .insertInto('distribution_lists')
    .values({ organization_id: organizationId, project_id: projectId, ...list })
    .onConflict(conflict => conflict.columns(['organization_id', 'project_id', 'name_key']).doNothing())
    .returning(['id', 'name'])
    .executeTakeFirst();
}

export async function listAllDistributionLists(
  db: Db,
  organizationId: number,
): Promise<(DistributionList & { project_id: number })[]> {
  return db
    .selectFrom('distribution_lists')
    .select(['id', 'project_id', 'name'])
    .where('organization_id', '=', organizationId)
    .orderBy('id')
    .execute();
}

/** Creates the list, or gives the one of this name, in whatever letter case, exactly this one. */
export async function putDistributionList(
  db: Db,
  organizationId: number,
  projectId: number,
  list: { name: string; name_key: string },
): Promise<number> {
  const row = await db
    .insertInto('distribution_lists')
    .values({ organization_id: organizationId, project_id: projectId, ...list })
    .onConflict(conflict =>
      conflict
        .columns(['organization_id', 'project_id', 'name_key'])
        .doUpdateSet({ name: list.name, updated_at: sql`now()` }),
    )
    .returning('id')
    .executeTakeFirstOrThrow();
  return row.id;
}

export async function deleteDistributionList(db: Db, organizationId: number, id: number): Promise<void> {
  await db
    .deleteFrom('distribution_lists')
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .execute();
}
