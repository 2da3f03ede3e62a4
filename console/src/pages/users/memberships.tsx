/** The lists that a user is a member of. */
import { Text } from '@mantine/core';
import { useState } from 'react';
import type { Membership } from '../../api-types.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Section } from '../../components/page.tsx';
import { useList } from '../../components/use-list.ts';
import { to, useOrg } from '../../paths.ts';
import { pages } from '../../queries.ts';
import { texts } from '../../texts/users.ts';
import { activeColumn } from './active-column.tsx';
import { AddToList } from './add-to-list.tsx';

const columns: Column<Membership>[] = [
  {
    head: texts.list,
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
  activeColumn,
];

export function Memberships({ username }: { username: string }) {
  const org = useOrg();
  const [adding, setAdding] = useState(false);
  const list = useList(pages('/api/o/{org}/u/{username}/memberships/', { path: { org, username } }));
  return (
    <Section
      title={texts.lists}
      padded={false}
      aside={
        <GuardedButton permission="distributionlist:write" variant="default" onClick={() => setAdding(true)}>
          {texts.addToList}
        </GuardedButton>
      }
    >
      <DataTable
        label={texts.lists}
        list={list}
        columns={columns}
        rowKey={({ id }) => id}
        rowTo={row => to.list(org, row.project, row.list.id)}
        empty={
          <Text size="sm" c="dimmed" px="md" pb="md">
            {texts.notOnAnyList}
          </Text>
        }
      />
      {adding && <AddToList usernames={[username]} close={() => setAdding(false)} />}
    </Section>
  );
}
