/** Selects the user that the previews are rendered for. */
import { Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useOrg } from '../paths.ts';
import { read } from '../queries.ts';
import { useCan } from '../session.tsx';
import { texts } from '../texts/designer.ts';

interface PreviewUserProps {
  value: string | undefined;
  onChange: (username: string | undefined) => void;
  /** User of the previews when none is selected. */
  defaultUser: string | undefined;
}

export function PreviewUser({ value, onChange, defaultUser }: PreviewUserProps) {
  const org = useOrg();
  const can = useCan();
  const [typed, setTyped] = useState('');
  const [search] = useDebouncedValue(typed === value ? '' : typed, 200);
  const users = useQuery({
    ...read('/api/o/{org}/u/', { path: { org }, query: { limit: 20, ...(search && { search }) } }),
    enabled: can('user:read'),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
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
      // The API has filtered the options already.
      filter={({ options }) => options}
      clearable
      clearButtonProps={{ 'aria-label': texts.clear }}
      placeholder={defaultUser ? texts.previewAsUser(defaultUser) : texts.previewAsFirstUser}
      nothingFoundMessage={texts.noMatches}
    />
  );
}
