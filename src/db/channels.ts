import type { PageRequest } from './page.ts';
import type { Named } from './places.ts';
import type { Db } from './pool.ts';

export interface Channel extends Named {
  type: string;
  enabled: boolean;
  project_id: number | null;
}

/** The organization's own channels, or with a project those of the project. */
export async function listChannels(
  db: Db,
  organizationId: number,
  projectId: number | null,
  page: PageRequest,
): Promise<Channel[]> {
  return db
    .selectFrom('channels')
    .select(['id', 'slug', 'name', 'type', 'enabled', 'project_id'])
    .where('organization_id', '=', organizationId)
    .where('project_id', projectId === null ? 'is' : '=', projectId)
    .where('id', '>', page.after)
    .orderBy('id')
    .limit(page.limit)
    .execute();
}

/** Everything that the events of any project may use, the organization's and the projects'. */
export async function listAllChannels(db: Db, organizationId: number): Promise<Channel[]> {
  return db
    .selectFrom('channels')
    .select(['id', 'slug', 'name', 'type', 'enabled', 'project_id'])
    .where('organization_id', '=', organizationId)
    .orderBy('id')
    .execute();
}
