/** Accounts that can sign in to the organization, their roles, and invites. */
import { Alert, Box, Button, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { IconTrash, IconUnlink, IconUserPlus } from '@tabler/icons-react';
import { api, take } from '../api.ts';
import type { Account, CreatedInvite, Invite } from '../api-types.ts';
import { GuardedButton, useAction } from '../components/actions.tsx';
import { FormModal, useApiForm } from '../components/api-form.tsx';
import { confirm, useConfirmedAction } from '../components/confirm.tsx';
import { CopyBlock } from '../components/copy.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { FormButtons } from '../components/form.tsx';
import { GuardedIcon } from '../components/guarded.tsx';
import { Mark } from '../components/mark.tsx';
import { Page, Section } from '../components/page.tsx';
import { exactTime, TimeAgo } from '../components/time.tsx';
import { useDialogParam } from '../components/use-dialog-param.ts';
import { useList } from '../components/use-list.ts';
import { useOrg } from '../paths.ts';
import { type PathPrefix, pages } from '../queries.ts';
import { useOrganization, useRefusal, useSession } from '../session.tsx';
import { texts } from '../texts/team.ts';

type Role = 'viewer' | 'editor' | 'admin' | 'owner';

const roleMeanings: Record<Role, string> = {
  viewer: texts.viewerMeaning,
  editor: texts.editorMeaning,
  admin: texts.adminMeaning,
  owner: texts.ownerMeaning,
};
const ranks: string[] = ['viewer', 'editor', 'admin', 'owner'];

/** No one can assign a role above their own. */
function useRoles() {
  const own = useOrganization()?.role ?? 'viewer';
  return ranks
    .map(role => ({ value: role, label: role, disabled: ranks.indexOf(role) > ranks.indexOf(own) }))
    .reverse();
}

export default function Team() {
  const org = useOrg();
  const [inviting, setInviting] = useDialogParam();
  return (
    <Page
      title={texts.team}
      description={texts.description}
      actions={
        <GuardedButton
          permission="account:write"
          leftSection={<IconUserPlus size={15} stroke={1.6} />}
          onClick={() => setInviting(true)}
        >
          {texts.inviteMember}
        </GuardedButton>
      }
    >
      <Stack>
        <Accounts key={org} />
        <Invites />
        <Section title={texts.roles}>
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
  const list = useList(pages('/api/o/{org}/account/', { path: { org } }));
  // Administrators of the installation have access to every organization.
  const isOutsider = !list.loading && !list.error && !list.hasMore && !list.rows.some(({ id }) => id === self.id);
  const refresh: PathPrefix[] = ['/api/o/{org}/account/', '/api/session/'];
  const change = useAction({
    run: ({ of, role }: { of: Account; role: string }) =>
      take(
        api.PATCH('/api/o/{org}/account/{account}/', {
          params: { path: { org, account: of.id } },
          body: { role: role as Role },
        }),
      ),
    done: (_, { of, role }) => texts.roleChanged(of.email, role),
    refresh,
  });
  const remove = useConfirmedAction({
    question: of => ({
      title: of.id === self.id ? texts.leaveQuestion : texts.removeQuestion(of.email),
      children: texts.removeHint,
      action: of.id === self.id ? texts.leave : texts.remove,
      danger: true,
    }),
    run: (of: Account) =>
      take(api.DELETE('/api/o/{org}/account/{account}/', { params: { path: { org, account: of.id } } })),
    done: (_, { email }) => texts.removed(email),
    refresh,
  });
  const unlink = useConfirmedAction({
    question: of => ({
      title: texts.unlinkQuestion(of.email),
      children: texts.unlinkHint,
      action: texts.unlinkAction,
      danger: true,
    }),
    run: (of: Account) =>
      take(api.DELETE('/api/o/{org}/account/{account}/identity/', { params: { path: { org, account: of.id } } })),
    done: (_, { email }) => texts.unlinked(email),
    refresh,
  });
  const askChange = async (of: Account, role: string) => {
    const lower = of.id === self.id && ranks.indexOf(role) < ranks.indexOf(of.role);
    const confirmed =
      !lower ||
      (await confirm({
        title: texts.changeOwnRoleQuestion(role),
        children: texts.changeOwnRoleHint,
        action: texts.changeTo(role),
        danger: true,
      }));
    if (confirmed) change.mutate({ of, role });
  };
  const columns: Column<Account>[] = [
    {
      head: texts.account,
      cell: ({ id, name, email }) => (
        <>
          <Text component="span" size="sm" fw={500} display="block" style={{ overflowWrap: 'anywhere' }}>
            {name || email}{' '}
            {id === self.id && (
              <Text component="span" c="dimmed" inherit>
                {texts.you}
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
      head: texts.role,
      width: 130,
      cell: account => (
        <Select
          size="xs"
          w={110}
          aria-label={texts.roleOf(account.email)}
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
      head: texts.twoFactor,
      from: 'md',
      width: 110,
      cell: ({ two_factor }) => <Mark color={two_factor ? 'teal' : 'gray'}>{two_factor ? texts.on : texts.off}</Mark>,
    },
    { head: texts.lastSeen, from: 'sm', width: 130, cell: ({ last_seen_at }) => <TimeAgo at={last_seen_at} /> },
    { head: texts.memberSince, from: 'md', width: 130, cell: ({ created_at }) => <TimeAgo at={created_at} /> },
    {
      head: texts.remove,
      hidesHeader: true,
      width: list.rows.some(({ linked }) => linked) ? 84 : 48,
      align: 'right',
      cell: account => (
        <Group gap={4} wrap="nowrap" justify="flex-end">
          {account.linked && (
            <GuardedIcon
              permission="account:write"
              label={texts.unlink(account.email)}
              onClick={() => unlink.ask(account)}
            >
              <IconUnlink size={15} stroke={1.6} />
            </GuardedIcon>
          )}
          <GuardedIcon
            permission="account:write"
            label={texts.removeMember(account.email)}
            onClick={() => remove.ask(account)}
          >
            <IconTrash size={15} stroke={1.6} />
          </GuardedIcon>
        </Group>
      ),
    },
  ];
  return (
    <Section title={texts.accounts} padded={false}>
      <DataTable
        label={texts.accounts}
        list={list}
        columns={columns}
        rowKey={({ id }) => id}
        empty={
          <Text size="sm" c="dimmed" px="md" pb={isOutsider ? 'xs' : 'md'}>
            {texts.noMembers}
          </Text>
        }
      />
      {isOutsider && (
        <Text size="sm" c="dimmed" px="md" py="sm">
          {texts.notAMember}
        </Text>
      )}
    </Section>
  );
}

function Invites() {
  const org = useOrg();
  const list = useList(pages('/api/o/{org}/invite/', { path: { org } }));
  const revoke = useConfirmedAction({
    question: invite => ({
      title: texts.revokeInviteQuestion(invite.email),
      children: texts.revokeInviteHint,
      action: texts.revoke,
      danger: true,
    }),
    run: (invite: Invite) =>
      take(api.DELETE('/api/o/{org}/invite/{invite}/', { params: { path: { org, invite: invite.id } } })),
    done: (_, { email }) => texts.inviteRevoked(email),
    refresh: ['/api/o/{org}/invite/'],
  });
  const columns: Column<Invite>[] = [
    {
      head: texts.email,
      cell: ({ email }) => <span style={{ overflowWrap: 'anywhere' }}>{email}</span>,
    },
    { head: texts.role, width: 130, cell: ({ role }) => role },
    { head: texts.expires, from: 'xs', width: 130, cell: ({ expires_at }) => <TimeAgo at={expires_at} /> },
    {
      head: texts.revoke,
      hidesHeader: true,
      width: 48,
      align: 'right',
      cell: invite => (
        <GuardedIcon
          permission="account:write"
          label={texts.revokeInvite(invite.email)}
          onClick={() => revoke.ask(invite)}
        >
          <IconTrash size={15} stroke={1.6} />
        </GuardedIcon>
      ),
    },
  ];
  return (
    <Section title={texts.openInvites} padded={false}>
      <DataTable
        label={texts.openInvites}
        list={list}
        columns={columns}
        rowKey={({ id }) => id}
        empty={
          <Text size="sm" c="dimmed" px="md" pb="md">
            {texts.noOpenInvites}
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
    refresh: ['/api/o/{org}/invite/'],
  });
  const { form, action } = inviting;
  return (
    <FormModal
      of={inviting}
      title={texts.inviteAMember}
      submit={texts.createInviteLink}
      close={close}
      result={action.data && <Invited invite={action.data} close={close} />}
    >
      <TextInput label={texts.email} type="email" withAsterisk data-autofocus {...form.getInputProps('email')} />
      <Select
        label={texts.role}
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
        {(invite.link ? texts.shareThisLinkWith : texts.inviteEmailed)(invite.email, exactTime(invite.expires_at))}
      </Text>
      {invite.mail_failure && (
        <Alert color="yellow" variant="light" title={texts.theEmailCouldNotBeSent} role="alert">
          {invite.mail_failure}
        </Alert>
      )}
      {invite.link && <CopyBlock value={invite.link} label={texts.copyTheLink} />}
      <FormButtons>
        <Button onClick={close}>{texts.done}</Button>
      </FormButtons>
    </Stack>
  );
}
