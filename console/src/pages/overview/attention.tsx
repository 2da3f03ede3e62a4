/** What does not go on without a person: what is paused, what nobody has acknowledged, and deliveries that failed for good. */
import { Group, Stack, Text } from '@mantine/core';
import { IconCircleCheck, IconPlayerPlay, IconRefresh } from '@tabler/icons-react';
import { api, take } from '../../api.ts';
import type { PastDelivery, Statistics } from '../../api-types.ts';
import { GuardedButton, useAction } from '../../components/actions.tsx';
import { count } from '../../components/counts.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { EventPath } from '../../components/event-path.tsx';
import { Section } from '../../components/page.tsx';
import { Reason } from '../../components/reason.tsx';
import { Empty } from '../../components/states.tsx';
import { StatusBadge } from '../../components/status.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { useList } from '../../components/use-list.ts';
import { to, useOrg } from '../../places.ts';
import { texts } from '../../texts/overview.ts';
import { Unacknowledged } from './unacknowledged.tsx';

type Paused = Statistics['attention']['paused'][number];

function resume(org: string, { kind, path }: Paused): Promise<{ released: number }> {
  const [a = '', b = '', c = ''] = path.split('/');
  if (kind === 'event') {
    const params = { path: { org, prj: a, app: b, evt: c } };
    return take(api.POST('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/resume/', { params }));
  }
  if (kind === 'application') {
    return take(api.POST('/api/o/{org}/p/{prj}/a/{app}/resume/', { params: { path: { org, prj: a, app: b } } }));
  }
  if (b === '') return take(api.POST('/api/o/{org}/c/{channel}/resume/', { params: { path: { org, channel: a } } }));
  return take(api.POST('/api/o/{org}/p/{prj}/c/{channel}/resume/', { params: { path: { org, prj: a, channel: b } } }));
}

export function Attention({ paused, failures }: { paused: Paused[]; failures: boolean }) {
  return (
    <>
      {paused.length > 0 && (
        <Section title={texts.paused}>
          <Stack gap="xs">
            {paused.map(item => (
              <PausedLine key={`${item.kind} ${item.path}`} item={item} />
            ))}
          </Stack>
        </Section>
      )}
      {failures && <Unacknowledged />}
      {failures && <Failures />}
    </>
  );
}

function PausedLine({ item }: { item: Paused }) {
  const org = useOrg();
  const action = useAction({
    run: () => resume(org, item),
    done: ({ released }) => (released === 0 ? texts.resumed(item.path) : texts.resumed2(item.path, waiting(released))),
    refresh: [[org]],
  });
  return (
    <Group justify="space-between" wrap="nowrap">
      <Text size="sm">
        <Text component="span" inherit c="dimmed">
          {item.kind}
        </Text>{' '}
        <Text component="span" inherit fw={500}>
          {item.path}
        </Text>{' '}
        <Text component="span" inherit c="dimmed">
          <TimeAgo at={item.since} prefix={texts.paused2} />
        </Text>
      </Text>
      <GuardedButton
        permission={item.kind === 'channel' ? 'channel:write' : 'event:write'}
        variant="default"
        leftSection={<IconPlayerPlay size={14} stroke={1.6} />}
        loading={action.isPending}
        onClick={() => action.mutate(undefined)}
        aria-label={texts.resume(item.path)}
      >
        {texts.resume2}
      </GuardedButton>
    </Group>
  );
}

function waiting(released: number): string {
  return released === 1 ? '1 waiting message will now be sent.' : texts.waitingMessagesWillNowBeSent(count(released));
}

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
  { head: texts.status, cell: ({ status }) => <StatusBadge status={status} />, width: 110 },
  { head: texts.reason, from: 'md', cell: ({ reason, detail }) => <Reason reason={reason} detail={detail} /> },
  { head: texts.when, align: 'right', from: 'xs', width: 110, cell: ({ created_at }) => <TimeAgo at={created_at} /> },
  { head: texts.retry, quiet: true, align: 'right', width: 90, cell: row => <Retry delivery={row} /> },
];

function Failures() {
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
        byHand
        columns={columns}
        rowKey={row => `${row.occurrence} ${row.id}`}
        rowTo={row => to.delivery(org, row.occurrence, row.id, row.user)}
        empty={
          <Empty icon={<IconCircleCheck size={24} stroke={1.4} />} title={texts.allClear}>
            {texts.failedDeliveriesAndThoseWithAn}
          </Empty>
        }
      />
    </Section>
  );
}

function Retry({ delivery: { occurrence, id, user } }: { delivery: PastDelivery }) {
  const org = useOrg();
  const retry = useAction({
    run: () =>
      take(
        api.POST('/api/o/{org}/occurrence/{identifier}/deliveries/{delivery}/retry/', {
          params: { path: { org, identifier: occurrence, delivery: id } },
        }),
      ),
    done: texts.sendingAgain,
    refresh: [
      [org, 'failures'],
      [org, 'stats'],
    ],
  });
  return (
    <GuardedButton
      permission="occurrence:write"
      variant="default"
      size="compact-xs"
      leftSection={<IconRefresh size={12} stroke={1.6} />}
      loading={retry.isPending}
      onClick={() => retry.mutate(undefined)}
      aria-label={texts.retryDeliveryTo(user ?? texts.deletedUser2)}
    >
      {texts.retry}
    </GuardedButton>
  );
}
