/** Who may sign in here, and as what. */
import { Alert, Box, Button, Select, Stack, Text, TextInput } from '@mantine/core';
import { IconTrash, IconUserPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { api, take } from '../api.ts';
import type { Account, CreatedInvite, Invite } from '../api-types.ts';
import { GuardedButton, useAction } from '../components/actions.tsx';
import { FormModal, useApiForm } from '../components/api-form.tsx';
import { confirm } from '../components/confirm.tsx';
import { CopyBlock } from '../components/copy.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { FormButtons } from '../components/form.tsx';
import { GuardedIcon } from '../components/guarded.tsx';
import { Mark } from '../components/mark.tsx';
import { Page, Section } from '../components/page.tsx';
import { exactTime, TimeAgo } from '../components/time.tsx';
import { useList } from '../components/use-list.ts';
import { useOrg } from '../places.ts';
import { sessionQuery, useOrganization, useRefusal, useSession } from '../session.tsx';

type Role = 'viewer' | 'editor' | 'admin' | 'owner';

const roleMeanings: Record<Role, string> = {
  viewer: 'Views everything except keys and the audit log',
  editor: 'Also edits events, messages, people and lists, and triggers events',
  admin: 'Also manages channels, keys, the team and settings',
  owner: 'Full access, including deleting the organization',
};
const ranks: string[] = ['viewer', 'editor', 'admin', 'owner'];

/** Nobody gives a role above their own. */
function useRoles() {
  const own = useOrganization()?.role ?? 'viewer';
  return ranks
    .map(role => ({ value: role, label: role, disabled: ranks.indexOf(role) > ranks.indexOf(own) }))
    .reverse();
}

export default function Team() {
  const org = useOrg();
  const [inviting, setInviting] = useState(false);
  return (
    <Page
      title="Team"
      description="People who can sign in to this organization. Each role includes the ones below it."
      actions={
        <GuardedButton
          permission="account:write"
          leftSection={<IconUserPlus size={15} stroke={1.6} />}
          onClick={() => setInviting(true)}
        >
          Invite member
        </GuardedButton>
      }
    >
      <Stack>
        <Accounts key={org} />
        <Invites />
        <Section title="Roles">
          <Box component="dl" className="facts" m={0}>
            {[...ranks].reverse().map(role => (
              <div key={role}>
                <Text component="dt" size="sm" fw={500}>
                  {role}
                </Text>
                <Text component="dd" size="sm" c="dimmed" m={0}>
                  {roleMeanings[role as Role]}
                </Text>
              </div>
            ))}
          </Box>
        </Section>
      </Stack>
      {inviting && <InviteForm close={() => setInviting(false)} />}
    </Page>
  );
}

function Accounts() {
  const org = useOrg();
  const { account: self } = useSession();
  const refusal = useRefusal()('account:write');
  const roles = useRoles();
  const list = useList<Account>({
    key: [org, 'accounts'],
    fetch: (query, signal) => api.GET('/api/o/{org}/account/', { params: { path: { org }, query }, signal }),
  });
  const refresh = [[org, 'accounts'], sessionQuery.queryKey];
  const change = useAction({
    run: ({ of, role }: { of: Account; role: string }) =>
      take(
        api.PATCH('/api/o/{org}/account/{account}/', {
          params: { path: { org, account: of.id } },
          body: { role: role as Role },
        }),
      ),
    done: (_, { of, role }) => `${of.email} is now ${role}.`,
    refresh,
  });
  const remove = useAction({
    run: (of: Account) =>
      take(api.DELETE('/api/o/{org}/account/{account}/', { params: { path: { org, account: of.id } } })),
    done: (_, { email }) => `Removed ${email}.`,
    refresh,
  });
  const askChange = async (of: Account, role: string) => {
    const lower = of.id === self.id && ranks.indexOf(role) < ranks.indexOf(of.role);
    const sure =
      !lower ||
      (await confirm({
        title: `Change your own role to ${role}?`,
        children: 'You cannot undo this yourself. Another member has to give you the role again.',
        action: `Change to ${role}`,
        danger: true,
      }));
    if (sure) change.mutate({ of, role });
  };
  const askRemove = async (of: Account) => {
    const sure = await confirm({
      title: of.id === self.id ? 'Leave this organization?' : `Remove ${of.email}?`,
      children: 'The account keeps its other organizations. You can invite it again.',
      action: of.id === self.id ? 'Leave' : 'Remove',
      danger: true,
    });
    if (sure) remove.mutate(of);
  };
  const columns: Column<Account>[] = [
    {
      head: 'Account',
      cell: ({ id, name, email }) => (
        <>
          <Text component="span" size="sm" fw={500} display="block" style={{ overflowWrap: 'anywhere' }}>
            {name || email}
            {id === self.id && (
              <Text component="span" c="dimmed" inherit>
                {' '}
                (you)
              </Text>
            )}
          </Text>
          <Text component="span" size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {email}
          </Text>
        </>
      ),
    },
    {
      head: 'Role',
      width: 130,
      cell: account => (
        <Select
          size="xs"
          w={110}
          aria-label={`Role of ${account.email}`}
          data={roles}
          value={account.role}
          allowDeselect={false}
          disabled={refusal !== undefined || roles.find(({ value }) => value === account.role)?.disabled}
          title={refusal}
          onChange={role => role && role !== account.role && void askChange(account, role)}
        />
      ),
    },
    {
      head: 'Two-factor',
      from: 'md',
      width: 110,
      cell: ({ two_factor }) => <Mark color={two_factor ? 'teal' : 'gray'}>{two_factor ? 'On' : 'Off'}</Mark>,
    },
    { head: 'Last seen', from: 'sm', width: 130, cell: ({ last_seen_at }) => <TimeAgo at={last_seen_at} /> },
    { head: 'Member since', from: 'md', width: 130, cell: ({ created_at }) => <TimeAgo at={created_at} /> },
    {
      head: 'Remove',
      quiet: true,
      width: 48,
      align: 'right',
      cell: account => (
        <GuardedIcon
          permission="account:write"
          label={`Remove ${account.email}`}
          onClick={() => void askRemove(account)}
        >
          <IconTrash size={15} stroke={1.6} />
        </GuardedIcon>
      ),
    },
  ];
  return (
    <Section title="Accounts" padded={false}>
      <DataTable
        label="Accounts"
        list={list}
        columns={columns}
        rowKey={({ id }) => id}
        empty={<Text p="md">No accounts.</Text>}
      />
    </Section>
  );
}

function Invites() {
  const org = useOrg();
  const list = useList<Invite>({
    key: [org, 'invites'],
    fetch: (query, signal) => api.GET('/api/o/{org}/invite/', { params: { path: { org }, query }, signal }),
  });
  const revoke = useAction({
    run: (invite: Invite) =>
      take(api.DELETE('/api/o/{org}/invite/{invite}/', { params: { path: { org, invite: invite.id } } })),
    done: (_, { email }) => `Revoked the invite for ${email}.`,
    refresh: [[org, 'invites']],
  });
  const ask = async (invite: Invite) => {
    const sure = await confirm({
      title: `Revoke the invite for ${invite.email}?`,
      children: 'The invite link stops working.',
      action: 'Revoke',
      danger: true,
    });
    if (sure) revoke.mutate(invite);
  };
  const columns: Column<Invite>[] = [
    {
      head: 'Email',
      cell: ({ email }) => <span style={{ overflowWrap: 'anywhere' }}>{email}</span>,
    },
    { head: 'Role', width: 130, cell: ({ role }) => role },
    { head: 'Expires', from: 'xs', width: 130, cell: ({ expires_at }) => <TimeAgo at={expires_at} /> },
    {
      head: 'Revoke',
      quiet: true,
      width: 48,
      align: 'right',
      cell: invite => (
        <GuardedIcon
          permission="account:write"
          label={`Revoke the invite for ${invite.email}`}
          onClick={() => void ask(invite)}
        >
          <IconTrash size={15} stroke={1.6} />
        </GuardedIcon>
      ),
    },
  ];
  return (
    <Section title="Open invites" padded={false}>
      <DataTable
        label="Open invites"
        list={list}
        columns={columns}
        rowKey={({ id }) => id}
        empty={
          <Text size="sm" c="dimmed" px="md" pb="md">
            No open invites.
          </Text>
        }
      />
    </Section>
  );
}

function InviteForm({ close }: { close: () => void }) {
  const org = useOrg();
  const roles = useRoles();
  const inviting = useApiForm({
    initialValues: { email: '', role: 'editor' as Role },
    run: body => take(api.POST('/api/o/{org}/invite/', { params: { path: { org } }, body })),
    refresh: [[org, 'invites']],
  });
  const { form, action } = inviting;
  return (
    <FormModal
      of={inviting}
      title="Invite a member"
      submit="Create invite link"
      close={close}
      result={action.data && <Invited invite={action.data} close={close} />}
    >
      <TextInput label="Email" type="email" withAsterisk data-autofocus {...form.getInputProps('email')} />
      <Select
        label="Role"
        description={roleMeanings[form.values.role]}
        data={roles}
        allowDeselect={false}
        {...form.getInputProps('role')}
      />
    </FormModal>
  );
}

function Invited({ invite, close }: { invite: CreatedInvite; close: () => void }) {
  return (
    <Stack gap="sm">
      <Text size="sm" role="status">
        {invite.mailed
          ? `We emailed an invite to ${invite.email}. You can also share this link.`
          : `Share this link with ${invite.email}.`}{' '}
        It is shown once and works until {exactTime(invite.expires_at)}.
      </Text>
      {invite.mail_failure && (
        <Alert color="yellow" variant="light" title="The email could not be sent" role="alert">
          {invite.mail_failure}
        </Alert>
      )}
      <CopyBlock value={invite.link} label="Copy the link" />
      <FormButtons>
        <Button onClick={close}>Done</Button>
      </FormButtons>
    </Stack>
  );
}
