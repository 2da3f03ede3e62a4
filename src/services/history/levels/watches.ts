/** Watches: rehearsals of an event, after which an outside URL is called. */
import type { EntryOf } from '../../../core/configuration/document.ts';
import { pickFields, toEntryFields } from '../../../core/configuration/nouns/noun.ts';
import { maxWatches, watch as noun, type WatchFields } from '../../../core/configuration/nouns/watch.ts';
import { invalid } from '../../../core/errors.ts';
import type { Slugs } from '../../../db/configuration/organizations.ts';
import { findRow, listRows } from '../../../db/configuration/rows.ts';
import { listWatchViews, summarizeWatchesAcrossTenants, type WatchView } from '../../../db/history/levels/watches.ts';
import { createEntry, gone, type Kind, requirePath } from '../../configuration/entries.ts';
import type { Deps } from '../../deps.ts';

export type Watch = Required<WatchFields> & { id: number };

export const watch: Kind<'watch', Watch> = {
  noun: 'watch',
  read: async (db, { organization }, id) => {
    const row = await findRow(db, organization.id, 'watch', { id });
    if (!row) throw gone('watch');
    return { id: row.id, ...pickFields(noun, row) } as Watch;
  },
  toAudit: current => toEntryFields(noun, current),
};

export async function createWatch(deps: Deps, slugs: Slugs, entry: EntryOf<'watch'>): Promise<Watch> {
  const { organization, application } = await requirePath(deps.db, slugs);
  const stored = application && (await listRows(deps.db, organization.id, 'watch', { parent: application.id }));
  if (stored && stored.length >= maxWatches)
    throw invalid({ slug: [`an application can have at most ${maxWatches} watches`] });
  return createEntry(deps, watch, slugs, entry);
}

type Listed = Pick<Deps, 'db'>;

/** Returns the watches of the organization with their states. */
export function listWatches({ db }: Listed, organizationId: number): Promise<WatchView[]> {
  return listWatchViews(db, organizationId);
}

/** Counts the watches of the whole installation by state. */
export function summarizeWatches({ db }: Listed) {
  return summarizeWatchesAcrossTenants(db);
}
