import { sql } from 'kysely';
import type { PageRequest } from '../connection/page.ts';
import type { Db } from '../connection/pool.ts';
import type { PathIds } from './organizations.ts';

export async function listProjects(db: Db, organizationId: number, page: PageRequest) {
  return db
    .selectFrom('projects')
    .select(['id', 'slug', 'name'])
    .where('organization_id', '=', organizationId)
    .where('id', '>', page.after)
    .orderBy('id')
    .limit(page.limit)
    .execute();
}

export async function createProject(db: Db, organizationId: number, fields: { slug: string; name: string }) {
  const row = await db
    .insertInto('projects')
    .values({ organization_id: organizationId, ...fields })
    .returning('id')
    .executeTakeFirstOrThrow();
  return row.id;
}

export async function updateProject(db: Db, organizationId: number, id: number, fields: { name: string }) {
  await db
    .updateTable('projects')
    .set({ ...fields, updated_at: sql`now()` })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .execute();
}

export async function deleteProject(db: Db, organizationId: number, id: number): Promise<void> {
  await db.deleteFrom('projects').where('organization_id', '=', organizationId).where('id', '=', id).execute();
}

export async function listAllProjects(db: Db, organizationId: number, within?: PathIds) {
  return db
    .selectFrom('projects')
    .select(['id', 'slug', 'name'])
    .where('organization_id', '=', organizationId)
    .$if(within !== undefined, query => query.where('id', '=', within?.project ?? 0))
    .orderBy('id')
    .execute();
}

export async function findProject(db: Db, organizationId: number, id: number) {
  return db
    .selectFrom('projects')
    .select(['id', 'slug', 'name'])
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst();
}
