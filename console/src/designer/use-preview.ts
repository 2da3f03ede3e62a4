/** The draft as its readers would see it, asked for again a moment after each change. */
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, take } from '../api.ts';
import type { PreviewRequest } from '../api-types.ts';
import type { Mistake } from '../editor/code-types.ts';
import type { Scope } from '../editor/completions.ts';
import type { EventPath } from '../events/sample.ts';

const quietMs = 250;

export function usePreview(path: EventPath, request: PreviewRequest, enabled = true) {
  const text = JSON.stringify(request);
  const [asked] = useDebouncedValue(text, quietMs);
  const { data, error, isFetching } = useQuery({
    queryKey: [path.org, 'preview', path.prj, path.app, path.evt, asked],
    queryFn: ({ signal }) =>
      take(
        api.POST('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/preview/', {
          params: { path },
          body: JSON.parse(asked) as PreviewRequest,
          signal,
        }),
      ),
    enabled,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    gcTime: 60_000,
  });
  const byField = useMemo(() => {
    const fields: Record<string, Mistake[]> = {};
    for (const { field, ...mistake } of data?.errors ?? []) {
      fields[field] ??= [];
      fields[field].push(mistake);
    }
    return fields;
  }, [data?.errors]);
  return { preview: data, error, mistakes: byField, working: isFetching || asked !== text };
}

/** What templates can speak of, with the sample's values, as the service puts it together. */
export function scopeOf(path: EventPath, context: Scope, extraContext: Scope): Scope {
  return {
    membership: {},
    ...extraContext,
    ...context,
    context,
    user: {
      username: 'ada@example.com',
      email: 'ada@example.com',
      first_name: 'Ada',
      last_name: 'Lovelace',
      locked: false,
      locale: 'en',
      custom_fields: {},
    },
    event: { slug: path.evt, name: '' },
    application: { slug: path.app, name: '' },
    project: { slug: path.prj, name: '' },
    organization: { slug: path.org, name: '' },
    occurrence: { identifier: '', created_at: '', correlation_id: '' },
    channel: { slug: '', type: '' },
    address: 'ada@example.com',
    now: '',
  };
}
