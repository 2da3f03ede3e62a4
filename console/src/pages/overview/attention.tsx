/** Failed deliveries grouped by cause, each with one retry for the whole group. */
import { Anchor, Stack, Text } from '@mantine/core';
import { IconCircleCheck, IconRefresh } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import type { FailureCauses } from '../../api-types.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { Breakable } from '../../components/breakable.tsx';
import { count } from '../../components/counts.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Section } from '../../components/page.tsx';
import { Reason } from '../../components/reason.tsx';
import { Empty } from '../../components/states.tsx';
import { DeliveryBadge } from '../../components/status.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { liveMs } from '../../components/use-list.ts';
import { to, useOrg } from '../../paths.ts';
import { read } from '../../queries.ts';
import { useRetryCause } from '../../replay/use-retry-cause.tsx';
import { texts } from '../../texts/overview.ts';

type Cause = FailureCauses['causes'][number];

const columns: Column<Cause>[] = [
  {
    head: texts.cause,
    cell: ({ example }) => <Reason reason={example.reason} detail={example.detail} />,
  },
  {
    head: texts.channel,
    from: 'sm',
    width: 120,
    cell: ({ channel, project }) => (
      <>
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {channel ?? texts.deletedChannel}
        </Text>
        {project && (
          <Text size="xs" c="dimmed">
            {project}
          </Text>
        )}
      </>
    ),
  },
  { head: texts.status, from: 'md', width: 110, cell: ({ example }) => <DeliveryBadge delivery={example} /> },
  { head: texts.example, from: 'lg', width: 180, cell: ({ example }) => <Example delivery={example} /> },
  {
    head: texts.deliveries,
    align: 'right',
    width: 90,
    cell: ({ deliveries }) => <span className="numbers">{count(deliveries)}</span>,
  },
  { head: texts.since, align: 'right', from: 'xs', width: 100, cell: ({ since }) => <TimeAgo at={since} /> },
  { head: texts.retry, hidesHeader: true, align: 'right', width: 110, cell: row => <Retry cause={row} /> },
];

export function Failures() {
  const org = useOrg();
  const { data, error, isPending, refetch } = useQuery({
    ...read('/api/o/{org}/failures/causes/', { path: { org } }),
    refetchInterval: liveMs,
  });
  return (
    <Section title={texts.needsAttention} padded={false}>
      <DataTable
        label={texts.causesOfFailures}
        list={{
          rows: data?.causes ?? [],
          loading: isPending,
          error: data ? null : error,
          retry: () => void refetch(),
        }}
        columns={columns}
        rowKey={({ cause }) => cause}
        rowTo={({ cause }) => to.failures(org, cause)}
        empty={
          <Empty icon={<IconCircleCheck size={24} stroke={1.4} />} title={texts.allClear}>
            {texts.allClearHint}
          </Empty>
        }
      />
      {data?.capped && (
        <Text size="xs" c="dimmed" px="md" py="xs">
          {texts.newestGrouped(data.checked)}
        </Text>
      )}
    </Section>
  );
}

function Example({ delivery: { occurrence, id, user, address, event } }: { delivery: Cause['example'] }) {
  const org = useOrg();
  return (
    <Stack gap={0}>
      <Anchor component={Link} to={to.delivery(org, occurrence, id)} size="sm" className="tip">
        <Breakable text={user ?? address ?? texts.deletedUser} />
      </Anchor>
      <Text size="xs" c="dimmed">
        <Breakable text={event ?? texts.deletedEvent} />
      </Text>
    </Stack>
  );
}

function Retry({ cause: { cause, channel, deliveries, example } }: { cause: Cause }) {
  const retry = useRetryCause();
  const name = channel ?? texts.deletedChannel;
  return (
    <GuardedButton
      permission="occurrence:write"
      variant="default"
      size="compact-xs"
      leftSection={<IconRefresh size={12} stroke={1.6} />}
      loading={retry.isPending}
      onClick={() => retry.ask({ cause, isUnknown: example.status === 'unknown' })}
      aria-label={texts.retryAllOf(deliveries, name)}
    >
      {deliveries === 1 ? texts.retry : texts.retryAll}
    </GuardedButton>
  );
}
