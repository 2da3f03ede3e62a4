/** Categories one by one: what recipients choose by. */
import type { CategoryEntry } from '../core/configuration/document.ts';
import { toCategoryEntry } from '../core/configuration/export.ts';
import { mergeEntry, refuseChanges, slugAdvice } from '../core/entries.ts';
import { AppError } from '../core/errors.ts';
import { type Category, generalCategory, generalSlug } from '../core/preferences.ts';
import * as rows from '../db/categories.ts';
import type { Slugs } from '../db/organizations.ts';
import type { PageRequest } from '../db/page.ts';
import type { Db } from '../db/pool.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';
import { type Check, change, createdBy, putEntry, requirePlace } from './entries.ts';

export async function listCategories({ db }: Deps, organizationId: number, page: PageRequest) {
  return rows.listCategories(db, organizationId, page);
}

/** What recipients choose by: those of the organization, and the general one where an event belongs to it. */
export async function listShownCategories({ db }: Pick<Deps, 'db'>, organizationId: number): Promise<Category[]> {
  const categories = (await rows.listAllCategories(db, organizationId)).map(show);
  if (categories.some(({ slug }) => slug === generalSlug)) return categories;
  return (await rows.hasUncategorizedEvents(db, organizationId)) ? [...categories, generalCategory] : categories;
}

/** Undefined when there is none of that slug. */
export async function findCategory({ db }: Deps, organizationId: number, slug: string): Promise<Category | undefined> {
  const row = await rows.findCategory(db, organizationId, slug);
  return row && show(row);
}

export async function getCategory({ db }: Deps, organizationId: number, slug: string): Promise<Category> {
  return show(await read(db, organizationId, slug));
}

export async function createCategory(deps: Deps, slugs: Slugs, entry: CategoryEntry): Promise<Category> {
  return change(deps, slugs, async trx => {
    const { organization } = await requirePlace(trx, slugs);
    createdBy(await putEntry(deps, trx, slugs, 'categories', entry), 'slug', entry);
    return show(await read(trx, organization.id, entry.slug));
  });
}

export type CategoryChanges = { [field in keyof CategoryEntry]?: CategoryEntry[field] | null } & { slug?: unknown };

export async function updateCategory(
  deps: Deps,
  slugs: Slugs,
  slug: string,
  changes: CategoryChanges,
  check: Check<Category>,
): Promise<Category> {
  return change(deps, slugs, async trx => {
    const { organization } = await requirePlace(trx, slugs);
    const current = await read(trx, organization.id, slug);
    check(show(current));
    refuseChanges(current, changes, { slug: slugAdvice });
    await putEntry(deps, trx, slugs, 'categories', mergeEntry(toCategoryEntry(current), changes) as CategoryEntry);
    return show(await read(trx, organization.id, slug));
  });
}

/** Refused while an event belongs to it. What people chose about it stays, and holds again if it is created again. */
export async function deleteCategory(
  deps: Deps,
  slugs: Slugs,
  slug: string,
  dryRun: boolean,
  check: Check<Category>,
): Promise<{ deleted: Record<string, number>; dry_run?: true }> {
  return change(deps, slugs, async trx => {
    const { organization } = await requirePlace(trx, slugs);
    const current = await read(trx, organization.id, slug);
    check(show(current));
    const events = await rows.listCategoryUses(trx, organization.id, current.id);
    if (events.length > 0) {
      const more = events.length > 1 ? ` and ${events.length - 1} more` : '';
      const told = `the category ${slug} is that of ${events[0]}${more}: change those first`;
      throw new AppError('resource.in_use', told, { uses: { events: events.slice(0, 20) } });
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
  if (!row) throw new AppError('category.not_found', 'the category has been deleted meanwhile');
  return row;
}

function show({ id: _, ...category }: rows.CategoryRow): Category {
  return category;
}
