/** Filters kept in the URL, so that a view can be shared and the back button works. */
import { useCallback, useMemo } from 'react';
import { useSearchParams } from 'react-router';

export function useFilters<Name extends string>(
  names: readonly Name[],
): [values: Partial<Record<Name, string>>, set: (changes: Partial<Record<Name, string | null>>) => void] {
  const [search, setSearch] = useSearchParams();
  const text = search.toString();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the names are constant
  const values = useMemo(() => {
    const found = new URLSearchParams(text);
    return Object.fromEntries(names.flatMap(name => (found.get(name) ? [[name, found.get(name)]] : [])));
  }, [text]) as Partial<Record<Name, string>>;
  const set = useCallback(
    (changes: Partial<Record<Name, string | null>>) =>
      setSearch(
        before => {
          const after = new URLSearchParams(before);
          for (const [name, value] of Object.entries<string | null | undefined>(changes)) {
            if (value) after.set(name, value);
            else after.delete(name);
          }
          return after;
        },
        { replace: true, preventScrollReset: true },
      ),
    [setSearch],
  );
  return [values, set];
}
