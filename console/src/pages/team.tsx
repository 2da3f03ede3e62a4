/** Who may sign in here, and as what. */
import { Alert, Box, Button, Modal, Select, Stack, Text, TextInput } from '@mantine/core';
import { IconTrash, IconUserPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { api, take } from '../api.ts';
import type { Account, Invite } from '../api-types.ts';
import { GuardedButton, useAction } from '../components/actions.tsx';
import { confirm } from '../components/confirm.tsx';
import { CopyBlock } from '../components/copy.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { FormButtons, FormFailure, fieldErrors } from '../components/form.tsx';
import { GuardedIcon } from '../components/guarded.tsx';
import { Mark } from '../components/mark.tsx';
import { Page, Section } from '../components/page.tsx';
import { exactTime, TimeAgo } from '../components/time.tsx';
import { useList } from '../components/use-list.ts';
import { useOrg } from '../places.ts';
import { sessionQuery, useOrganization, useRefusal, useSession } from '../session.tsx';

type Role = 'viewer' | 'editor' | 'admin' | 'owner';

const roleMeanings: Record<Role, string> = {
  viewer: 'Sees everything but keys and the audit log',
  editor: 'Also changes events, messages, people and lists, and triggers',
  admin: 'Also channels, keys, the team and settings',
  owner: 'Everything, deleting the organization included',
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
      description="Who may sign in and work here. A role includes those below it."
      actions={
        <GuardedButton
          permission="account:write"
          leftSection={<IconUserPlus size={15} stroke={1.6} />}
          onClick={() => setInviting(true)}
        >
          Invite somebody
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
      <Modal
        opened={inviting}
        onClose={() => setInviting(false)}
        title={
          <Text component="span" fw={600}>
            Invite somebody
          </Text>
        }
      >
        <InviteForm onClose={() => setInviting(false)} />
      </Modal>
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
    done: (_, { of, role }) => `${of.email} is ${role} now.`,
    refresh,
  });
  const remove = useAction({
    run: (of: Account) =>
      take(api.DELETE('/api/o/{org}/account/{account}/', { params: { path: { org, account: of.id } } })),
    done: (_, { email }) => `${email} is no longer a member.`,
    refresh,
  });
  const askChange = async (of: Account, role: string) => {
    const lower = of.id === self.id && ranks.indexOf(role) < ranks.indexOf(of.role);
    const sure =
      !lower ||
      (await confirm({
        title: `Give up being ${of.role}?`,
        children: 'You cannot take it back yourself: somebody else must give it to you again.',
        action: `Become ${role}`,
        danger: true,
      }));
    if (sure) change.mutate({ of, role });
  };
  const askRemove = async (of: Account) => {
    const sure = await confirm({
      title: of.id === self.id ? 'Leave this organization?' : `Remove ${of.email}?`,
      children: 'The account itself stays, with its other organizations. An invite brings it back.',
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
        empty={<Text p="md">Nobody.</Text>}
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
  const withdraw = useAction({
    run: (invite: Invite) =>
      take(api.DELETE('/api/o/{org}/invite/{invite}/', { params: { path: { org, invite: invite.id } } })),
    done: (_, { email }) => `The invite of ${email} no longer works.`,
    refresh: [[org, 'invites']],
  });
  const ask = async (invite: Invite) => {
    const sure = await confirm({
      title: `Withdraw the invite of ${invite.email}?`,
      children: 'The link that they have stops working.',
      action: 'Withdraw',
      danger: true,
    });
    if (sure) withdraw.mutate(invite);
  };
  const columns: Column<Invite>[] = [
    {
      head: 'Email',
      cell: ({ email }) => <span style={{ overflowWrap: 'anywhere' }}>{email}</span>,
    },
    { head: 'Role', width: 130, cell: ({ role }) => role },
    { head: 'Expires', from: 'xs', width: 130, cell: ({ expires_at }) => <TimeAgo at={expires_at} /> },
    {
      head: 'Withdraw',
      quiet: true,
      width: 48,
      align: 'right',
      cell: invite => (
        <GuardedIcon
          permission="account:write"
          label={`Withdraw the invite of ${invite.email}`}
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
            None. An invite is a link; whoever opens it chooses a password and is in.
          </Text>
        }
      />
    </Section>
  );
}

function InviteForm({ onClose }: { onClose: () => void }) {
  const org = useOrg();
  const roles = useRoles();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState('editor');
  const invite = useAction({
    run: () =>
      take(api.POST('/api/o/{org}/invite/', { params: { path: { org } }, body: { email, role: role as Role } })),
    refresh: [[org, 'invites']],
    quiet: true,
  });
  const errors = fieldErrors(invite.error);
  if (invite.data) {
    return (
      <Stack gap="sm">
        <Text size="sm" role="status">
          {invite.data.mailed
            ? `We emailed an invite to ${invite.data.email}. You can also share this link.`
            : `Share this link with ${invite.data.email}.`}{' '}
          It is shown once and works until {exactTime(invite.data.expires_at)}.
        </Text>
        {invite.data.mail_failure && (
          <Alert color="yellow" variant="light" title="The email could not be sent" role="alert">
            {invite.data.mail_failure}
          </Alert>
        )}
        <CopyBlock value={invite.data.link} label="Copy the link" />
        <FormButtons>
          <Button onClick={onClose}>Done</Button>
        </FormButtons>
      </Stack>
    );
  }
  return (
    <form
      noValidate
      onSubmit={event => {
        event.preventDefault();
        invite.mutate(undefined);
      }}
    >
      <Stack gap="sm">
        <TextInput
          label="Email"
          type="email"
          withAsterisk
          value={email}
          error={errors.email}
          onChange={event => setEmail(event.currentTarget.value)}
          data-autofocus
        />
        <Select
          label="Role"
          description={roleMeanings[role as Role]}
          data={roles}
          value={role}
          error={errors.role}
          onChange={value => setRole(value ?? 'editor')}
          allowDeselect={false}
        />
        <FormFailure error={invite.error} shown={['email', 'role']} />
        <FormButtons>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={invite.isPending}>
            Invite
          </Button>
        </FormButtons>
      </Stack>
    </form>
  );
}
