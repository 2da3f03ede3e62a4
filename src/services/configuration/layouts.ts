/** Layouts of an organization or of a project. */
import type { LayoutEntry } from '../../core/configuration/document.ts';
import { mergeEntry } from '../../core/configuration/entries.ts';
import { AppError } from '../../core/errors.ts';
import { fold } from '../../core/text/text.ts';
import * as rows from '../../db/configuration/layouts.ts';
import type { ResolvedPath, Slugs } from '../../db/configuration/organizations.ts';
import type { PageRequest } from '../../db/connection/page.ts';
import type { Db } from '../../db/connection/pool.ts';
import type { Deps } from '../deps.ts';
import { record } from '../operations/audit.ts';
import {
  alreadyExists,
  changeAndInvalidate,
  type DeletionOptions,
  type DeletionResult,
  deleteEntry,
  type Precondition,
  putEntry,
  requireCreatedId,
  requirePath,
} from './entries.ts';
import { findNotificationsUsingLayout, refuseIfUsed } from './references.ts';
import { listVersionPage, toVersion } from './versions.ts';

interface Layout extends Omit<rows.LayoutDetails, 'updated_at'> {
  updated_at: string;
}

export async function listLayouts({ db }: Deps, organizationId: number, projectId: number | null, page: PageRequest) {
  return (await rows.listLayouts(db, organizationId, projectId, page)).map(show);
}

/** Returns undefined if there is no layout with that id. */
export async function findLayout({ db }: Deps, organizationId: number, projectId: number | null, id: number) {
  const row = await rows.findLayout(db, organizationId, projectId, id);
  return row && show(row);
}

export async function createLayout(deps: Deps, slugs: Slugs, entry: LayoutEntry): Promise<Layout> {
  return changeAndInvalidate(deps, slugs, async trx => {
    const { organization, project } = await requirePath(trx, slugs);
    const id = requireCreatedId(await putEntry(deps, trx, slugs, 'layouts', entry), 'name', entry);
    return read(trx, organization.id, project?.id ?? null, id);
  });
}

export async function updateLayout(
  deps: Deps,
  slugs: Slugs,
  id: number,
  changes: Partial<LayoutEntry>,
  check: Precondition<Layout>,
): Promise<Layout> {
  return changeAndInvalidate(deps, slugs, async trx => {
    const { organization, project } = await requirePath(trx, slugs);
    const projectId = project?.id ?? null;
    const current = await read(trx, organization.id, projectId, id);
    check(current);
    const { name = current.name } = changes;
    if (fold(name) !== fold(current.name)) {
      // Files and messages refer to a layout by its name.
      refuseIfUsed(
        `layout ${current.name}`,
        await findNotificationsUsingLayout(trx, organization.id, projectId, current.name),
      );
      const renamed = await rows.renameLayout(trx, organization.id, id, { name, name_key: fold(name) });
      if (!renamed) throw alreadyExists('name', name);
      const path = [project?.slug, current.name].filter(Boolean).join('/');
      const sides = { before: { name: current.name }, after: { name } };
      await record(deps, trx, organization.id, { action: 'update', noun: 'layout', path, ...sides });
    }
    const entry = mergeEntry({ name: current.name, body: current.body }, changes) as LayoutEntry;
    await putEntry(deps, trx, slugs, 'layouts', entry);
    return read(trx, organization.id, projectId, id);
  });
}

/** Throws while a message uses the layout. */
export async function deleteLayout(
  deps: Deps,
  slugs: Slugs,
  id: number,
  deletion: DeletionOptions,
  check: Precondition<Layout>,
): Promise<DeletionResult> {
  const target = {
    noun: 'layout' as const,
    read: (trx: Db, { organization, project }: ResolvedPath) => read(trx, organization.id, project?.id ?? null, id),
    check,
    nameOf: ({ name }: Layout) => name,
    refuseIfUsed: async (trx: Db, { organization, project }: ResolvedPath, { name }: Layout) =>
      refuseIfUsed(
        `layout ${name}`,
        await findNotificationsUsingLayout(trx, organization.id, project?.id ?? null, name),
      ),
    delete: (trx: Db, { organization }: ResolvedPath) => rows.deleteLayout(trx, organization.id, id),
  };
  return deleteEntry(deps, slugs, target, deletion);
}

export async function listVersionsOfLayout({ db }: Deps, organizationId: number, id: number, page: PageRequest) {
  return listVersionPage(page, at => rows.listLayoutVersions(db, organizationId, id, at));
}

/** Returns undefined if there is no such version. */
export async function findVersionOfLayout({ db }: Deps, organizationId: number, id: number, version: number) {
  const row = await rows.findLayoutVersion(db, organizationId, id, version);
  return row && { ...toVersion(row), body: row.body };
}

async function read(db: Db, organizationId: number, projectId: number | null, id: number): Promise<Layout> {
  const row = await rows.findLayout(db, organizationId, projectId, id);
  if (!row) throw new AppError('layout.not_found', 'the layout has been deleted in the meantime');
  return show(row);
}

function show({ id, name, body, version, updated_at }: rows.LayoutDetails): Layout {
  return { id, name, body, version, updated_at: updated_at.toISOString() };
}
