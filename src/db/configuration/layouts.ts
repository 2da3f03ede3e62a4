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

/** Renames a layout. Returns false if another one has the name. */
export async function renameLayout(
  db: Db,
  organizationId: number,
  id: number,
  { name, name_key }: { name: string; name_key: string },
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update layouts l set name = ${name}, name_key = ${name_key}, updated_at = now()
    where l.organization_id = ${organizationId} and l.id = ${id} and not exists (
      select from layouts twin
      where twin.organization_id = l.organization_id and twin.project_id is not distinct from l.project_id
        and twin.name_key = ${name_key} and twin.id <> l.id)`.execute(db);
  return Number(numAffectedRows) === 1;
}

/** Stores the body as a new version; `by` is the name of the author. */
export async function addLayoutVersion(db: Db, organizationId: number, id: number, body: string, by: string) {
  await sql`
    insert into layout_versions (organization_id, layout_id, version, body, created_by)
    select ${organizationId}, ${id}, coalesce(max(version), 0) + 1, ${body}, ${by}
    from layout_versions where organization_id = ${organizationId} and layout_id = ${id}`.execute(db);
}

/** Returns versions, newest first. `after` is the last version of the previous page; 0 starts at the newest. */
export async function listLayoutVersions(db: Db, organizationId: number, id: number, { after, limit }: PageRequest) {
  return db
    .selectFrom('layout_versions')
    .select(['version', 'created_at', 'created_by'])
    .where('organization_id', '=', organizationId)
    .where('layout_id', '=', id)
    .$if(after > 0, query => query.where('version', '<', after))
    .orderBy('version', 'desc')
    .limit(limit)
    .execute();
}

export async function findLayoutVersion(db: Db, organizationId: number, id: number, version: number) {
  return db
    .selectFrom('layout_versions')
    .select(['version', 'created_at', 'created_by', 'body'])
    .where('organization_id', '=', organizationId)
    .where('layout_id', '=', id)
    .where('version', '=', version)
    .executeTakeFirst();
}
