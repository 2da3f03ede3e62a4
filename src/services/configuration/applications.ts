import { mergeEntry, refuseChanges, slugAdvice } from '../../core/configuration/entries.ts';
import * as applications from '../../db/configuration/applications.ts';
import type { ResolvedPath, Slugs } from '../../db/configuration/organizations.ts';
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
import { showPause } from './pauses.ts';

export interface Application {
  slug: string;
  name: string;
  paused: boolean;
  paused_reason: string | null;
  created_at: string;
}

export async function getApplication({ db }: Deps, slugs: Slugs): Promise<Application> {
  const { organization, application } = await requirePath(db, slugs);
  return read(db, organization.id, application!.id);
}

export async function createApplication(
  deps: Deps,
  { org, prj }: Slugs,
  entry: { slug: string; name: string },
): Promise<Application> {
  const parents = { org, prj };
  return changeAndInvalidate(deps, parents, async trx => {
    const { organization } = await requirePath(trx, parents);
    const id = requireCreatedId(await putEntry(deps, trx, parents, 'applications', entry), 'slug', entry);
    return read(trx, organization.id, id);
  });
}

export async function updateApplication(
  deps: Deps,
  { org, prj, app }: Slugs,
  changes: { slug?: unknown; name?: string },
  check: Precondition<Application>,
): Promise<Application> {
  return changeAndInvalidate(deps, { org }, async trx => {
    const { organization, application } = await requirePath(trx, { org, prj, app });
    const current = await read(trx, organization.id, application!.id);
    check(current);
    refuseChanges(current, changes, { slug: slugAdvice });
    const { slug, name } = current;
    await putEntry(deps, trx, { org, prj }, 'applications', mergeEntry({ slug, name }, changes) as Application);
    return read(trx, organization.id, application!.id);
  });
}

export async function deleteApplication(
  deps: Deps,
  slugs: Slugs,
  deletion: DeletionOptions,
  check: Precondition<Application>,
): Promise<DeletionResult> {
  const target = {
    noun: 'application' as const,
    read: (trx: Db, { organization, application }: ResolvedPath) => read(trx, organization.id, application!.id),
    check,
    delete: (trx: Db, { organization, application }: ResolvedPath) =>
      applications.deleteApplication(trx, organization.id, application!.id),
  };
  return deleteEntry(deps, slugs, target, deletion);
}

async function read(db: Db, organizationId: number, id: number): Promise<Application> {
  const { slug, name, paused_at, paused_reason, created_at } = (await applications.findApplication(
    db,
    organizationId,
    id,
  ))!;
  return { slug, name, ...showPause({ paused_at, paused_reason }), created_at: created_at.toISOString() };
}
