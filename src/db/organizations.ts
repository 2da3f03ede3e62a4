import { sql } from 'kysely';
import type { Named } from './places.ts';
import type { Db } from './pool.ts';

export async function listOrganizationsAcrossTenants(db: Db): Promise<Named[]> {
  return db.selectFrom('organizations').select(['id', 'slug', 'name']).orderBy('id').execute();
}

export async function createOrganizationAcrossTenants(db: Db, fields: { slug: string; name: string }): Promise<number> {
  const row = await db.insertInto('organizations').values(fields).returning('id').executeTakeFirstOrThrow();
  return row.id;
}

export async function updateOrganization(db: Db, organizationId: number, fields: { name: string }): Promise<void> {
  await db
    .updateTable('organizations')
    .set({ ...fields, updated_at: sql`now()` })
    .where('id', '=', organizationId)
    .execute();
}
