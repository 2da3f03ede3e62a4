/** Loads the email layouts of the organization and of a project. */
import { useQuery } from '@tanstack/react-query';
import { api, take } from '../api.ts';
import type { Layout } from '../api-types.ts';
import { combine } from '../queries.ts';
import { useCan } from '../session.tsx';

export interface ScopedLayout extends Layout {
  /** Null for a layout of the organization. */
  prj: string | null;
}

export function useLayouts(org: string, prj: string | undefined, enabled = true) {
  const can = useCan();
  const query = useQuery({
    ...combine('usable layouts', '/api/o/{org}/l/', { org, prj }, async (signal): Promise<ScopedLayout[]> => {
      const [shared, own] = await Promise.all([
        take(api.GET('/api/o/{org}/l/', { params: { path: { org } }, signal })),
        prj ? take(api.GET('/api/o/{org}/p/{prj}/l/', { params: { path: { org, prj } }, signal })) : [],
      ]);
      return [
        ...own.map(layout => ({ ...layout, prj: prj ?? null })),
        ...shared.map(layout => ({ ...layout, prj: null })),
      ];
    }),
    enabled: enabled && can('template:read'),
  });
  return { ...query, names: [...new Set(query.data?.map(({ name }) => name) ?? [])] };
}
