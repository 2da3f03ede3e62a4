/** Categories, by which recipients set their preferences. */
import type { CategoryEntry } from '../../core/configuration/document.ts';
import { mergeEntry, refuseChanges, slugAdvice } from '../../core/configuration/entries.ts';
import { toCategoryEntry } from '../../core/configuration/export.ts';
import { type Category, generalCategory, generalSlug } from '../../core/decision/preferences.ts';
import { AppError } from '../../core/errors.ts';
import * as rows from '../../db/configuration/categories.ts';
import type { Slugs } from '../../db/configuration/organizations.ts';
import type { Db } from '../../db/connection/pool.ts';
import type { Deps } from '../deps.ts';
import { record } from '../operations/audit.ts';
import { changeAndInvalidate, type Precondition, putEntry, requireCreatedId, requirePath } from './entries.ts';

/** Returns the categories shown to recipients: the organization's, and the general one if an event belongs to it. */
export async function listRecipientCategories({ db }: Pick<Deps, 'db'>, organizationId: number): Promise<Category[]> {
  const categories = (await rows.listAllCategories(db, organizationId)).map(show);
  if (categories.some(({ slug }) => slug === generalSlug)) return categories;
  return (await rows.hasUncategorizedEvents(db, organizationId)) ? [...categories, generalCategory] : categories;
}

/** Returns undefined if there is no category with that slug. */
export async function findCategory({ db }: Deps, organizationId: number, slug: string): Promise<Category | undefined> {
  const row = await rows.findCategory(db, organizationId, slug);
  return row && show(row);
}

export async function getCategory({ db }: Deps, organizationId: number, slug: string): Promise<Category> {
  return show(await read(db, organizationId, slug));
}

export async function createCategory(deps: Deps, slugs: Slugs, entry: CategoryEntry): Promise<Category> {
  return changeAndInvalidate(deps, slugs, async trx => {
    const { organization } = await requirePath(trx, slugs);
    requireCreatedId(await putEntry(deps, trx, slugs, 'categories', entry), 'slug', entry);
    return show(await read(trx, organization.id, entry.slug));
  });
}

export type CategoryChanges = { [field in keyof CategoryEntry]?: CategoryEntry[field] | null } & { slug?: unknown };

export async function updateCategory(
  deps: Deps,
  slugs: Slugs,
  slug: string,
  changes: CategoryChanges,
  check: Precondition<Category>,
): Promise<Category> {
  return changeAndInvalidate(deps, slugs, async trx => {
    const { organization } = await requirePath(trx, slugs);
    const current = await read(trx, organization.id, slug);
    check(show(current));
    refuseChanges(current, changes, { slug: slugAdvice });
    await putEntry(deps, trx, slugs, 'categories', mergeEntry(toCategoryEntry(current), changes) as CategoryEntry);
    return show(await read(trx, organization.id, slug));
  });
}

/** Throws while an event belongs to it. Preferences are kept, and apply again if the category is created again. */
export async function deleteCategory(
  deps: Deps,
  slugs: Slugs,
  slug: string,
  dryRun: boolean,
  check: Precondition<Category>,
): Promise<{ deleted: Record<string, number>; dry_run?: true }> {
  return changeAndInvalidate(deps, slugs, async trx => {
    const { organization } = await requirePath(trx, slugs);
    const current = await read(trx, organization.id, slug);
    check(show(current));
    const events = await rows.listCategoryUses(trx, organization.id, current.id);
    if (events.length > 0) {
      const more = events.length > 1 ? ` and ${events.length - 1} more` : '';
      const message = `category ${slug} is used by ${events[0]}${more}: change those first`;
      throw new AppError('resource.in_use', message, { uses: { events: events.slice(0, 20) } });
    }
    const deleted = { categories: 1 };
    if (dryRun) return { deleted, dry_run: true };
    await rows.deleteCategory(trx, organization.id, current.id);
    const before = toCategoryEntry(current);
    await record(deps, trx, organization.id, { action: 'delete', noun: 'category', path: slug, before });
    return { deleted };
  });
}

async function read(db: Db, organizationId: number, slug: string): Promise<rows.CategoryRow> {
  const row = await rows.findCategory(db, organizationId, slug);
  if (!row) throw new AppError('category.not_found', 'the category has been deleted in the meantime');
  return row;
}

function show({ id: _, ...category }: rows.CategoryRow): Category {
  return category;
}
