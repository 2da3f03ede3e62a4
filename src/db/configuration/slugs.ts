import { sql } from 'kysely';
import type { Db } from '../connection/pool.ts';
import type { PathIds } from './organizations.ts';

/** Enough to find the one that was meant. */
const maxSlugs = 1_000;

/** Lists the slugs of an organization's projects, of a project's applications, or of an application's events. */
export async function listSlugs(
  db: Db,
  organizationId: number,
  { project, application }: Pick<PathIds, 'project' | 'application'>,
): Promise<string[]> {
  const table = sql.table(application ? 'events' : project ? 'applications' : 'projects');
  const parent = application
    ? sql`and application_id = ${application}`
    : project
      ? sql`and project_id = ${project}`
      : sql``;
  const { rows } = await sql<{ slug: string }>`
    select slug from ${table} where organization_id = ${organizationId} ${parent} limit ${maxSlugs}`.execute(db);
  return rows.map(({ slug }) => slug);
}
