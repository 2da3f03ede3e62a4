import { Box, Group, Text } from '@mantine/core';
import { IconPlus, IconUsers } from '@tabler/icons-react';
import { useState } from 'react';
import { api } from '../../api.ts';
import type { User } from '../../api-types.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Mark } from '../../components/mark.tsx';
import { Page } from '../../components/page.tsx';
import { SearchInput } from '../../components/search-input.tsx';
import { Empty } from '../../components/states.tsx';
import { useFilters } from '../../components/use-filters.ts';
import { useList } from '../../components/use-list.ts';
import { to, useOrg } from '../../places.ts';
import { NewPerson } from './new-person.tsx';

const columns: Column<User>[] = [
  {
    head: 'Name',
    cell: ({ first_name, last_name, email }) => (
      <Text component="span" size="sm" fw={500} display="block" style={{ overflowWrap: 'anywhere' }}>
        {`${first_name} ${last_name}`.trim() || email}
      </Text>
    ),
    width: '36%',
  },
  {
    head: 'Email',
    cell: ({ email }) => (
      <Text component="span" size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
        {email}
      </Text>
    ),
  },
  {
    head: 'State',
    width: 90,
    quiet: true,
    cell: ({ locked }) => locked && <Mark color="red">locked</Mark>,
  },
];

export default function People() {
  const org = useOrg();
  const [creating, setCreating] = useState(false);
  const [{ search = '' }, setFilters] = useFilters(['search']);
  const list = useList<User>({
    key: [org, 'users', search],
    fetch: (page, signal) =>
      api.GET('/api/o/{org}/u/', { params: { path: { org }, query: { ...page, ...(search && { search }) } }, signal }),
  });
  const create = (
    <GuardedButton permission="user:write" leftSection={<IconPlus size={14} />} onClick={() => setCreating(true)}>
      New person
    </GuardedButton>
  );
  return (
    <Page title="People" description="Everyone you can notify, with their addresses." actions={create}>
      <Box className="card">
        <Group p="sm" role="search">
          <SearchInput
            label="First name, last name or email begins with"
            value={search}
            onChange={value => setFilters({ search: value })}
            w={{ base: '100%', xs: 360 }}
          />
        </Group>
        <DataTable
          label="People"
          list={list}
          columns={columns}
          rowKey={({ id }) => id}
          rowTo={({ username }) => to.person(org, username)}
          empty={
            search ? (
              <Empty title="Nobody is called that">
                The search compares the beginning of first name, last name and email.
              </Empty>
            ) : (
              <Empty icon={<IconUsers size={28} stroke={1.4} />} title="Nobody here yet" action={create}>
                People come in one by one, with a CSV file into a list, or from your own programs through the API.
              </Empty>
            )
          }
        />
      </Box>
      {creating && <NewPerson close={() => setCreating(false)} />}
    </Page>
  );
}
