import { mergeEntry, refuseChanges, slugAdvice } from '../core/entries.ts';
import * as applications from '../db/applications.ts';
import type { Place, Slugs } from '../db/organizations.ts';
import type { PageRequest } from '../db/page.ts';
import type { Db } from '../db/pool.ts';
import type { Deps } from './deps.ts';
import {
  type Check,
  change,
  createdBy,
  type Deleted,
  type Deletion,
  deleteEntry,
  pause,
  putEntry,
  requirePlace,
  resume,
} from './entries.ts';

export interface Application {
  slug: string;
  name: string;
  paused: boolean;
  created_at: string;
}

export async function listApplications({ db }: Deps, organizationId: number, projectId: number, page: PageRequest) {
  return applications.listApplications(db, organizationId, projectId, page);
}

export async function getApplication({ db }: Deps, slugs: Slugs): Promise<Application> {
  const { organization, application } = await requirePlace(db, slugs);
  return read(db, organization.id, application!.id);
}

export async function createApplication(
  deps: Deps,
  { org, prj }: Slugs,
  entry: { slug: string; name: string },
): Promise<Application> {
  const above = { org, prj };
  return change(deps, above, async trx => {
    const { organization } = await requirePlace(trx, above);
    const id = createdBy(await putEntry(deps, trx, above, 'applications', entry), 'slug', entry);
    return read(trx, organization.id, id);
  });
}

export async function updateApplication(
  deps: Deps,
  { org, prj, app }: Slugs,
  changes: { slug?: unknown; name?: string },
  check: Check<Application>,
): Promise<Application> {
  return change(deps, { org }, async trx => {
    const { organization, application } = await requirePlace(trx, { org, prj, app });
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
  deletion: Deletion,
  check: Check<Application>,
): Promise<Deleted> {
  const doomed = {
    noun: 'application' as const,
    read: (trx: Db, { organization, application }: Place) => read(trx, organization.id, application!.id),
    check,
    delete: (trx: Db, { organization, application }: Place) =>
      applications.deleteApplication(trx, organization.id, application!.id),
  };
  return deleteEntry(deps, slugs, doomed, deletion);
}

/** All its events. */
export async function pauseApplication(deps: Deps, organizationId: number, application: { id: number; path: string }) {
  await pause(deps, organizationId, {
    noun: 'application',
    setPaused: applications.setApplicationPaused,
    ...application,
  });
}

export async function resumeApplication(deps: Deps, organizationId: number, application: { id: number; path: string }) {
  return resume(deps, organizationId, {
    noun: 'application',
    setPaused: applications.setApplicationPaused,
    ...application,
  });
}

async function read(db: Db, organizationId: number, id: number): Promise<Application> {
  const { slug, name, paused_at, created_at } = (await applications.findApplication(db, organizationId, id))!;
  return { slug, name, paused: paused_at !== null, created_at: created_at.toISOString() };
}
