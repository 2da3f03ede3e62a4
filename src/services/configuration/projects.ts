import { mergeEntry, refuseChanges, slugAdvice } from '../../core/configuration/entries.ts';
import type { ResolvedPath, Slugs } from '../../db/configuration/organizations.ts';
import * as projects from '../../db/configuration/projects.ts';
import type { Db } from '../../db/connection/pool.ts';
import type { Deps } from '../deps.ts';
import {
  changeAndInvalidate,
  type DeletionOptions,
  type DeletionResult,
  deleteEntry,
  type Precondition,
  putEntry,
  requireCreatedId,
  requirePath,
} from './entries.ts';

export interface Project {
  slug: string;
  name: string;
}

export async function createProject(deps: Deps, { org }: Slugs, entry: Project): Promise<Project> {
  return changeAndInvalidate(deps, { org }, async trx => {
    const { organization } = await requirePath(trx, { org });
    const id = requireCreatedId(await putEntry(deps, trx, { org }, 'projects', entry), 'slug', entry);
    return read(trx, organization.id, id);
  });
}

export async function updateProject(
  deps: Deps,
  { org, prj }: Slugs,
  changes: { slug?: unknown; name?: string },
  check: Precondition<Project>,
): Promise<Project> {
  return changeAndInvalidate(deps, { org }, async trx => {
    const { organization, project } = await requirePath(trx, { org, prj });
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
  deletion: DeletionOptions,
  check: Precondition<Project>,
): Promise<DeletionResult> {
  const target = {
    noun: 'project' as const,
    read: (trx: Db, { organization, project }: ResolvedPath) => read(trx, organization.id, project!.id),
    check,
    delete: (trx: Db, { organization, project }: ResolvedPath) =>
      projects.deleteProject(trx, organization.id, project!.id),
  };
  return deleteEntry(deps, slugs, target, deletion);
}

async function read(db: Db, organizationId: number, id: number): Promise<Project> {
  const { slug, name } = (await projects.findProject(db, organizationId, id))!;
  return { slug, name };
}
