/** Whom the previews are written to. */
import { Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../api.ts';
import { useOrg } from '../places.ts';
import { useCan } from '../session.tsx';
import { texts } from '../texts/designer.ts';

interface ReaderProps {
  value: string | undefined;
  onChange: (username: string | undefined) => void;
  /** Who it is when nobody was chosen. */
  usual: string | undefined;
}

export function Reader({ value, onChange, usual }: ReaderProps) {
  const org = useOrg();
  const can = useCan();
  const [typed, setTyped] = useState('');
  const [search] = useDebouncedValue(typed === value ? '' : typed, 200);
  const users = useQuery({
    queryKey: [org, 'readers', search],
    enabled: can('user:read'),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    queryFn: ({ signal }) =>
      take(
        api.GET('/api/o/{org}/u/', {
          params: { path: { org }, query: { limit: 20, ...(search && { search }) } },
          signal,
        }),
      ),
  });
  if (!can('user:read')) return null;
  const names = users.data?.map(({ username }) => username) ?? [];
  return (
    <Select
      size="xs"
      w={210}
      aria-label={texts.previewAs}
      data={value && !names.includes(value) ? [value, ...names] : names}
      value={value ?? null}
      onChange={next => onChange(next ?? undefined)}
      searchable
      onSearchChange={setTyped}
      // What was asked for is filtered already.
      filter={({ options }) => options}
      clearable
      clearButtonProps={{ 'aria-label': texts.clear }}
      placeholder={usual ? texts.previewAs2(usual) : texts.previewAsFirstPerson}
      nothingFoundMessage={texts.noMatches}
    />
  );
}
