import { ActionIcon, Menu, Text, Tooltip } from '@mantine/core';
import {
  IconBan,
  IconDots,
  IconKey,
  IconPencil,
  IconPlayerPause,
  IconPlayerPlay,
  IconRefresh,
  IconTrash,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api.ts';
import type { Key } from '../../api-types.ts';
import { useAction } from '../../components/actions.tsx';
import { useConfirmedAction } from '../../components/confirm.tsx';
import type { Column } from '../../components/data-table.tsx';
import { GuardedItem } from '../../components/guarded.tsx';
import { Mark } from '../../components/mark.tsx';
import { TablePage } from '../../components/table-page.tsx';
import { exactTime, TimeAgo } from '../../components/time.tsx';
import { useOrg } from '../../paths.ts';
import { askToPause } from '../../pauses/pause-dialog.tsx';
import { pause, resume } from '../../pauses/resume.ts';
import { permissionName } from '../../permissions.ts';
import { read } from '../../queries.ts';
import { texts } from '../../texts/keys.ts';
import { EditKey, RotateKey } from './change-key.tsx';
import { NewKey } from './new-key.tsx';

const icon = { size: 15, stroke: 1.6 };
type Open = { what: 'edit' | 'rotate'; of: Key };

export default function Keys() {
  const org = useOrg();
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const { data, isPending, error, refetch } = useQuery({
    ...read('/api/o/{org}/k/', { path: { org } }),
  });
  // Active keys come first.
  const rows = [...(data ?? [])].sort((a, b) => Number(hasEnded(a)) - Number(hasEnded(b)));
  const columns: Column<Key>[] = [
    {
      head: texts.key,
      cell: key => (
        <>
          <Text component="span" size="sm" fw={500} display="block" style={{ overflowWrap: 'anywhere' }}>
            {key.name}
            {key.paused && (
              <Mark color="yellow" meaning={key.paused_reason ?? texts.pausedMeaning}>
                {texts.paused}
              </Mark>
            )}
          </Text>
          <Text component="span" size="xs" c="dimmed" className="mono">
            {texts.keyPrefix(key.id)}
          </Text>
        </>
      ),
    },
    { head: texts.scope, from: 'md', cell: ({ project, application }) => scopeOf(project, application) },
    { head: texts.permissions, from: 'sm', cell: ({ permissions }) => <Permissions permissions={permissions} /> },
    { head: texts.lastUsed, from: 'xs', width: 110, cell: ({ last_used_at }) => <TimeAgo at={last_used_at} /> },
    { head: texts.expires, width: 130, cell: key => <Expires of={key} /> },
    {
      head: texts.actions,
      hidesHeader: true,
      width: 48,
      align: 'right',
      cell: key => <KeyMenu of={key} setOpen={setOpen} />,
    },
  ];
  return (
    <TablePage
      title={texts.keys}
      description={texts.description}
      create={{ permission: 'key:write', label: texts.newKey, dialog: close => <NewKey close={close} /> }}
      list={{ rows, loading: isPending, error, retry: () => void refetch() }}
      columns={columns}
      rowKey={({ id }) => id}
      empty={{ icon: IconKey, title: texts.noKeysYet, hint: texts.noKeysHint }}
    >
      {open?.what === 'edit' && <EditKey of={open.of} close={close} />}
      {open?.what === 'rotate' && <RotateKey of={open.of} close={close} />}
    </TablePage>
  );
}

function hasEnded({ revoked_at, expires_at }: Key): boolean {
  return revoked_at !== null || (expires_at !== null && Date.parse(expires_at) < Date.now());
}

function scopeOf(project: string | null, application: string | null): string {
  if (!project) return texts.wholeOrganization;
  return application ? `${project}/${application}` : project;
}

function Permissions({ permissions }: { permissions: string[] }) {
  if (permissions.includes('*')) return texts.allPermissions;
  const shown = permissions.slice(0, 2).map(permissionName).join(', ');
  const more = permissions.length - 2;
  return (
    <Tooltip label={permissions.join(', ')} multiline maw={320}>
      <Text component="span" size="sm" tabIndex={more > 0 ? 0 : undefined}>
        {more > 0 ? texts.morePermissions(shown, more) : shown}
      </Text>
    </Tooltip>
  );
}

function Expires({ of: key }: { of: Key }) {
  if (key.revoked_at) {
    return (
      <Mark color="red" meaning={texts.revokedOn(exactTime(key.revoked_at))}>
        {texts.revoked}
      </Mark>
    );
  }
  if (!key.expires_at) {
    return (
      <Text component="span" inherit c="dimmed">
        {texts.never}
      </Text>
    );
  }
  return hasEnded(key) ? (
    <Mark color="gray" meaning={texts.expiredOn(exactTime(key.expires_at))}>
      {texts.expired}
    </Mark>
  ) : (
    <TimeAgo at={key.expires_at} />
  );
}

function KeyMenu({ of: key, setOpen }: { of: Key; setOpen: (open: Open) => void }) {
  const org = useOrg();
  const revoke = useConfirmedAction({
    question: { title: texts.revokeQuestion(key.name), children: texts.revokeHint, action: texts.revoke, danger: true },
    run: () => take(api.POST('/api/o/{org}/k/revoke/', { params: { path: { org } }, body: { key: key.id } })),
    done: texts.revokedToast(key.name),
    refresh: ['/api/o/{org}/k/'],
  });
  const remove = useConfirmedAction({
    question: { title: texts.deleteQuestion(key.name), children: texts.deleteHint, action: texts.delete, danger: true },
    run: () => take(api.DELETE('/api/o/{org}/k/{key}/', { params: { path: { org, key: key.id } } })),
    done: texts.deletedToast(key.name),
    refresh: ['/api/o/{org}/k/'],
  });
  const ended = hasEnded(key);
  const target = { kind: 'key', path: key.name, id: key.id } as const;
  const resumed = useAction({
    run: () => resume(org, target),
    done: texts.resumedToast(key.name),
    refresh: ['/api/o/{org}/'],
  });
  return (
    <Menu position="bottom-end" shadow="md" keepMounted={false}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={texts.moreActionsFor(key.name)}>
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
              {texts.editMenuItem}
            </GuardedItem>
            <GuardedItem
              permission="key:write"
              icon={<IconRefresh {...icon} />}
              onClick={() => setOpen({ what: 'rotate', of: key })}
            >
              {texts.rotateMenuItem}
            </GuardedItem>
            <GuardedItem
              permission="key:write"
              icon={key.paused ? <IconPlayerPlay {...icon} /> : <IconPlayerPause {...icon} />}
              onClick={() =>
                key.paused
                  ? resumed.mutate(undefined)
                  : askToPause({ name: key.name, run: body => pause(org, target, body) })
              }
            >
              {key.paused ? texts.resume : texts.pause}
            </GuardedItem>
            <GuardedItem
              permission="key:write"
              icon={<IconBan {...icon} />}
              danger
              onClick={() => revoke.ask(undefined)}
            >
              {texts.revokeMenuItem}
            </GuardedItem>
          </>
        )}
        {ended && (
          <GuardedItem
            permission="key:write"
            icon={<IconTrash {...icon} />}
            danger
            onClick={() => remove.ask(undefined)}
          >
            {texts.deleteMenuItem}
          </GuardedItem>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
