/** Selects a user by search. */
import { Select, type SelectProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useOrg } from '../../paths.ts';
import { read } from '../../queries.ts';
import { texts } from '../../texts/schedules.ts';

const maxFound = 20;
const typingMs = 200;

export function UserSelect({ value, ...props }: SelectProps & { value: string | null }) {
  const org = useOrg();
  const [typed, setTyped] = useState('');
  const [search] = useDebouncedValue(typed === value ? '' : typed, typingMs);
  const users = useQuery({
    ...read('/api/o/{org}/u/', { path: { org }, query: { limit: maxFound, ...(search && { search }) } }),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
  const names = users.data?.map(({ username }) => username) ?? [];
  return (
    <Select
      {...props}
      data={value && !names.includes(value) ? [value, ...names] : names}
      value={value}
      searchable
      onSearchChange={setTyped}
      // The API has filtered the options already.
      filter={({ options }) => options}
      nothingFoundMessage={texts.noMatches}
    />
  );
}
