/** Groups in chats that follow a schedule, and what became of them. */
import { Box, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { FollowingGroup } from '../../api-types.ts';
import { Facts } from '../../components/facts.tsx';
import { Mark } from '../../components/mark.tsx';
import { Section } from '../../components/page.tsx';
import { Pending } from '../../components/pending.tsx';
import { clockAndDay } from '../../components/time.tsx';
import { liveMs } from '../../components/use-list.ts';
import { read } from '../../queries.ts';
import { texts } from '../../texts/schedules.ts';
import type { SchedulePath } from './overrides.tsx';

const stateColors = { pending: 'gray', current: 'teal', kept: 'yellow', failing: 'red' } as const;

export function FollowingGroups({ path }: { path: SchedulePath }) {
  const { data, error, refetch } = useQuery({
    ...read('/api/o/{org}/p/{prj}/schedules/{schedule}/groups/', { path }),
    refetchInterval: liveMs,
  });
  return (
    <Section title={texts.groups}>
      {!data && <Pending query={{ error, refetch }} />}
      <Stack gap="md" component="ul" p={0} m={0} style={{ listStyle: 'none' }}>
        {data?.map(group => (
          <li key={`${group.channel} ${group.group}`}>
            <OneGroup of={group} />
          </li>
        ))}
      </Stack>
    </Section>
  );
}

function OneGroup({ of }: { of: FollowingGroup }) {
  const { channel, group, state, members, left_out, updated_at, error, next_attempt_at } = of;
  return (
    <>
      <Group gap={8} mb={4}>
        <Text size="sm" fw={500} style={{ overflowWrap: 'anywhere' }}>{`${channel} ${group}`}</Text>
        <Mark color={stateColors[state]}>{texts.groupStates[state]}</Mark>
      </Group>
      {state === 'kept' && (
        <Text size="sm" mb={4}>
          {texts.groupKept}
        </Text>
      )}
      <Facts
        facts={[
          [texts.groupMembers, members.length > 0 ? members.join(', ') : texts.noOne],
          [texts.groupUpdated, updated_at === null ? texts.notYet : clockAndDay(String(updated_at))],
          ...(left_out.length > 0
            ? [[texts.groupLeftOut, <LeftOut key="left-out" of={left_out} />] as [string, ReactNode]]
            : []),
          ...(error !== null
            ? [
                [
                  texts.groupError,
                  next_attempt_at === null
                    ? error
                    : texts.groupNextAttempt(error, clockAndDay(String(next_attempt_at))),
                ] as [string, ReactNode],
              ]
            : []),
        ]}
      />
    </>
  );
}

function LeftOut({ of }: { of: FollowingGroup['left_out'] }) {
  return of.map(({ user, reason }) => <Box key={user}>{texts.leftOut(user, reason)}</Box>);
}
