/** Categories, by which recipients set their preferences. */
import { type Category, category as noun } from '../../core/configuration/nouns/category.ts';
import { toEntryFields } from '../../core/configuration/nouns/noun.ts';
import { generalCategory, generalSlug } from '../../core/decision/preferences.ts';
import { AppError } from '../../core/errors.ts';
import { hasUncategorizedEvents, listCategoryUses } from '../../db/configuration/categories.ts';
import { findRow, listRows, type RowOf } from '../../db/configuration/rows.ts';
import type { Deps } from '../deps.ts';
import type { Kind } from './entries.ts';

/** Returns the categories shown to recipients: the organization's, and the general one if an event belongs to it. */
export async function listRecipientCategories({ db }: Pick<Deps, 'db'>, organizationId: number): Promise<Category[]> {
  const categories = (await listRows(db, organizationId, 'category')).map(show);
  if (categories.some(({ slug }) => slug === generalSlug)) return categories;
  return (await hasUncategorizedEvents(db, organizationId)) ? [...categories, generalCategory] : categories;
}

/** It cannot be deleted while an event belongs to it. Preferences are kept, and apply again if it is created again. */
export const category: Kind<Category> = {
  noun: 'category',
  read: async (db, { organization }, id) => {
    const row = await findRow(db, organization.id, 'category', { id });
    if (!row) throw new AppError('category.not_found', 'the category has been deleted in the meantime');
    return show(row);
  },
  refuseIfUsed: async (trx, { organization }, { slug }, id) => {
    const events = await listCategoryUses(trx, organization.id, id);
    if (events.length === 0) return;
    const more = events.length > 1 ? ` and ${events.length - 1} more` : '';
    const message = `category ${slug} is used by ${events[0]}${more}: change those first`;
    throw new AppError('resource.in_use', message, { uses: { events: events.slice(0, 20) } });
  },
  toAudit: current => toEntryFields(noun, current),
};

function show({ id: _, ...category }: RowOf<'category'>): Category {
  return category;
}
