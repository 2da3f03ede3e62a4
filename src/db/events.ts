import type { PageRequest } from './page.ts';
import type { Named } from './places.ts';
import type { Db } from './pool.ts';

export async function listEvents(
  db: Db,
  organizationId: number,
  applicationId: number,
  page: PageRequest,
): Promise<Named[]> {
  return db
    .selectFrom('events')
    .select(['id', 'slug', 'name'])
    .where('organization_id', '=', organizationId)
    .where('application_id', '=', applicationId)
    .where('id', '>', page.after)
    .orderBy('id')
    .limit(page.limit)
    .execute();
}
