/** All deliveries to a user, newest first. */

import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { PastDelivery } from '../../api-types.ts';
import { Breakable } from '../../components/breakable.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Section } from '../../components/page.tsx';
import { Reason, waitsUntil } from '../../components/reason.tsx';
import { shortId } from '../../components/short-id.tsx';
import { DeliveryBadge } from '../../components/status.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { useList } from '../../components/use-list.ts';
import { to, useOrg } from '../../paths.ts';
import { pages } from '../../queries.ts';
import { dotted } from '../../texts/isolated.ts';
import { texts } from '../../texts/users.ts';

export function History({ username }: { username: string }) {
  const org = useOrg();
  const list = useList(pages('/api/o/{org}/u/{username}/deliveries/', { path: { org, username } }), { live: true });
  const columns: Column<PastDelivery>[] = [
    {
      head: texts.message,
      cell: ({ event, notification, channel }) => (
        <>
          <Text component="span" display="block" size="sm" fw={500} style={{ overflowWrap: 'anywhere' }}>
            {notification ?? texts.deletedNotification}
          </Text>
          <Text component="span" display="block" size="xs" c="dimmed">
            <Breakable text={dotted(event, channel)} />
          </Text>
        </>
      ),
    },
    { head: texts.status, cell: delivery => <DeliveryBadge delivery={delivery} />, width: 160 },
    {
      head: texts.reason,
      from: 'lg',
      cell: delivery => <Reason reason={delivery.reason} detail={delivery.detail} until={waitsUntil(delivery)} />,
    },
    {
      head: texts.occurrence,
      from: 'xs',
      width: 120,
      cell: ({ occurrence }) => (
        <Anchor component={Link} to={to.occurrence(org, occurrence)} size="xs" className="mono">
          {shortId(occurrence)}
        </Anchor>
      ),
    },
    {
      head: texts.when,
      align: 'right',
      width: 110,
      from: 'xs',
      cell: ({ sent_at, created_at }) => <TimeAgo at={sent_at ?? created_at} />,
    },
  ];
  return (
    <Section title={texts.deliveryHistory} padded={false}>
      <DataTable
        label={texts.deliveries}
        list={list}
        columns={columns}
        rowKey={({ occurrence, id }) => `${occurrence} ${id}`}
        rowTo={({ occurrence, id }) => to.delivery(org, occurrence, id)}
        empty={
          <Text size="sm" c="dimmed" px="md" pb="md">
            {texts.noDeliveriesYet}
          </Text>
        }
      />
    </Section>
  );
}
