/** The categories of an organization: few, read once. */
import { useQuery } from '@tanstack/react-query';
import { api, take } from './api.ts';
import type { Category } from './api-types.ts';
import { useOrg } from './places.ts';
import { useCan } from './session.tsx';
import { texts } from './texts/preferences.ts';

/** The slug of the one that every organization has. */
export const generalSlug = 'general';

export function categoriesKey(org: string) {
  return [org, 'categories'];
}

export function useCategories() {
  const org = useOrg();
  const can = useCan();
  return useQuery({
    queryKey: categoriesKey(org),
    enabled: can('category:read'),
    staleTime: 10_000,
    queryFn: ({ signal }) => take(api.GET('/api/o/{org}/categories/', { params: { path: { org } }, signal })),
  });
}

/** To choose from: those of the organization, and the general one. */
export function categoryOptions(categories: Pick<Category, 'slug' | 'name'>[]): { value: string; label: string }[] {
  const own = categories.map(({ slug, name }) => ({ value: slug, label: name }));
  const hasGeneral = own.some(({ value }) => value === generalSlug);
  return hasGeneral ? own : [{ value: generalSlug, label: texts.general }, ...own];
}
