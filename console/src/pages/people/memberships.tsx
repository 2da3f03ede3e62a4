/** The lists that somebody stands on. */
import { Text } from '@mantine/core';
import { api } from '../../api.ts';
import type { Membership } from '../../api-types.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Mark } from '../../components/mark.tsx';
import { Section } from '../../components/page.tsx';
import { useList } from '../../components/use-list.ts';
import { to, useOrg } from '../../places.ts';
import { personKey } from './person-key.ts';

const columns: Column<Membership>[] = [
  {
    head: 'List',
    cell: ({ list, project, address }) => (
      <>
        <Text component="span" display="block" size="sm" fw={500}>
          {list.name}
        </Text>
        <Text component="span" display="block" size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {project} · {address}
        </Text>
      </>
    ),
  },
  {
    head: 'State',
    align: 'right',
    width: 80,
    quiet: true,
    cell: ({ active }) => active || <Mark color="gray">Inactive</Mark>,
  },
];

export function Memberships({ username }: { username: string }) {
  const org = useOrg();
  const list = useList<Membership>({
    key: [...personKey(org, username), 'memberships'],
    fetch: (query, signal) =>
      api.GET('/api/o/{org}/u/{username}/memberships/', { params: { path: { org, username }, query }, signal }),
  });
  return (
    <Section title="Lists" padded={false}>
      <DataTable
        label="Lists"
        list={list}
        columns={columns}
        rowKey={({ id }) => id}
        rowTo={row => to.list(org, row.project, row.list.id)}
        empty={
          <Text size="sm" c="dimmed" px="md" pb="md">
            Not on any list.
          </Text>
        }
      />
    </Section>
  );
}
