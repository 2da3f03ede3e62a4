/** Deliveries of an occurrence: one row per recipient and channel. */
import { Box, Group, Select, Text } from '@mantine/core';
import { IconMailForward } from '@tabler/icons-react';
import { useSearchParams } from 'react-router';
import type { Delivery, Occurrence } from '../../api-types.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Section } from '../../components/page.tsx';
import { Reason, waitsUntil } from '../../components/reason.tsx';
import { Recipient } from '../../components/recipient.tsx';
import { SearchInput } from '../../components/search-input.tsx';
import { Empty } from '../../components/states.tsx';
import { DeliveryBadge } from '../../components/status.tsx';
import { filterByStatus, statusFilters } from '../../components/statuses.ts';
import { TimeAgo } from '../../components/time.tsx';
import { useEvents } from '../../components/use-events.ts';
import { useFilters } from '../../components/use-filters.ts';
import { useList } from '../../components/use-list.ts';
import { useOrg } from '../../paths.ts';
import { pages } from '../../queries.ts';
import { texts } from '../../texts/occurrences.ts';
import { DeliveryDrawer } from './delivery-drawer.tsx';
import { Suppressed } from './suppressed.tsx';
import { explainEmpty } from './timeline-steps.ts';

const columns: Column<Delivery>[] = [
  { head: texts.recipient, cell: ({ user, address }) => <Recipient user={user} address={address} /> },
  {
    head: texts.channel,
    from: 'xs',
    cell: ({ channel, notification }) => (
      <>
        <Text size="sm">{channel ?? '–'}</Text>
        <Text size="xs" c="dimmed">
          {notification}
        </Text>
      </>
    ),
  },
  { head: texts.status, cell: delivery => <DeliveryBadge delivery={delivery} />, width: 160 },
  {
    head: texts.reason,
    from: 'md',
    cell: delivery => <Reason reason={delivery.reason} detail={delivery.detail} until={waitsUntil(delivery)} />,
  },
  {
    head: texts.when,
    align: 'right',
    width: 110,
    from: 'xs',
    cell: ({ sent_at, next_attempt_at, created_at }) => <TimeAgo at={sent_at ?? next_attempt_at ?? created_at} />,
  },
];

interface DeliveriesProps {
  identifier: string;
  live: boolean;
  /** Number of suppressed deliveries. */
  suppressed: number;
  outcome: Occurrence['outcome'];
}

export function Deliveries({ identifier, live, suppressed, outcome }: DeliveriesProps) {
  const org = useOrg();
  const [filters, setFilters] = useFilters(['status', 'user', 'channel']);
  const [search] = useSearchParams();
  const { data: resources } = useEvents();
  // Without a filter, deliveries that need attention come first and suppressed ones are collapsed below.
  const filtered = Object.keys(filters).length > 0;
  const isFolded = !filtered && suppressed > 0;
  const list = useList(
    pages('/api/o/{org}/occurrence/{identifier}/deliveries/', {
      path: { org, identifier },
      query: {
        ...(!filtered && { order: 'attention' as const }),
        ...filterByStatus(filters.status),
        ...(filters.user && { user: filters.user }),
        ...(filters.channel && { channel: filters.channel }),
      },
    }),
    { live },
  );
  const rowTo = ({ id }: Delivery) => {
    const params = new URLSearchParams(search);
    params.set('delivery', String(id));
    return `?${params}`;
  };

  return (
    <Section title={texts.deliveries} padded={false}>
      <Group px="md" pb="sm" gap="xs" role="search" aria-label={texts.filterDeliveries}>
        <SearchInput
          label={texts.searchByUsername}
          value={filters.user ?? ''}
          onChange={value => setFilters({ user: value })}
          flex={1}
          miw={160}
        />
        <Select
          size="xs"
          aria-label={texts.deliveryStatus}
          placeholder={texts.anyStatus}
          clearable
          flex="1 1 120px"
          maw={180}
          data={statusFilters}
          value={filters.status ?? null}
          onChange={value => setFilters({ status: value })}
        />
        <Select
          size="xs"
          aria-label={texts.channel}
          placeholder={texts.anyChannel}
          clearable
          flex="1 1 120px"
          maw={180}
          data={[...new Set(resources?.channels.map(({ slug }) => slug))]}
          value={filters.channel ?? null}
          onChange={value => setFilters({ channel: value })}
        />
      </Group>
      <Box style={{ borderTop: '1px solid var(--line)' }}>
        <DataTable
          label={texts.deliveries}
          list={list}
          columns={columns}
          loadsManually={isFolded}
          rowKey={row => row.id}
          rowTo={rowTo}
          empty={
            isFolded ? null : (
              <Empty
                icon={<IconMailForward size={24} stroke={1.4} />}
                title={filtered ? texts.noMatches : texts.noDeliveries}
              >
                {!filtered && live && explainEmpty(outcome)}
              </Empty>
            )
          }
        />
        {isFolded && <Suppressed {...{ identifier, live, columns, rowTo }} />}
      </Box>
      <DeliveryDrawer identifier={identifier} rows={list.rows} />
    </Section>
  );
}
