/** Checklist from an empty organization to the first message: completed steps are ticked, the next one has a button. */
import { Box, Group, Progress, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { GuardedButton } from '../components/actions.tsx';
import { useEvents } from '../components/use-events.ts';
import { findSample } from '../events/samples.ts';
import { NewKey } from '../pages/keys/new-key.tsx';
import { NewUser } from '../pages/users/new-user.tsx';
import { to, useOrg } from '../paths.ts';
import { read } from '../queries.ts';
import { useCan, useSession } from '../session.tsx';
import { texts } from '../texts/overview.ts';
import { StartEvent } from './start-event.tsx';

interface Step {
  name: string;
  hint: string;
  action: string;
  permission: string;
  isDone: boolean;
  run: () => void;
}

export function Checklist() {
  const org = useOrg();
  const navigate = useNavigate();
  const { account } = useSession();
  const [dialog, setDialog] = useState<'event' | 'user' | 'key'>();
  const close = () => setDialog(undefined);
  const { done, event, parent } = useProgress();
  const [firstName = '', ...lastNames] = account.name.split(' ');
  const steps: Step[] = [
    {
      name: texts.addAChannel,
      hint: texts.addAChannelHint,
      action: texts.addChannel,
      permission: 'channel:write',
      isDone: done.channel,
      run: () => void navigate(`${to.newChannel(org)}?type=email&use=smtp&welcome`),
    },
    {
      name: texts.createAnEvent,
      hint: texts.createAnEventHint,
      action: texts.createEvent,
      permission: 'event:write',
      isDone: done.event,
      run: () => setDialog('event'),
    },
    {
      name: texts.writeTheMessage,
      hint: texts.writeTheMessageHint,
      action: texts.writeMessage,
      permission: 'notification:write',
      isDone: done.message,
      run: () => {
        if (!event) return;
        const sample = findSample(event.slug)?.key ?? '';
        void navigate(`${to.notification(org, event.prj, event.app, event.slug, 'new')}?sample=${sample}&welcome`);
      },
    },
    {
      name: texts.addUsers,
      hint: texts.addUsersHint,
      action: texts.addUser,
      permission: 'user:write',
      isDone: done.users,
      run: () => setDialog('user'),
    },
    {
      name: texts.createAnApiKey,
      hint: texts.createAnApiKeyHint,
      action: texts.createKey,
      permission: 'key:write',
      isDone: done.key,
      run: () => setDialog('key'),
    },
    {
      name: texts.triggerTheEvent,
      hint: texts.triggerTheEventHint,
      action: texts.tryIt,
      permission: 'event:trigger',
      isDone: false,
      run: () => event && void navigate(to.event(org, event.prj, event.app, event.slug)),
    },
  ];
  const count = steps.filter(({ isDone }) => isDone).length;
  const next = steps.findIndex(({ isDone }) => !isDone);
  return (
    <Box component="section" className="card" p="md" maw={760} aria-label={texts.gettingStarted}>
      <Group justify="space-between" mb="xs">
        <Title order={2}>{texts.sendYourFirstMessage}</Title>
        <Text size="sm" c="dimmed" className="numbers" role="status">
          {texts.ofDone(count, steps.length)}
        </Text>
      </Group>
      <Progress value={(100 * count) / steps.length} size="sm" mb="md" aria-label={texts.progress} />
      <Stack component="ol" gap={0} className="checklist">
        {steps.map((step, i) => (
          <li key={step.name} data-done={step.isDone || undefined}>
            <ThemeIcon variant={step.isDone ? 'filled' : 'default'} color="teal.8" size={24} radius="xl" aria-hidden>
              {step.isDone ? <IconCheck size={14} stroke={2.4} /> : <span className="numbers">{i + 1}</span>}
            </ThemeIcon>
            <Box flex={1} miw={0}>
              <Text size="sm" fw={600}>
                {step.name}
                {step.isDone && <span className="hidden-text"> {texts.doneSuffix}</span>}
              </Text>
              <Text size="sm" c="dimmed">
                {step.hint}
              </Text>
            </Box>
            {!step.isDone && (
              <GuardedButton
                permission={step.permission}
                variant={i === next ? 'filled' : 'default'}
                disabled={!event && i > 1 && i !== 3 && i !== 4}
                onClick={step.run}
              >
                {step.action}
              </GuardedButton>
            )}
          </li>
        ))}
      </Stack>
      {dialog === 'event' && <StartEvent org={org} parent={parent} close={close} />}
      {dialog === 'user' && (
        <NewUser
          close={close}
          onCreated={close}
          start={{ email: account.email, first_name: firstName, last_name: lastNames.join(' ') }}
        />
      )}
      {dialog === 'key' && <NewKey close={close} name={texts.myApplication} />}
    </Box>
  );
}

/** Returns which steps are done. Data the role cannot read is not requested. */
function useProgress() {
  const org = useOrg();
  const can = useCan();
  const params = { path: { org } };
  const first = { ...params, query: { limit: 1 } };
  const { data: resources } = useEvents();
  const event = resources?.events[0];
  const channels = useQuery({
    ...read('/api/o/{org}/channel/', params),
    enabled: can('channel:read'),
  });
  const details = useQuery({
    ...read('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/n/', {
      path: { org, prj: event?.prj ?? '', app: event?.app ?? '', evt: event?.slug ?? '' },
    }),
    enabled: event !== undefined && can('notification:read'),
  });
  const users = useQuery({
    ...read('/api/o/{org}/u/', first),
    enabled: can('user:read'),
  });
  const keys = useQuery({
    ...read('/api/o/{org}/k/', params),
    enabled: can('key:read'),
  });
  const isNotEmpty = (rows: unknown[] | undefined) => (rows?.length ?? 0) > 0;
  const project = resources?.projects[0];
  return {
    event,
    parent: project && { prj: project.slug, app: project.applications[0] },
    done: {
      channel: isNotEmpty(channels.data),
      event: event !== undefined,
      message: isNotEmpty(details.data),
      users: isNotEmpty(users.data),
      key: isNotEmpty(keys.data),
    },
  };
}
