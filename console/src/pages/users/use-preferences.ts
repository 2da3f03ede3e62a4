/** Loads and changes a user's choices and effective preferences. */
import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api.ts';
import type { PreferencesUpdate } from '../../api-types.ts';
import { categoryOptions, useCategories } from '../../categories.ts';
import { useAction } from '../../components/actions.tsx';
import { useOrg } from '../../paths.ts';
import { read } from '../../queries.ts';
import type { Names, Scope } from './describe-preferences.ts';

export function usePreferences(username: string) {
  const org = useOrg();
  const path = { org, username };
  const own = useQuery({
    ...read('/api/o/{org}/u/{username}/preferences/', { path }),
  });
  const effective = useQuery({
    ...read('/api/o/{org}/u/{username}/preferences/effective/categories/', { path }),
  });
  return { own, effective };
}

export function useCategoryNames(): Names {
  const { data } = useCategories();
  return new Map(categoryOptions(data ?? []).map(({ value, label }) => [value, label]));
}

export interface PreferenceChange extends Scope {
  channel_type: string | null;
  /** Null resets the choice. */
  enabled: boolean | null;
}

/** Saves a choice; `describeChoice` returns the text of the toast. */
export function useChangePreference(username: string, describeChoice: (choice: PreferenceChange) => string) {
  const org = useOrg();
  return useAction({
    run: ({ category, event, channel_type, enabled }: PreferenceChange) => {
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
    done: (_, choice) => describeChoice(choice),
    refresh: ['/api/o/{org}/u/{username}/'],
  });
}
