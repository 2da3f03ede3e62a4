/** The members of a list. */
import { Anchor, Box, Group, Text } from '@mantine/core';
import { IconTrash, IconUsers } from '@tabler/icons-react';
import { Link } from 'react-router';
import { api, take } from '../../api.ts';
import type { NamedMember } from '../../api-types.ts';
import { useAction } from '../../components/actions.tsx';
import { useConfirmedAction } from '../../components/confirm.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { GuardedIcon, GuardedSwitch } from '../../components/guarded.tsx';
import { SearchInput } from '../../components/search-input.tsx';
import { Empty } from '../../components/states.tsx';
import { useFilters } from '../../components/use-filters.ts';
import { useList } from '../../components/use-list.ts';
import { to, useOrg } from '../../paths.ts';
import { pages } from '../../queries.ts';
import { texts } from '../../texts/lists.ts';

export function Members({ prj, pk }: { prj: string; pk: number }) {
  const org = useOrg();
  const [{ search = '' }, setFilters] = useFilters(['search']);
  const path = { org, prj, pk };
  const list = useList(pages('/api/o/{org}/p/{prj}/d/{pk}/members/', { path, query: { ...(search && { search }) } }));
  const activate = useAction({
    run: ({ member, active }: { member: NamedMember; active: boolean }) =>
      take(
        api.PATCH('/api/o/{org}/p/{prj}/d/{pk}/m/{member}/', {
          params: { path: { ...path, member: member.id } },
          body: { active },
        }),
      ),
    done: (_, { member, active }) =>
      active ? texts.activatedToast(member.address) : texts.deactivatedToast(member.address),
    refresh: ['/api/o/{org}/p/{prj}/d/'],
  });
  const remove = useConfirmedAction({
    question: member => ({
      title: texts.removeQuestion(member.address),
      children: texts.removeHint,
      action: texts.remove,
      danger: true,
    }),
    run: (member: NamedMember) =>
      take(api.DELETE('/api/o/{org}/p/{prj}/d/{pk}/m/{member}/', { params: { path: { ...path, member: member.id } } })),
    done: (_, { address }) => texts.removedToast(address),
    refresh: ['/api/o/{org}/p/{prj}/d/'],
  });
  const columns: Column<NamedMember>[] = [
    {
      head: texts.address,
      cell: ({ address, first_name, last_name, user }) => {
        const name = `${first_name} ${last_name}`.trim() || user;
        return (
          <>
            <Anchor component={Link} to={to.user(org, user)} c="inherit" size="sm" fw={500} display="block">
              <span style={{ overflowWrap: 'anywhere' }}>{name}</span>
            </Anchor>
            {name !== address && (
              <Text component="span" size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                {address}
              </Text>
            )}
          </>
        );
      },
    },
    {
      head: texts.active,
      width: 80,
      cell: member => (
        <GuardedSwitch
          permission="distributionlist:write"
          label={texts.notify(member.address)}
          checked={member.active}
          onChange={active => activate.mutate({ member, active })}
        />
      ),
    },
    {
      head: texts.remove,
      hidesHeader: true,
      width: 48,
      align: 'right',
      cell: member => (
        <GuardedIcon
          permission="distributionlist:write"
          label={texts.removeMember(member.address)}
          onClick={() => remove.ask(member)}
        >
          <IconTrash size={15} stroke={1.6} />
        </GuardedIcon>
      ),
    },
  ];
  return (
    <Box className="card">
      <Group p="sm" role="search">
        <SearchInput
          label={texts.searchByNameOrAddress}
          value={search}
          onChange={value => setFilters({ search: value })}
          w={{ base: '100%', xs: 360 }}
        />
      </Group>
      <DataTable
        label={texts.members}
        list={list}
        columns={columns}
        rowKey={({ id }) => id}
        empty={
          search ? (
            <Empty title={texts.noMatches} />
          ) : (
            <Empty icon={<IconUsers size={28} stroke={1.4} />} title={texts.noMembersYet}>
              {texts.noMembersHint}
            </Empty>
          )
        }
      />
    </Box>
  );
}
