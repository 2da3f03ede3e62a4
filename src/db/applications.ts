import type { PageRequest } from './page.ts';
import type { Named } from './places.ts';
import type { Db } from './pool.ts';

export async function listApplications(
  db: Db,
  organizationId: number,
  projectId: number,
  page: PageRequest,
): Promise<Named[]> {
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
