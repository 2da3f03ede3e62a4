import { sql } from 'kysely';
import type { Within } from './organizations.ts';
import type { PageRequest } from './page.ts';
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
export async function listAllLayouts(db: Db, organizationId: number, within?: Within): Promise<Layout[]> {
  return db
    .selectFrom('layouts')
    .select(['id', 'project_id', 'name', 'name_key', 'body'])
    .where('organization_id', '=', organizationId)
    .$if(within !== undefined, query =>
      query.where(where => where.or([where('project_id', 'is', null), where('project_id', '=', within?.project ?? 0)])),
    )
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

/** The organization's own, or with a project those of the project. */
export async function listLayouts(
  db: Db,
  organizationId: number,
  projectId: number | null,
  page: PageRequest,
): Promise<LayoutDetails[]> {
  const { rows } = await sql<LayoutDetails>`
    ${details(projectId)} and l.organization_id = ${organizationId} and l.id > ${page.after}
    order by l.id limit ${page.limit}`.execute(db);
  return rows;
}

export async function findLayout(
  db: Db,
  organizationId: number,
  projectId: number | null,
  id: number,
): Promise<LayoutDetails | undefined> {
  const { rows } = await sql<LayoutDetails>`
    ${details(projectId)} and l.organization_id = ${organizationId} and l.id = ${id}`.execute(db);
  return rows[0];
}

/** False when there is one of that name beside it. */
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

/** Of what the layout is now; `by` is the name of whoever wrote it. */
export async function addLayoutVersion(
  db: Db,
  organizationId: number,
  id: number,
  body: string,
  by: string,
): Promise<void> {
  await sql`
    insert into layout_versions (organization_id, layout_id, version, body, created_by)
    select ${organizationId}, ${id}, coalesce(max(version), 0) + 1, ${body}, ${by}
    from layout_versions where organization_id = ${organizationId} and layout_id = ${id}`.execute(db);
}

export interface LayoutVersion {
  version: number;
  created_at: Date;
  created_by: string | null;
}

/** The newest first; `after` is the version that the next ones are older than, 0 for the beginning. */
export async function listLayoutVersions(
  db: Db,
  organizationId: number,
  id: number,
  { after, limit }: PageRequest,
): Promise<LayoutVersion[]> {
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

export async function findLayoutVersion(
  db: Db,
  organizationId: number,
  id: number,
  version: number,
): Promise<(LayoutVersion & { body: string }) | undefined> {
  return db
    .selectFrom('layout_versions')
    .select(['version', 'created_at', 'created_by', 'body'])
    .where('organization_id', '=', organizationId)
    .where('layout_id', '=', id)
    .where('version', '=', version)
    .executeTakeFirst();
}
