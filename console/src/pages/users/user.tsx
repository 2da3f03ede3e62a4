import { Grid, Stack } from '@mantine/core';
import { IconLock, IconLockOpen } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate, useParams } from 'react-router';
import { api, take, takeTagged } from '../../api.ts';
import type { Profile } from '../../api-types.ts';
import { GuardedButton, useAction } from '../../components/actions.tsx';
import { confirm } from '../../components/confirm.tsx';
import { CopyText } from '../../components/copy.tsx';
import { Deletion } from '../../components/deletion.tsx';
import { Facts } from '../../components/facts.tsx';
import { Mark } from '../../components/mark.tsx';
import { MoreMenu } from '../../components/more-menu.tsx';
import { Page, Section } from '../../components/page.tsx';
import { pendingPage } from '../../components/pending.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { to, useOrg } from '../../paths.ts';
import { readTagged } from '../../queries.ts';
import { texts } from '../../texts/users.ts';
import { AbsenceCalendars } from './absence-calendars.tsx';
import { Absences } from './absences.tsx';
import { Addresses } from './addresses.tsx';
import { History } from './history.tsx';
import { Memberships } from './memberships.tsx';
import { PersonalRules } from './personal-rules.tsx';
import { PreferenceHistory } from './preference-history.tsx';
import { PreferenceLink } from './preference-link.tsx';
import { Preferences } from './preferences.tsx';
import { Registrations } from './registrations.tsx';
import { TestPage } from './test-page.tsx';
import { UserForm } from './user-form.tsx';
import { UserInbox } from './user-inbox.tsx';
import { UserQuietHours } from './user-quiet-hours.tsx';
import { UserShifts } from './user-shifts.tsx';

const icon = { size: 15, stroke: 1.6 };

export default function User() {
  const org = useOrg();
  const { username = '' } = useParams();
  const [filled, setFilled] = useState(0);
  // By username. The ETag changes with the actions of this page.
  const [ownEtags, setOwnEtags] = useState<Record<string, string | null>>({});
  const parents = [{ label: texts.users, to: to.users(org) }];
  const { data, error, refetch } = useQuery({
    ...readTagged('/api/o/{org}/u/{username}/profile/', { path: { org, username } }),
  });
  if (!data) return pendingPage(username, parents, { error, refetch });
  const { value: user, etag } = data;
  const keepEtag = (changed: string | null) => setOwnEtags({ [username]: changed });
  const refill = async () => {
    await refetch();
    setOwnEtags({});
    setFilled(count => count + 1);
  };
  return (
    <Page
      title={`${user.first_name} ${user.last_name}`.trim() || user.email}
      parents={parents}
      aside={user.locked && <Mark color="red">{texts.locked}</Mark>}
      actions={<Actions user={user} onChanged={keepEtag} />}
    >
      <Grid>
        <Grid.Col span={{ base: 12, md: 8 }}>
          <Stack>
            <Section title={texts.profile}>
              <UserForm
                key={`${user.username} ${filled}`}
                user={user}
                etag={etag}
                ownEtag={ownEtags[username]}
                refill={refill}
              />
            </Section>
            <Addresses username={username} />
            <PersonalRules key={username} user={user} etag={etag} onSaved={keepEtag} reload={refetch} />
            <Absences username={username} />
            <AbsenceCalendars username={username} />
            <Preferences username={username} />
            <PreferenceHistory username={username} />
            <History username={username} />
            <UserInbox username={username} />
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 4 }}>
          <Stack>
            <Section title={texts.about}>
              <Facts
                facts={[
                  [texts.email, <CopyText key="email" value={user.email} label={texts.copyTheEmail} />],
                  [texts.username, <CopyText key="username" value={user.username} label={texts.copyTheUsername} />],
                  [texts.created, <TimeAgo key="created" at={user.created_at} />],
                  [texts.changed, <TimeAgo key="changed" at={user.updated_at} />],
                ]}
              />
            </Section>
            <Memberships username={username} />
            <Registrations username={username} />
            <TestPage username={username} />
            <UserQuietHours username={username} />
            <UserShifts username={username} />
            <PreferenceLink username={username} />
          </Stack>
        </Grid.Col>
      </Grid>
    </Page>
  );
}

interface ActionsProps {
  user: Profile;
  /** Called with the new ETag of the user. */
  onChanged: (etag: string | null) => void;
}

function Actions({ user, onChanged }: ActionsProps) {
  const org = useOrg();
  const navigate = useNavigate();
  const [deleting, setDeleting] = useState(false);
  const { username, locked, email } = user;
  const path = { org, username };
  const lock = useAction({
    run: (isLocked: boolean) =>
      takeTagged(api.PATCH('/api/o/{org}/u/{username}/profile/', { params: { path }, body: { locked: isLocked } })),
    done: (_, isLocked) => (isLocked ? texts.lockedUser(email) : texts.unlockedUser(email)),
    refresh: ['/api/o/{org}/u/'],
    onDone: ({ etag }) => onChanged(etag),
  });
  const toggleLock = async () => {
    const confirmed =
      locked ||
      (await confirm({
        title: texts.lockQuestion(email),
        children: texts.lockHint,
        action: texts.lock,
      }));
    if (confirmed) lock.mutate(!locked);
  };
  return (
    <>
      <GuardedButton
        permission="user:write"
        variant="default"
        leftSection={locked ? <IconLockOpen {...icon} /> : <IconLock {...icon} />}
        loading={lock.isPending}
        onClick={() => void toggleLock()}
      >
        {locked ? texts.unlock : texts.lock}
      </GuardedButton>
      <MoreMenu permission="user:write" onDelete={() => setDeleting(true)} />
      <Deletion
        opened={deleting}
        onClose={() => setDeleting(false)}
        what={email}
        run={({ dryRun }) =>
          take(
            api.DELETE('/api/o/{org}/u/{username}/', {
              params: { path, query: dryRun ? { dry_run: true } : {} },
            }),
          )
        }
        refresh={['/api/o/{org}/u/']}
        onDeleted={() => void navigate(to.users(org))}
      >
        {texts.deletionHint}
      </Deletion>
    </>
  );
}
