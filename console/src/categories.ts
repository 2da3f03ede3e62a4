/** Loads an organization's categories. There are few, so they are loaded once and shared. */
import { useQuery } from '@tanstack/react-query';
import type { Category } from './api-types.ts';
import { useOrg } from './paths.ts';
import { read } from './queries.ts';
import { useCan } from './session.tsx';
import { texts } from './texts/preferences.ts';

/** Slug of the category that every organization has. */
export const generalSlug = 'general';

export function useCategories() {
  const org = useOrg();
  const can = useCan();
  return useQuery({
    ...read('/api/o/{org}/categories/', { path: { org } }),
    enabled: can('category:read'),
    staleTime: 10_000,
  });
}

/** Options for a select: the organization's own categories and the general one. */
export function categoryOptions(categories: Pick<Category, 'slug' | 'name'>[]): { value: string; label: string }[] {
  const own = categories.map(({ slug, name }) => ({ value: slug, label: name }));
  const hasGeneral = own.some(({ value }) => value === generalSlug);
  return hasGeneral ? own : [{ value: generalSlug, label: texts.general }, ...own];
}
