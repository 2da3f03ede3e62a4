import { sql } from 'kysely';
import type { PageRequest } from '../connection/page.ts';
import type { Db } from '../connection/pool.ts';

export interface LayoutDetails {
  id: number;
  name: string;
  body: string;
  version: number;
  updated_at: Date;
}

const details = (projectId: number | null) => sql`
  select l.id, l.name, l.body, l.updated_at, coalesce((
    select max(v.version) from layout_versions v
    where v.organization_id = l.organization_id and v.layout_id = l.id), 0) as version
  from layouts l
  where l.project_id is not distinct from ${projectId}::bigint`;

/** Returns the layouts of a project, or the organization's own without one. */
export async function listLayouts(db: Db, organizationId: number, projectId: number | null, page: PageRequest) {
  const { rows } = await sql<LayoutDetails>`
    ${details(projectId)} and l.organization_id = ${organizationId} and l.id > ${page.after}
    order by l.id limit ${page.limit}`.execute(db);
  return rows;
}

export async function findLayout(db: Db, organizationId: number, projectId: number | null, id: number) {
  const { rows } = await sql<LayoutDetails>`
    ${details(projectId)} and l.organization_id = ${organizationId} and l.id = ${id}`.execute(db);
  return rows[0];
}
