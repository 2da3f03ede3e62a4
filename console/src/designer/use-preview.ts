/** Requests a new preview of the draft shortly after each change. */
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, take } from '../api.ts';
import type { PreviewRequest } from '../api-types.ts';
import type { SourceError } from '../editor/code-types.ts';
import type { Scope } from '../editor/completions.ts';
import type { EventPath } from '../events/sample.ts';
import { ask } from '../queries.ts';

const debounceMs = 250;

export function usePreview(path: EventPath, request: PreviewRequest, enabled = true) {
  const text = JSON.stringify(request);
  const [debounced] = useDebouncedValue(text, debounceMs);
  const { data, error, isFetching } = useQuery({
    ...ask('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/preview/', { path, debounced }, signal =>
      take(
        api.POST('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/preview/', {
          params: { path },
          body: JSON.parse(debounced) as PreviewRequest,
          signal,
        }),
      ),
    ),
    enabled,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    gcTime: 60_000,
  });
  const byField = useMemo(() => {
    const fields: Record<string, SourceError[]> = {};
    for (const { field, ...sourceError } of data?.errors ?? []) {
      fields[field] ??= [];
      fields[field].push(sourceError);
    }
    return fields;
  }, [data?.errors]);
  return { preview: data, error, sourceErrors: byField, working: isFetching || debounced !== text };
}

/** Variables available to templates, with the sample's values; mirrors what the service provides. */
export function scopeOf(
  path: EventPath,
  context: Scope,
  extraContext: Scope,
  schedules: readonly { slug: string; name: string }[] = [],
): Scope {
  const users = [{ name: 'Ada Lovelace', username: 'ada@example.com', first_name: 'Ada', last_name: 'Lovelace' }];
  const onCall = schedules.map(({ slug, name }) => [slug, { name, users, until: '', next: { from: '', users } }]);
  return {
    membership: {},
    ...(onCall.length > 0 && { oncall: Object.fromEntries(onCall) }),
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
