import { sql } from 'kysely';
import type { PageRequest } from '../connection/page.ts';
import type { Db } from '../connection/pool.ts';
import type { PathIds } from './organizations.ts';

export async function listApplications(db: Db, organizationId: number, projectId: number, page: PageRequest) {
  return db
    .selectFrom('applications')
    .select(['id', 'slug', 'name'])
    .where('organization_id', '=', organizationId)
    .where('project_id', '=', projectId)
    .where('id', '>', page.after)
    .orderBy('id')
    .limit(page.limit)
    .execute();
}

export async function listAllApplications(db: Db, organizationId: number, within?: PathIds) {
  return db
    .selectFrom('applications')
    .select(['id', 'project_id', 'slug', 'name'])
    .where('organization_id', '=', organizationId)
    .$if(within !== undefined, query => query.where('id', '=', within?.application ?? 0))
    .orderBy('id')
    .execute();
}

export async function findApplication(db: Db, organizationId: number, id: number) {
  return db
    .selectFrom('applications')
    .select(['id', 'slug', 'name', 'paused_at', 'paused_reason', 'created_at'])
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst();
}

export async function createApplication(
  db: Db,
  organizationId: number,
  projectId: number,
  fields: { slug: string; name: string },
): Promise<number> {
  const row = await db
    .insertInto('applications')
    .values({ organization_id: organizationId, project_id: projectId, ...fields })
    .returning('id')
    .executeTakeFirstOrThrow();
  return row.id;
}

export async function updateApplication(db: Db, organizationId: number, id: number, fields: { name: string }) {
  await db
    .updateTable('applications')
    .set({ ...fields, updated_at: sql`now()` })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .execute();
}

export async function deleteApplication(db: Db, organizationId: number, id: number): Promise<void> {
  await db.deleteFrom('applications').where('organization_id', '=', organizationId).where('id', '=', id).execute();
}
