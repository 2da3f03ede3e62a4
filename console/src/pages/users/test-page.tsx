/** The last test page of someone who is on call at times, and a button that sends one. */
import { Anchor, Group, Stack, Text } from '@mantine/core';
import { IconBellRinging } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { api, take } from '../../api.ts';
import { GuardedButton, useAction } from '../../components/actions.tsx';
import { Facts } from '../../components/facts.tsx';
import { Section } from '../../components/page.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { liveMs } from '../../components/use-list.ts';
import { to, useOrg } from '../../paths.ts';
import { read } from '../../queries.ts';
import { texts } from '../../texts/users.ts';

const path = '/api/o/{org}/u/{username}/test-page/' as const;

/** Nothing for users who get none. */
export function TestPage({ username }: { username: string }) {
  const org = useOrg();
  const { data } = useQuery({ ...read(path, { path: { org, username } }), refetchInterval: liveMs });
  const sending = useAction({
    run: () => take(api.POST(path, { params: { path: { org, username } } })),
    done: texts.testPageSent,
    refresh: ['/api/o/{org}/u/'],
  });
  if (!data || (data.schedule === null && data.occurrence === null)) return null;
  const { schedule, occurrence, sent_at, confirmed_at } = data;
  const sent = sent_at && occurrence && (
    <Anchor component={Link} to={to.occurrence(org, occurrence)} inherit>
      <TimeAgo at={sent_at} />
    </Anchor>
  );
  return (
    <Section title={texts.testPage}>
      <Stack gap="sm">
        <Text size="xs" c="dimmed">
          {texts.testPageHint}
        </Text>
        <Facts
          facts={[
            [texts.testPageSentAt, sent ?? texts.never],
            [texts.testPageConfirmedAt, confirmed_at ? <TimeAgo key="confirmed" at={confirmed_at} /> : texts.never],
          ]}
        />
        {schedule !== null && (
          <Group>
            <GuardedButton
              permission="schedule:override"
              variant="default"
              leftSection={<IconBellRinging size={14} stroke={1.6} />}
              loading={sending.isPending}
              onClick={() => sending.mutate(undefined)}
            >
              {texts.sendTestPage}
            </GuardedButton>
          </Group>
        )}
      </Stack>
    </Section>
  );
}
