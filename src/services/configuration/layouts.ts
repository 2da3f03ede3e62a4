/** Layouts of an organization or of a project. */
import type { EntryOf } from '../../core/configuration/document.ts';
import type { ChangesOf } from '../../core/configuration/entries.ts';
import { fold } from '../../core/text/text.ts';
import * as rows from '../../db/configuration/layouts.ts';
import type { ResolvedPath, Slugs } from '../../db/configuration/organizations.ts';
import type { PageRequest } from '../../db/connection/page.ts';
import type { Db } from '../../db/connection/pool.ts';
import type { Deps } from '../deps.ts';
import { gone, type Kind, type Precondition, renameEntry, updateEntry } from './entries.ts';
import { findNotificationsUsingLayout, refuseIfUsed } from './references.ts';

interface Layout extends Omit<rows.LayoutDetails, 'updated_at'> {
  updated_at: string;
}

export async function listLayouts({ db }: Deps, organizationId: number, projectId: number | null, page: PageRequest) {
  return (await rows.listLayouts(db, organizationId, projectId, page)).map(show);
}

/** It cannot be deleted while a message uses it. */
export const layout: Kind<'layout', Layout> = {
  noun: 'layout',
  read: async (db, { organization, project }, id) => {
    const row = await rows.findLayout(db, organization.id, project?.id ?? null, id);
    if (!row) throw gone('layout');
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
  changes: ChangesOf<EntryOf<'layout'>>,
  check: Precondition<Layout>,
): Promise<Layout> {
  return updateEntry(deps, layout, slugs, id, changes, check, {
    prepare: async (trx, resolved, current) => {
      const { name = current.name } = changes;
      if (fold(name) === fold(current.name)) return;
      // Files and messages refer to a layout by its name.
      await refuseIfNamed(trx, resolved, current);
      await renameEntry(deps, trx, 'layout', resolved, current, name);
    },
  });
}

function show({ id, name, body, version, updated_at }: rows.LayoutDetails): Layout {
  return { id, name, body, version, updated_at: updated_at.toISOString() };
}
