/** What somebody chose and what holds for them, and how it is changed. */
import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api.ts';
import type { PreferencesUpdate } from '../../api-types.ts';
import { categoryOptions, useCategories } from '../../categories.ts';
import { useAction } from '../../components/actions.tsx';
import { useOrg } from '../../places.ts';
import { personKey } from './person-key.ts';
import type { Names, Scope } from './preference-words.ts';

export function preferencesKey(org: string, username: string) {
  return [...personKey(org, username), 'preferences'];
}

export function usePreferences(username: string) {
  const org = useOrg();
  const path = { org, username };
  const own = useQuery({
    queryKey: [...preferencesKey(org, username), 'own'],
    queryFn: ({ signal }) => take(api.GET('/api/o/{org}/u/{username}/preferences/', { params: { path }, signal })),
  });
  const effective = useQuery({
    queryKey: [...preferencesKey(org, username), 'effective'],
    queryFn: ({ signal }) =>
      take(api.GET('/api/o/{org}/u/{username}/preferences/effective/categories/', { params: { path }, signal })),
  });
  return { own, effective };
}

export function useCategoryNames(): Names {
  const { data } = useCategories();
  return new Map(categoryOptions(data ?? []).map(({ value, label }) => [value, label]));
}

export interface Choosing extends Scope {
  channel_type: string | null;
  /** Null withdraws it. */
  enabled: boolean | null;
}

/** `told` is the toast afterwards. */
export function useChoose(username: string, told: (choice: Choosing) => string) {
  const org = useOrg();
  return useAction({
    run: ({ category, event, channel_type, enabled }: Choosing) => {
      const choice: NonNullable<PreferencesUpdate['preferences']>[number] = {
        enabled,
        ...(category !== null && { category }),
        ...(event !== null && { event }),
        ...(channel_type !== null && { channel_type }),
      };
      return take(
        api.PATCH('/api/o/{org}/u/{username}/preferences/', {
          params: { path: { org, username } },
          body: { preferences: [choice] },
        }),
      );
    },
    done: (_, choice) => told(choice),
    refresh: [preferencesKey(org, username)],
  });
}
