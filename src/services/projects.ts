import { mergeEntry, refuseChanges, slugAdvice } from '../core/entries.ts';
import type { Place, Slugs } from '../db/organizations.ts';
import type { PageRequest } from '../db/page.ts';
import type { Db } from '../db/pool.ts';
import * as projects from '../db/projects.ts';
import type { Deps } from './deps.ts';
import {
  type Check,
  change,
  createdBy,
  type Deleted,
  type Deletion,
  deleteEntry,
  putEntry,
  requirePlace,
} from './entries.ts';

export interface Project {
  slug: string;
  name: string;
}

export async function listProjects({ db }: Deps, organizationId: number, page: PageRequest) {
  return projects.listProjects(db, organizationId, page);
}

export async function createProject(deps: Deps, { org }: Slugs, entry: Project): Promise<Project> {
  return change(deps, { org }, async trx => {
    const { organization } = await requirePlace(trx, { org });
    const id = createdBy(await putEntry(deps, trx, { org }, 'projects', entry), 'slug', entry);
    return read(trx, organization.id, id);
  });
}

export async function updateProject(
  deps: Deps,
  { org, prj }: Slugs,
  changes: { slug?: unknown; name?: string },
  check: Check<Project>,
): Promise<Project> {
  return change(deps, { org }, async trx => {
    const { organization, project } = await requirePlace(trx, { org, prj });
    const current = await read(trx, organization.id, project!.id);
    check(current);
    refuseChanges(current, changes, { slug: slugAdvice });
    await putEntry(deps, trx, { org }, 'projects', mergeEntry(current, changes) as Project);
    return read(trx, organization.id, project!.id);
  });
}

export async function deleteProject(
  deps: Deps,
  slugs: Slugs,
  deletion: Deletion,
  check: Check<Project>,
): Promise<Deleted> {
  const doomed = {
    noun: 'project' as const,
    read: (trx: Db, { organization, project }: Place) => read(trx, organization.id, project!.id),
    check,
    delete: (trx: Db, { organization, project }: Place) => projects.deleteProject(trx, organization.id, project!.id),
  };
  return deleteEntry(deps, slugs, doomed, deletion);
}

async function read(db: Db, organizationId: number, id: number): Promise<Project> {
  const { slug, name } = (await projects.findProject(db, organizationId, id))!;
  return { slug, name };
}
