/** Digests of an event that are currently collecting messages. */
import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { OpenDigest } from '../api-types.ts';
import { count } from '../components/counts.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { Section } from '../components/page.tsx';
import { clockAndDay, TimeAgo } from '../components/time.tsx';
import { useList } from '../components/use-list.ts';
import { to } from '../paths.ts';
import { pages } from '../queries.ts';
import { useCan } from '../session.tsx';
import { texts } from '../texts/events.ts';
import type { EventPath } from './sample.ts';

function columnsFor(org: string): Column<OpenDigest>[] {
  return [
    {
      head: texts.recipient,
      cell: ({ user, address }) => (
        <>
          <Text size="sm" truncate>
            {user ? (
              <Anchor component={Link} to={to.user(org, user)} inherit>
                {user}
              </Anchor>
            ) : (
              texts.deletedUser
            )}
          </Text>
          <Text size="xs" c="dimmed" truncate>
            {address}
          </Text>
        </>
      ),
    },
    { head: texts.notification, from: 'sm', cell: ({ notification }) => notification ?? texts.deletedNotification },
    { head: texts.channel, from: 'sm', width: 140, cell: ({ channel }) => channel ?? texts.deletedChannel },
    { head: texts.digestGroup, from: 'md', cell: ({ key }) => (key === '' ? texts.everything : key) },
    { head: texts.itemsSoFar, align: 'right', width: 90, cell: ({ items }) => count(items) },
    { head: texts.opened, from: 'md', width: 110, cell: ({ opened_at }) => <TimeAgo at={opened_at} /> },
    {
      head: texts.closes,
      align: 'right',
      width: 150,
      cell: ({ closes_at }) => (closes_at ? clockAndDay(closes_at) : texts.whenResumed),
    },
  ];
}

export function OpenDigests({ path }: { path: EventPath }) {
  return useCan()('occurrence:read') ? <Digests path={path} /> : null;
}

function Digests({ path }: { path: EventPath }) {
  const list = useList(pages('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/digests/', { path }), { live: true, pageSize: 10 });
  if (list.rows.length === 0) return null;
  return (
    <Section title={texts.openDigests} padded={false}>
      <DataTable
        label={texts.openDigests}
        list={list}
        loadsManually
        columns={columnsFor(path.org)}
        rowKey={({ id }) => id}
        empty={null}
      />
    </Section>
  );
}
