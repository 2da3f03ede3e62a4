/** Layouts of an organization or of a project. */
import type { LayoutEntry } from '../../core/configuration/document.ts';
import { AppError } from '../../core/errors.ts';
import { fold } from '../../core/text/text.ts';
import * as rows from '../../db/configuration/layouts.ts';
import type { ResolvedPath, Slugs } from '../../db/configuration/organizations.ts';
import type { PageRequest } from '../../db/connection/page.ts';
import type { Db } from '../../db/connection/pool.ts';
import type { Deps } from '../deps.ts';
import { record } from '../operations/audit.ts';
import { alreadyExists, type Kind, type Precondition, updateEntry } from './entries.ts';
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

/** It cannot be deleted while a message uses it. */
export const layout: Kind<Layout> = {
  noun: 'layout',
  read: async (db, { organization, project }, id) => {
    const row = await rows.findLayout(db, organization.id, project?.id ?? null, id);
    if (!row) throw new AppError('layout.not_found', 'the layout has been deleted in the meantime');
    return show(row);
  },
  refuseIfUsed: refuseIfNamed,
};

async function refuseIfNamed(trx: Db, { organization, project }: ResolvedPath, { name }: Layout): Promise<void> {
  const paths = await findNotificationsUsingLayout(trx, organization.id, project?.id ?? null, name);
  refuseIfUsed(`layout ${name}`, paths);
}

export async function updateLayout(
  deps: Deps,
  slugs: Slugs,
  id: number,
  changes: Partial<LayoutEntry>,
  check: Precondition<Layout>,
): Promise<Layout> {
  return updateEntry(deps, layout, slugs, id, changes, check, {
    prepare: async (trx, resolved, current) => {
      const { name = current.name } = changes;
      if (fold(name) === fold(current.name)) return;
      // Files and messages refer to a layout by its name.
      await refuseIfNamed(trx, resolved, current);
      const { organization, project } = resolved;
      const renamed = await rows.renameLayout(trx, organization.id, id, { name, name_key: fold(name) });
      if (!renamed) throw alreadyExists('name', name);
      const path = [project?.slug, current.name].filter(Boolean).join('/');
      const sides = { before: { name: current.name }, after: { name } };
      await record(deps, trx, organization.id, { action: 'update', noun: 'layout', path, ...sides });
    },
  });
}

export async function listVersionsOfLayout({ db }: Deps, organizationId: number, id: number, page: PageRequest) {
  return listVersionPage(page, at => rows.listLayoutVersions(db, organizationId, id, at));
}

/** Returns undefined if there is no such version. */
export async function findVersionOfLayout({ db }: Deps, organizationId: number, id: number, version: number) {
  const row = await rows.findLayoutVersion(db, organizationId, id, version);
  return row && { ...toVersion(row), body: row.body };
}

function show({ id, name, body, version, updated_at }: rows.LayoutDetails): Layout {
  return { id, name, body, version, updated_at: updated_at.toISOString() };
}
