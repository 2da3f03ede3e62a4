/** Categories, by which recipients set their preferences. */
import { type Category, category as noun } from '../../core/configuration/nouns/category.ts';
import { pickFields, toEntryFields } from '../../core/configuration/nouns/noun.ts';
import { generalCategory, generalSlug } from '../../core/decision/preferences.ts';
import { hasUncategorizedEvents, listCategoryUses } from '../../db/configuration/categories.ts';
import { listRows } from '../../db/configuration/rows.ts';
import type { Deps } from '../deps.ts';
import { type Kind, plainKind } from './entries.ts';
import { refuseIfUsed } from './references.ts';

/** Returns the categories shown to recipients: the organization's, and the general one if an event belongs to it. */
export async function listRecipientCategories({ db }: Pick<Deps, 'db'>, organizationId: number): Promise<Category[]> {
  const categories = (await listRows(db, organizationId, 'category')).map(row => pickFields(noun, row));
  if (categories.some(({ slug }) => slug === generalSlug)) return categories;
  return (await hasUncategorizedEvents(db, organizationId)) ? [...categories, generalCategory] : categories;
}

/** It cannot be deleted while an event belongs to it. Preferences are kept, and apply again if it is created again. */
export const category: Kind<'category', Category> = {
  ...plainKind('category'),
  refuseIfUsed: async (trx, { organization }, { slug }, id) =>
    refuseIfUsed(`category ${slug}`, await listCategoryUses(trx, organization.id, id), 'events'),
  toAudit: current => toEntryFields(noun, current),
};
