import { sql } from 'kysely';
import type { Db } from './pool.ts';

export interface LayoutFields {
  name: string;
  /** The name, folded. */
  name_key: string;
  body: string;
}

export interface Layout extends LayoutFields {
  id: number;
  /** Null for a layout of the organization itself. */
  project_id: number | null;
}

/** The organization's and the projects'. */
export async function listAllLayouts(db: Db, organizationId: number): Promise<Layout[]> {
  return db
    .selectFrom('layouts')
    .select(['id', 'project_id', 'name', 'name_key', 'body'])
    .where('organization_id', '=', organizationId)
    .orderBy('id')
    .execute();
}

export async function createLayout(
  db: Db,
  organizationId: number,
  projectId: number | null,
  fields: LayoutFields,
): Promise<number> {
  const row = await db
    .insertInto('layouts')
    .values({ organization_id: organizationId, project_id: projectId, ...fields })
    .returning('id')
    .executeTakeFirstOrThrow();
  return row.id;
}

export async function updateLayout(db: Db, organizationId: number, id: number, fields: LayoutFields): Promise<void> {
  await db
    .updateTable('layouts')
    .set({ ...fields, updated_at: sql`now()` })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .execute();
}

export async function deleteLayout(db: Db, organizationId: number, id: number): Promise<void> {
  await db.deleteFrom('layouts').where('organization_id', '=', organizationId).where('id', '=', id).execute();
}
