import { ActionIcon, Box, Menu, Modal, Text, Tooltip } from '@mantine/core';
import { IconBan, IconDots, IconKey, IconPencil, IconPlus, IconRefresh, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api.ts';
import type { Key } from '../../api-types.ts';
import { GuardedButton, useAction } from '../../components/actions.tsx';
import { confirm } from '../../components/confirm.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { GuardedItem } from '../../components/guarded.tsx';
import { Mark } from '../../components/mark.tsx';
import { Page } from '../../components/page.tsx';
import { Empty } from '../../components/states.tsx';
import { exactTime, TimeAgo } from '../../components/time.tsx';
import { useOrg } from '../../places.ts';
import { EditKey, RotateKey } from './change-key.tsx';
import { NewKey } from './new-key.tsx';

const icon = { size: 15, stroke: 1.6 };
type Open = { what: 'new' } | { what: 'edit' | 'rotate'; of: Key };

export default function Keys() {
  const org = useOrg();
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const { data, isPending, error, refetch } = useQuery({
    queryKey: [org, 'keys'],
    queryFn: ({ signal }) => take(api.GET('/api/o/{org}/k/', { params: { path: { org } }, signal })),
  });
  // Those that work come first.
  const rows = [...(data ?? [])].sort((a, b) => Number(hasEnded(a)) - Number(hasEnded(b)));
  const create = (
    <GuardedButton permission="key:write" leftSection={<IconPlus size={14} />} onClick={() => setOpen({ what: 'new' })}>
      New key
    </GuardedButton>
  );
  const columns: Column<Key>[] = [
    {
      head: 'Key',
      cell: key => (
        <>
          <Text component="span" size="sm" fw={500} display="block" style={{ overflowWrap: 'anywhere' }}>
            {key.name}
          </Text>
          <Text component="span" size="xs" c="dimmed" className="mono">
            bf_{key.id}_…
          </Text>
        </>
      ),
    },
    { head: 'Reaches', from: 'md', cell: ({ project, application }) => reachOf(project, application) },
    { head: 'May', from: 'sm', cell: ({ permissions }) => <May permissions={permissions} /> },
    { head: 'Last used', from: 'xs', width: 110, cell: ({ last_used_at }) => <TimeAgo at={last_used_at} /> },
    { head: 'Ends', width: 130, cell: key => <Ends of={key} /> },
    {
      head: 'Actions',
      quiet: true,
      width: 48,
      align: 'right',
      cell: key => <KeyMenu of={key} setOpen={setOpen} />,
    },
  ];
  return (
    <Page
      title="Keys"
      description="With a key, a program speaks to the API. Give each program its own, with no more than it needs."
      actions={create}
    >
      <Box className="card">
        <DataTable
          label="Keys"
          list={{ rows, loading: isPending, error, retry: () => void refetch() }}
          columns={columns}
          rowKey={({ id }) => id}
          empty={
            <Empty icon={<IconKey size={28} stroke={1.4} />} title="No key yet" action={create}>
              Your programs need one to trigger events. Begin with one that may trigger and nothing else.
            </Empty>
          }
        />
      </Box>
      <Modal opened={open?.what === 'new'} onClose={close} title={<Heading text="New key" />} size="lg">
        <NewKey onClose={close} />
      </Modal>
      <Modal
        opened={open?.what === 'edit'}
        onClose={close}
        title={<Heading text={open?.what === 'edit' ? `Change ${open.of.name}` : ''} />}
      >
        {open?.what === 'edit' && <EditKey of={open.of} onClose={close} />}
      </Modal>
      <Modal
        opened={open?.what === 'rotate'}
        onClose={close}
        title={<Heading text={open?.what === 'rotate' ? `Rotate ${open.of.name}` : ''} />}
        size="lg"
      >
        {open?.what === 'rotate' && <RotateKey of={open.of} onClose={close} />}
      </Modal>
    </Page>
  );
}

function Heading({ text }: { text: string }) {
  return (
    <Text component="span" fw={600}>
      {text}
    </Text>
  );
}

function hasEnded({ revoked_at, expires_at }: Key): boolean {
  return revoked_at !== null || (expires_at !== null && Date.parse(expires_at) < Date.now());
}

function reachOf(project: string | null, application: string | null): string {
  if (!project) return 'The organization';
  return application ? `${project}/${application}` : project;
}

function May({ permissions }: { permissions: string[] }) {
  if (permissions.includes('*')) return 'Everything';
  const shown = permissions.slice(0, 2).join(', ');
  const more = permissions.length - 2;
  return (
    <Tooltip label={permissions.join(', ')} multiline maw={320}>
      <Text component="span" size="sm" tabIndex={more > 0 ? 0 : undefined}>
        {shown}
        {more > 0 && ` and ${more} more`}
      </Text>
    </Tooltip>
  );
}

function Ends({ of: key }: { of: Key }) {
  if (key.revoked_at) {
    return (
      <Mark color="red" meaning={`Revoked on ${exactTime(key.revoked_at)}`}>
        revoked
      </Mark>
    );
  }
  if (!key.expires_at) {
    return (
      <Text component="span" inherit c="dimmed">
        Never
      </Text>
    );
  }
  return hasEnded(key) ? (
    <Mark color="gray" meaning={`Expired on ${exactTime(key.expires_at)}`}>
      expired
    </Mark>
  ) : (
    <TimeAgo at={key.expires_at} />
  );
}

function KeyMenu({ of: key, setOpen }: { of: Key; setOpen: (open: Open) => void }) {
  const org = useOrg();
  const revoke = useAction({
    run: () => take(api.POST('/api/o/{org}/k/revoke/', { params: { path: { org } }, body: { key: key.id } })),
    done: `${key.name} is refused from now on.`,
    refresh: [[org, 'keys']],
  });
  const remove = useAction({
    run: () => take(api.DELETE('/api/o/{org}/k/{key}/', { params: { path: { org, key: key.id } } })),
    done: `Deleted ${key.name}.`,
    refresh: [[org, 'keys']],
  });
  const askRevoke = async () => {
    const sure = await confirm({
      title: `Revoke ${key.name}?`,
      children: 'Whatever uses it is refused within a second. To change over without a gap, rotate it instead.',
      action: 'Revoke',
      danger: true,
    });
    if (sure) revoke.mutate(undefined);
  };
  const askRemove = async () => {
    const sure = await confirm({
      title: `Delete ${key.name}?`,
      children: 'It no longer works anyway; its name becomes free. What it did stays in the audit log.',
      action: 'Delete',
      danger: true,
    });
    if (sure) remove.mutate(undefined);
  };
  const ended = hasEnded(key);
  return (
    <Menu position="bottom-end" shadow="md" keepMounted={false}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`More about ${key.name}`}>
          <IconDots {...icon} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {!ended && (
          <>
            <GuardedItem
              permission="key:write"
              icon={<IconPencil {...icon} />}
              onClick={() => setOpen({ what: 'edit', of: key })}
            >
              Change…
            </GuardedItem>
            <GuardedItem
              permission="key:write"
              icon={<IconRefresh {...icon} />}
              onClick={() => setOpen({ what: 'rotate', of: key })}
            >
              Rotate…
            </GuardedItem>
            <GuardedItem permission="key:write" icon={<IconBan {...icon} />} danger onClick={() => void askRevoke()}>
              Revoke…
            </GuardedItem>
          </>
        )}
        {ended && (
          <GuardedItem permission="key:write" icon={<IconTrash {...icon} />} danger onClick={() => void askRemove()}>
            Delete…
          </GuardedItem>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
