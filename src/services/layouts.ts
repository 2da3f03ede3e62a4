/** Layouts one by one: of the organization, or of a project. */
import type { LayoutEntry } from '../core/configuration/document.ts';
import { mergeEntry } from '../core/entries.ts';
import { AppError } from '../core/errors.ts';
import { fold } from '../core/text.ts';
import * as rows from '../db/layouts.ts';
import type { Place, Slugs } from '../db/organizations.ts';
import type { PageRequest } from '../db/page.ts';
import type { Db } from '../db/pool.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';
import {
  type Check,
  change,
  createdBy,
  type Deleted,
  type Deletion,
  deleteEntry,
  exists,
  putEntry,
  requirePlace,
} from './entries.ts';
import { findLayoutUses, refuseUsed } from './uses.ts';
import { showVersion, showVersions } from './versions.ts';

export interface Layout {
  id: number;
  name: string;
  body: string;
  version: number;
  updated_at: string;
}

export async function listLayouts(
  { db }: Deps,
  organizationId: number,
  projectId: number | null,
  page: PageRequest,
): Promise<Layout[]> {
  return (await rows.listLayouts(db, organizationId, projectId, page)).map(show);
}

/** Undefined when there is none of that id here. */
export async function findLayout({ db }: Deps, organizationId: number, projectId: number | null, id: number) {
  const row = await rows.findLayout(db, organizationId, projectId, id);
  return row && show(row);
}

export async function createLayout(deps: Deps, slugs: Slugs, entry: LayoutEntry): Promise<Layout> {
  return change(deps, slugs, async trx => {
    const { organization, project } = await requirePlace(trx, slugs);
    const id = createdBy(await putEntry(deps, trx, slugs, 'layouts', entry), 'name', entry);
    return read(trx, organization.id, project?.id ?? null, id);
  });
}

export async function updateLayout(
  deps: Deps,
  slugs: Slugs,
  id: number,
  changes: Partial<LayoutEntry>,
  check: Check<Layout>,
): Promise<Layout> {
  return change(deps, slugs, async trx => {
    const { organization, project } = await requirePlace(trx, slugs);
    const projectId = project?.id ?? null;
    const current = await read(trx, organization.id, projectId, id);
    check(current);
    const { name = current.name } = changes;
    if (fold(name) !== fold(current.name)) {
      // In a file, and for messages, a layout is known by its name.
      refuseUsed(`layout ${current.name}`, await findLayoutUses(trx, organization.id, projectId, current.name));
      const renamed = await rows.renameLayout(trx, organization.id, id, { name, name_key: fold(name) });
      if (!renamed) throw exists('name', name);
      const path = [project?.slug, current.name].filter(Boolean).join('/');
      const sides = { before: { name: current.name }, after: { name } };
      await record(deps, trx, organization.id, { action: 'update', noun: 'layout', path, ...sides });
    }
    const entry = mergeEntry({ name: current.name, body: current.body }, changes) as LayoutEntry;
    await putEntry(deps, trx, slugs, 'layouts', entry);
    return read(trx, organization.id, projectId, id);
  });
}

/** Refused while a message names it. */
export async function deleteLayout(
  deps: Deps,
  slugs: Slugs,
  id: number,
  deletion: Deletion,
  check: Check<Layout>,
): Promise<Deleted> {
  const doomed = {
    noun: 'layout' as const,
    read: (trx: Db, { organization, project }: Place) => read(trx, organization.id, project?.id ?? null, id),
    check,
    nameOf: ({ name }: Layout) => name,
    refuseUsed: async (trx: Db, { organization, project }: Place, { name }: Layout) =>
      refuseUsed(`layout ${name}`, await findLayoutUses(trx, organization.id, project?.id ?? null, name)),
    delete: (trx: Db, { organization }: Place) => rows.deleteLayout(trx, organization.id, id),
  };
  return deleteEntry(deps, slugs, doomed, deletion);
}

export async function listVersionsOfLayout({ db }: Deps, organizationId: number, id: number, page: PageRequest) {
  return showVersions(page, at => rows.listLayoutVersions(db, organizationId, id, at));
}

/** Undefined when there is none of that number. */
export async function findVersionOfLayout({ db }: Deps, organizationId: number, id: number, version: number) {
  const row = await rows.findLayoutVersion(db, organizationId, id, version);
  return row && { ...showVersion(row), body: row.body };
}

async function read(db: Db, organizationId: number, projectId: number | null, id: number): Promise<Layout> {
  const row = await rows.findLayout(db, organizationId, projectId, id);
  if (!row) throw new AppError('layout.not_found', 'the layout has been deleted meanwhile');
  return show(row);
}

function show({ id, name, body, version, updated_at }: rows.LayoutDetails): Layout {
  return { id, name, body, version, updated_at: updated_at.toISOString() };
}
