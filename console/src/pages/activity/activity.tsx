/** Every delivery of the organization, newest first. */

import { Anchor, Box, Group, Select, Text, TextInput } from '@mantine/core';
import { IconListSearch } from '@tabler/icons-react';
import { useState } from 'react';
import type { PastDelivery } from '../../api-types.ts';
import { getChannelType } from '../../channel-types.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { EventPath } from '../../components/event-path.tsx';
import { Page } from '../../components/page.tsx';
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
import { to, useOrg } from '../../paths.ts';
import { pages, sinceHours } from '../../queries.ts';
import { texts } from '../../texts/activity.ts';
import { dotted } from '../../texts/isolated.ts';
import { SelectionBar } from './selection.tsx';

const custom = 'custom';
const periods = [
  { value: '1', label: texts.lastHour },
  { value: '24', label: texts.last24Hours },
  { value: '168', label: texts.last7Days },
  { value: '720', label: texts.last30Days },
  { value: custom, label: texts.customRange },
];

const columns: Column<PastDelivery>[] = [
  { head: texts.recipient, cell: ({ user, address }) => <Recipient user={user} address={address} /> },
  {
    head: texts.event,
    from: 'sm',
    cell: ({ event, notification, channel }) => (
      <>
        <Text size="sm">
          <EventPath path={event} />
        </Text>
        <Text size="xs" c="dimmed">
          {dotted(notification, channel)}
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
    head: texts.when,
    align: 'right',
    width: 110,
    from: 'xs',
    cell: ({ sent_at, created_at }) => <TimeAgo at={sent_at ?? created_at} />,
  },
];

const keyOf = ({ occurrence, id }: PastDelivery) => `${occurrence} ${id}`;

/** Converts the value of a datetime-local input; undefined if it is not a date. */
function toTimestamp(local: string | undefined): string | undefined {
  const at = local ? new Date(local) : undefined;
  return at && !Number.isNaN(at.getTime()) ? at.toISOString() : undefined;
}

export default function Activity() {
  const org = useOrg();
  const [filters, setFilters] = useFilters(['user', 'status', 'channel', 'type', 'hours', 'from', 'to', 'cause']);
  const { user, status, channel, type, hours, from, to: end, cause } = filters;
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const { data: resources } = useEvents();
  const since = hours === custom ? toTimestamp(from) : undefined;
  const until = hours === custom ? toTimestamp(end) : undefined;
  const list = useList(
    pages(
      '/api/o/{org}/activity/',
      {
        path: { org },
        query: {
          ...(user && { user }),
          ...filterByStatus(status),
          ...(channel && { channel }),
          ...(type && { type }),
          ...(since && { since }),
          ...(until && { until }),
          ...(cause && { cause }),
        },
      },
      sinceHours(hours),
    ),
    { live: true },
  );
  const chosen = list.rows.filter(row => selected.has(keyOf(row)));
  const types = [...new Set(resources?.channels.map(each => each.type))];
  const filter = (changes: Parameters<typeof setFilters>[0]) => {
    setSelected(new Set());
    setFilters(changes);
  };
  const select = { size: 'xs', clearable: true, flex: '1 1 130px', maw: 190 } as const;

  return (
    <Page title={texts.activity} description={texts.everyDelivery}>
      <Box className="card">
        <Group p="sm" gap="xs" role="search" aria-label={texts.filterActivity}>
          <SearchInput
            label={texts.searchByRecipient}
            value={user ?? ''}
            onChange={value => filter({ user: value })}
            flex={1}
            miw={220}
          />
          <Select
            {...select}
            aria-label={texts.status}
            placeholder={texts.anyStatus}
            data={statusFilters}
            value={status ?? null}
            onChange={value => filter({ status: value })}
          />
          <Select
            {...select}
            aria-label={texts.channel}
            placeholder={texts.anyChannel}
            data={[...new Set(resources?.channels.map(each => each.slug))]}
            value={channel ?? null}
            onChange={value => filter({ channel: value })}
          />
          <Select
            {...select}
            aria-label={texts.type}
            placeholder={texts.anyType}
            data={types.map(value => ({ value, label: getChannelType(value).name }))}
            value={type ?? null}
            onChange={value => filter({ type: value })}
          />
          <Select
            {...select}
            aria-label={texts.period}
            placeholder={texts.anyTime}
            data={periods}
            value={hours ?? null}
            onChange={value => filter({ hours: value, from: null, to: null })}
          />
          {hours === custom && (
            <>
              <TextInput
                size="xs"
                type="datetime-local"
                aria-label={texts.from}
                value={from ?? ''}
                onChange={event => filter({ from: event.currentTarget.value })}
              />
              <TextInput
                size="xs"
                type="datetime-local"
                aria-label={texts.to}
                value={end ?? ''}
                onChange={event => filter({ to: event.currentTarget.value })}
              />
            </>
          )}
        </Group>
        {cause && (
          <Group px="sm" pb="sm" gap="xs">
            <Text size="sm">{texts.oneCause}</Text>
            <Anchor component="button" size="sm" onClick={() => filter({ cause: null })}>
              {texts.showAllDeliveries}
            </Anchor>
          </Group>
        )}
        {chosen.length > 0 && <SelectionBar rows={chosen} clear={() => setSelected(new Set())} />}
        <DataTable
          label={texts.activity}
          list={list}
          columns={columns}
          rowKey={keyOf}
          rowTo={row => to.delivery(org, row.occurrence, row.id)}
          selection={{
            selected,
            onChange: setSelected,
            label: row => texts.selectDelivery(row.user ?? row.address ?? texts.deletedUser),
          }}
          empty={
            Object.keys(filters).length > 0 ? (
              <Empty icon={<IconListSearch size={24} stroke={1.4} />} title={texts.noMatches}>
                {texts.removeAFilter}
              </Empty>
            ) : (
              <Empty icon={<IconListSearch size={24} stroke={1.4} />} title={texts.nothingSentYet}>
                {texts.triggerAnEvent}
              </Empty>
            )
          }
        />
      </Box>
    </Page>
  );
}
