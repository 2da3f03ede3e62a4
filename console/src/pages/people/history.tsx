/** Everything that was meant for somebody, the newest first. */
import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import { api } from '../../api.ts';
import type { PastDelivery } from '../../api-types.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Section } from '../../components/page.tsx';
import { Reason } from '../../components/reason.tsx';
import { StatusBadge } from '../../components/status.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { useList } from '../../components/use-list.ts';
import { to, useOrg } from '../../places.ts';
import { personKey } from './person-key.ts';

export function History({ username }: { username: string }) {
  const org = useOrg();
  const list = useList<PastDelivery>({
    key: [...personKey(org, username), 'deliveries'],
    live: true,
    fetch: (query, signal) =>
      api.GET('/api/o/{org}/u/{username}/deliveries/', { params: { path: { org, username }, query }, signal }),
  });
  const columns: Column<PastDelivery>[] = [
    {
      head: 'Message',
      cell: ({ event, notification, channel }) => (
        <>
          <Text component="span" display="block" size="sm" fw={500} style={{ overflowWrap: 'anywhere' }}>
            {notification ?? 'Deleted notification'}
          </Text>
          <Text component="span" display="block" size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {[event, channel].filter(Boolean).join(' · ')}
          </Text>
        </>
      ),
    },
    { head: 'Status', cell: ({ status }) => <StatusBadge status={status} />, width: 120 },
    { head: 'Reason', from: 'lg', cell: ({ reason, detail }) => <Reason reason={reason} detail={detail} /> },
    {
      head: 'Occurrence',
      from: 'xs',
      width: 120,
      cell: ({ occurrence }) => (
        <Anchor component={Link} to={to.occurrence(org, occurrence)} size="xs" className="mono">
          …{occurrence.slice(-8)}
        </Anchor>
      ),
    },
    {
      head: 'When',
      align: 'right',
      width: 110,
      from: 'xs',
      cell: ({ sent_at, created_at }) => <TimeAgo at={sent_at ?? created_at} />,
    },
  ];
  return (
    <Section title="Delivery history" padded={false}>
      <DataTable
        label="Deliveries"
        list={list}
        columns={columns}
        rowKey={({ occurrence, id }) => `${occurrence} ${id}`}
        rowTo={({ occurrence, id }) => to.delivery(org, occurrence, id, username)}
        empty={
          <Text size="sm" c="dimmed" px="md" pb="md">
            No deliveries yet.
          </Text>
        }
      />
    </Section>
  );
}
