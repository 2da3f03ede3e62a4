/** Occurrences waiting to be acknowledged. */
import { Anchor, Group, Stack, Text } from '@mantine/core';
import { IconHandStop } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import type { OccurrenceSummary } from '../../api-types.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { Section } from '../../components/page.tsx';
import { OccurrenceBadge } from '../../components/status.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { liveMs } from '../../components/use-list.ts';
import { useResponses } from '../../components/use-responses.ts';
import { to, useOrg } from '../../paths.ts';
import { read } from '../../queries.ts';
import { texts } from '../../texts/overview.ts';
import { texts as responses } from '../../texts/responses.ts';

const maxShown = 10;

export function Unacknowledged() {
  const org = useOrg();
  const { data = [] } = useQuery({
    ...read('/api/o/{org}/occurrence/', { path: { org }, query: { unacknowledged: true, limit: maxShown } }),
    refetchInterval: liveMs,
  });
  if (data.length === 0) return null;
  return (
    <Section title={texts.waitingForAnAcknowledgement}>
      <Stack gap="xs">
        {data.map(occurrence => (
          <Line key={occurrence.identifier} occurrence={occurrence} />
        ))}
      </Stack>
    </Section>
  );
}

function Line({ occurrence }: { occurrence: OccurrenceSummary }) {
  const { identifier, event, title, dedup_key, created_at } = occurrence;
  const org = useOrg();
  const name = title || (event ?? texts.deletedEvent);
  const { acknowledge } = useResponses(identifier);
  return (
    <Group justify="space-between" wrap="nowrap">
      <Group gap="2px 8px" miw={0}>
        <Anchor
          component={Link}
          to={to.occurrence(org, identifier)}
          size="sm"
          fw={500}
          style={{ overflowWrap: 'anywhere' }}
        >
          {name}
        </Anchor>
        <OccurrenceBadge occurrence={occurrence} />
        {(title || dedup_key) && (
          <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {title ? (event ?? texts.deletedEvent) : dedup_key}
          </Text>
        )}
        <Text size="sm" c="dimmed">
          <TimeAgo at={created_at} />
        </Text>
      </Group>
      <GuardedButton
        permission="occurrence:write"
        variant="default"
        flex="none"
        leftSection={<IconHandStop size={14} stroke={1.6} />}
        loading={acknowledge.isPending}
        onClick={() => acknowledge.mutate(undefined)}
        aria-label={responses.acknowledgeEvent(name)}
      >
        {responses.acknowledge}
      </GuardedButton>
    </Group>
  );
}
