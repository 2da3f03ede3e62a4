import { Box, Group, Select, Text } from '@mantine/core';
import { IconPlus, IconUsers } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api.ts';
import type { User } from '../../api-types.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { count } from '../../components/counts.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Mark } from '../../components/mark.tsx';
import { Page } from '../../components/page.tsx';
import { SearchInput } from '../../components/search-input.tsx';
import { Empty } from '../../components/states.tsx';
import { useDialogParam } from '../../components/use-dialog-param.ts';
import { useFilters } from '../../components/use-filters.ts';
import { useList } from '../../components/use-list.ts';
import { to, useOrg } from '../../places.ts';
import { texts } from '../../texts/people.ts';
import { NewPerson } from './new-person.tsx';

const columns: Column<User>[] = [
  {
    head: texts.name,
    cell: ({ first_name, last_name, email }) => (
      <Text component="span" size="sm" fw={500} display="block" style={{ overflowWrap: 'anywhere' }}>
        {`${first_name} ${last_name}`.trim() || email}
      </Text>
    ),
    width: '36%',
  },
  {
    head: texts.email,
    cell: ({ email }) => (
      <Text component="span" size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
        {email}
      </Text>
    ),
  },
  {
    head: texts.state,
    width: 90,
    quiet: true,
    cell: ({ locked }) => locked && <Mark color="red">{texts.locked}</Mark>,
  },
];

/** As many as one request gives. */
const readAtOnce = 1_000;
const collator = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });

/** By name as people write it: Ann 2 before Ann 10; who has no name comes by their email. */
function inOrder(rows: User[]): User[] {
  const nameOf = ({ first_name, last_name, email }: User) => `${first_name} ${last_name}`.trim() || email;
  return rows.toSorted((a, b) => collator.compare(nameOf(a), nameOf(b)));
}

export default function People() {
  const org = useOrg();
  const [creating, setCreating] = useDialogParam();
  const [{ search = '', state }, setFilters] = useFilters(['search', 'state']);
  const { data: total } = useQuery({
    queryKey: [org, 'users', 'total'],
    queryFn: async ({ signal }) =>
      (await take(api.GET('/api/o/{org}/limits/', { params: { path: { org } }, signal }))).used.users,
  });
  // Few enough to be read at once: then they are in the order of their names and can be filtered.
  const isSmall = total !== undefined && total <= readAtOnce;
  const list = useList<User>({
    key: [org, 'users', search, isSmall],
    enabled: total !== undefined,
    pageSize: isSmall ? readAtOnce : undefined,
    fetch: (page, signal) =>
      api.GET('/api/o/{org}/u/', { params: { path: { org }, query: { ...page, ...(search && { search }) } }, signal }),
  });
  const shown = isSmall
    ? inOrder(list.rows).filter(({ locked }) => !state || locked === (state === 'locked'))
    : list.rows;
  const create = (
    <GuardedButton permission="user:write" leftSection={<IconPlus size={14} />} onClick={() => setCreating(true)}>
      {texts.newPerson}
    </GuardedButton>
  );
  return (
    <Page title={texts.people} description={texts.everyoneYouCanNotifyWithTheir} actions={create}>
      <Box className="card">
        <Group p="sm" role="search">
          <SearchInput
            label={texts.searchByNameOrEmail}
            value={search}
            onChange={value => setFilters({ search: value })}
            w={{ base: '100%', xs: 360 }}
          />
          {isSmall && (
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
          )}
          {total !== undefined && (
            <Text size="sm" c="dimmed" className="numbers" ml="auto" role="status">
              {total === 1 ? '1 person' : texts.people2(count(total))}
            </Text>
          )}
        </Group>
        <DataTable
          label={texts.people}
          list={{ ...list, rows: shown, loading: list.loading || total === undefined }}
          columns={columns}
          rowKey={({ id }) => id}
          rowTo={({ username }) => to.person(org, username)}
          empty={
            search || state ? (
              <Empty title={texts.noMatches}>{texts.theSearchLooksAtTheBeginning}</Empty>
            ) : (
              <Empty icon={<IconUsers size={28} stroke={1.4} />} title={texts.noPeopleYet} action={create}>
                {texts.addPeopleOneByOneImport}
              </Empty>
            )
          }
        />
      </Box>
      {creating && <NewPerson close={() => setCreating(false)} />}
    </Page>
  );
}
