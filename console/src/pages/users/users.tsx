import { Select, Text } from '@mantine/core';
import { IconUsers } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api.ts';
import type { User } from '../../api-types.ts';
import { Breakable } from '../../components/breakable.tsx';
import type { Column } from '../../components/data-table.tsx';
import { Mark } from '../../components/mark.tsx';
import { SearchInput } from '../../components/search-input.tsx';
import { TablePage } from '../../components/table-page.tsx';
import { useFilters } from '../../components/use-filters.ts';
import { useList } from '../../components/use-list.ts';
import { to, useOrg } from '../../paths.ts';
import { combine, pages } from '../../queries.ts';
import { texts } from '../../texts/users.ts';
import { NewUser } from './new-user.tsx';

const columns: Column<User>[] = [
  {
    head: texts.name,
    cell: ({ first_name, last_name, email }) => (
      <Text component="span" size="sm" fw={500} display="block">
        <Breakable text={`${first_name} ${last_name}`.trim() || email} />
      </Text>
    ),
    width: '36%',
  },
  {
    head: texts.email,
    cell: ({ email }) => (
      <Text component="span" size="sm" c="dimmed">
        <Breakable text={email} />
      </Text>
    ),
  },
  {
    head: texts.state,
    width: 90,
    hidesHeader: true,
    cell: ({ locked }) => locked && <Mark color="red">{texts.locked}</Mark>,
  },
];

export default function Users() {
  const org = useOrg();
  const [{ search = '', state }, setFilters] = useFilters(['search', 'state']);
  const { data: total } = useQuery({
    ...combine(
      'number of users',
      '/api/o/{org}/u/',
      { org },
      async signal => (await take(api.GET('/api/o/{org}/limits/', { params: { path: { org } }, signal }))).used.users,
    ),
  });
  const list = useList(
    pages('/api/o/{org}/u/', {
      path: { org },
      query: { ...(search ? { search } : { order: 'name' as const }), ...(state && { locked: state === 'locked' }) },
    }),
  );
  return (
    <TablePage
      title={texts.users}
      description={texts.description}
      create={{ permission: 'user:write', label: texts.newUser, dialog: close => <NewUser close={close} /> }}
      filters={
        <>
          <SearchInput
            label={texts.searchByNameOrEmail}
            value={search}
            onChange={value => setFilters({ search: value })}
            w={{ base: '100%', xs: 360 }}
          />
          <Select
            size="xs"
            aria-label={texts.state}
            placeholder={texts.anyState}
            clearable
            w={150}
            data={[
              { value: 'active', label: texts.active },
              { value: 'locked', label: texts.locked },
            ]}
            value={state ?? null}
            onChange={value => setFilters({ state: value })}
          />
          {total !== undefined && (
            <Text size="sm" c="dimmed" className="numbers" ml="auto" role="status">
              {texts.usersCount(total)}
            </Text>
          )}
        </>
      }
      list={list}
      columns={columns}
      rowKey={({ id }) => id}
      rowTo={({ username }) => to.user(org, username)}
      empty={{ icon: IconUsers, title: texts.noUsersYet, hint: texts.noUsersHint }}
      noMatches={Boolean(search || state) && { title: texts.noMatches, hint: texts.noMatchesHint }}
    />
  );
}
