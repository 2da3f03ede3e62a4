import { ActionIcon, Box, Menu, Text, Tooltip } from '@mantine/core';
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
    { head: 'Scope', from: 'md', cell: ({ project, application }) => scopeOf(project, application) },
    { head: 'Permissions', from: 'sm', cell: ({ permissions }) => <Permissions permissions={permissions} /> },
    { head: 'Last used', from: 'xs', width: 110, cell: ({ last_used_at }) => <TimeAgo at={last_used_at} /> },
    { head: 'Expires', width: 130, cell: key => <Expires of={key} /> },
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
      description="API keys for your applications. Give each its own key with only the permissions it needs."
      actions={create}
    >
      <Box className="card">
        <DataTable
          label="Keys"
          list={{ rows, loading: isPending, error, retry: () => void refetch() }}
          columns={columns}
          rowKey={({ id }) => id}
          empty={
            <Empty icon={<IconKey size={28} stroke={1.4} />} title="No keys yet" action={create}>
              Your applications need a key to trigger events. Start with a key that can only trigger.
            </Empty>
          }
        />
      </Box>
      {open?.what === 'new' && <NewKey close={close} />}
      {open?.what === 'edit' && <EditKey of={open.of} close={close} />}
      {open?.what === 'rotate' && <RotateKey of={open.of} close={close} />}
    </Page>
  );
}

function hasEnded({ revoked_at, expires_at }: Key): boolean {
  return revoked_at !== null || (expires_at !== null && Date.parse(expires_at) < Date.now());
}

function scopeOf(project: string | null, application: string | null): string {
  if (!project) return 'Whole organization';
  return application ? `${project}/${application}` : project;
}

function Permissions({ permissions }: { permissions: string[] }) {
  if (permissions.includes('*')) return 'All permissions';
  const shown = permissions.slice(0, 2).join(', ');
  const more = permissions.length - 2;
  return (
    <Tooltip label={permissions.join(', ')} multiline maw={320}>
      <Text component="span" size="sm" tabIndex={more > 0 ? 0 : undefined}>
        {shown}
        {more > 0 && ` +${more} more`}
      </Text>
    </Tooltip>
  );
}

function Expires({ of: key }: { of: Key }) {
  if (key.revoked_at) {
    return (
      <Mark color="red" meaning={`Revoked on ${exactTime(key.revoked_at)}`}>
        Revoked
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
      Expired
    </Mark>
  ) : (
    <TimeAgo at={key.expires_at} />
  );
}

function KeyMenu({ of: key, setOpen }: { of: Key; setOpen: (open: Open) => void }) {
  const org = useOrg();
  const revoke = useAction({
    run: () => take(api.POST('/api/o/{org}/k/revoke/', { params: { path: { org } }, body: { key: key.id } })),
    done: `Revoked ${key.name}.`,
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
      children: 'Requests with this key stop working at once. To switch without downtime, rotate it instead.',
      action: 'Revoke',
      danger: true,
    });
    if (sure) revoke.mutate(undefined);
  };
  const askRemove = async () => {
    const sure = await confirm({
      title: `Delete ${key.name}?`,
      children: 'The key no longer works. Deleting it frees its name; the audit log keeps what it did.',
      action: 'Delete',
      danger: true,
    });
    if (sure) remove.mutate(undefined);
  };
  const ended = hasEnded(key);
  return (
    <Menu position="bottom-end" shadow="md" keepMounted={false}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`More actions for ${key.name}`}>
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
              Edit…
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
