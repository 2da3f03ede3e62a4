/** Permanently failed deliveries, which need a manual retry. */
import { Text } from '@mantine/core';
import { IconCircleCheck, IconRefresh } from '@tabler/icons-react';
import { api } from '../../api.ts';
import type { PastDelivery } from '../../api-types.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { EventPath } from '../../components/event-path.tsx';
import { Section } from '../../components/page.tsx';
import { Reason } from '../../components/reason.tsx';
import { Empty } from '../../components/states.tsx';
import { DeliveryBadge } from '../../components/status.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { useList } from '../../components/use-list.ts';
import { to, useOrg } from '../../paths.ts';
import { useRetry } from '../../replay/use-retry.tsx';
import { texts } from '../../texts/overview.ts';

const columns: Column<PastDelivery>[] = [
  {
    head: texts.recipient,
    cell: ({ user, address }) => (
      <Text component="span" size="sm" fw={500} style={{ overflowWrap: 'anywhere' }}>
        {user ?? address ?? texts.deletedUser}
      </Text>
    ),
  },
  {
    head: texts.event,
    from: 'sm',
    cell: ({ event, channel }) => (
      <>
        <Text size="sm">
          <EventPath path={event} />
        </Text>
        <Text size="xs" c="dimmed">
          {channel}
        </Text>
      </>
    ),
  },
  { head: texts.status, cell: delivery => <DeliveryBadge delivery={delivery} />, width: 160 },
  { head: texts.reason, from: 'md', cell: ({ reason, detail }) => <Reason reason={reason} detail={detail} /> },
  { head: texts.when, align: 'right', from: 'xs', width: 110, cell: ({ created_at }) => <TimeAgo at={created_at} /> },
  { head: texts.retry, hidesHeader: true, align: 'right', width: 90, cell: row => <Retry delivery={row} /> },
];

export function Failures() {
  const org = useOrg();
  const list = useList<PastDelivery>({
    key: [org, 'failures'],
    live: true,
    pageSize: 10,
    fetch: (page, signal) => api.GET('/api/o/{org}/failures/', { params: { path: { org }, query: page }, signal }),
  });
  return (
    <Section title={texts.needsAttention} padded={false}>
      <DataTable
        label={texts.failedDeliveries}
        list={list}
        loadsManually
        columns={columns}
        rowKey={row => `${row.occurrence} ${row.id}`}
        rowTo={row => to.delivery(org, row.occurrence, row.id)}
        empty={
          <Empty icon={<IconCircleCheck size={24} stroke={1.4} />} title={texts.allClear}>
            {texts.allClearHint}
          </Empty>
        }
      />
    </Section>
  );
}

function Retry({ delivery: { occurrence, id, user, status } }: { delivery: PastDelivery }) {
  const retry = useRetry();
  return (
    <GuardedButton
      permission="occurrence:write"
      variant="default"
      size="compact-xs"
      leftSection={<IconRefresh size={12} stroke={1.6} />}
      loading={retry.isPending}
      onClick={() => retry.ask({ occurrence, id, status })}
      aria-label={texts.retryDeliveryTo(user ?? texts.deletedUserInSentence)}
    >
      {texts.retry}
    </GuardedButton>
  );
}
