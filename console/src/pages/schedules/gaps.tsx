/** Times at which no one is on call, and people on call who would not be reached. */
import { Anchor, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import type { Gaps as GapsData } from '../../api-types.ts';
import { Mark } from '../../components/mark.tsx';
import { Section } from '../../components/page.tsx';
import { clockAndDay, clockAndDays } from '../../components/time.tsx';
import { to, useOrg } from '../../paths.ts';
import { read } from '../../queries.ts';
import { useCan } from '../../session.tsx';
import { texts } from '../../texts/gaps.ts';

type Gap = GapsData['gaps'][number];

const maxShown = 10;
/** Gaps change when someone changes something, and as time passes. */
const refetchMs = 60_000;

/** Those of one schedule, or of all; nothing without schedules. */
export function Gaps({ of }: { of?: { project: string; schedule: string } }) {
  const org = useOrg();
  const can = useCan();
  const { data } = useQuery({
    ...read('/api/o/{org}/on-call/gaps/', { path: { org }, query: of ?? {} }),
    enabled: can('schedule:read'),
    refetchInterval: refetchMs,
  });
  if (!data || data.schedules === 0) return null;
  const { gaps } = data;
  const others = gaps.length - maxShown;
  return (
    <Section title={texts.gaps}>
      {gaps.length === 0 ? (
        <Text size="sm">{texts.noGaps}</Text>
      ) : (
        <Stack gap="sm" component="ul" p={0} m={0} style={{ listStyle: 'none' }}>
          {gaps.slice(0, maxShown).map(gap => (
            <Line key={`${gap.project}/${gap.schedule} ${gap.kind} ${gap.user} ${gap.from}`} gap={gap} isNamed={!of} />
          ))}
        </Stack>
      )}
      {(others > 0 || !data.complete) && (
        <Text size="xs" c="dimmed" mt="xs">
          {texts.moreGaps}
        </Text>
      )}
    </Section>
  );
}

function Line({ gap, isNamed }: { gap: Gap; isNamed: boolean }) {
  const { project, schedule, user, message, advice, from, until, used_by, kind } = gap;
  const org = useOrg();
  const times = user === null ? clockAndDays(String(from), String(until)) : texts.onCallFrom(clockAndDay(String(from)));
  return (
    <li>
      <Group gap={8}>
        {isNamed && (
          <Anchor component={Link} to={to.schedule(org, project, schedule)} size="sm" fw={500}>
            {`${project}/${schedule}`}
          </Anchor>
        )}
        <Mark color={kind === 'no_one' ? 'red' : 'yellow'}>{texts.gapKinds[kind]}</Mark>
        <Text size="xs" c="dimmed">
          {times}
        </Text>
      </Group>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {user === null ? sentence(message) : texts.gapOf(user, message)}
      </Text>
      <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
        {sentence(advice)}
        {used_by.length > 0 && ` ${texts.affects(used_by.join(', '))}`}
      </Text>
    </li>
  );
}

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
