/** A user's in-app inbox. */
import { Box, Group, Text } from '@mantine/core';
import type { InboxMessage } from '../../api-types.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Mark } from '../../components/mark.tsx';
import { Section } from '../../components/page.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { useList } from '../../components/use-list.ts';
import { to, useOrg } from '../../paths.ts';
import { pages } from '../../queries.ts';
import { useCan } from '../../session.tsx';
import { texts } from '../../texts/users.ts';

const columns: Column<InboxMessage>[] = [
  {
    head: texts.message,
    cell: ({ title, body, read_at }) => (
      <Box component="span" display="block" miw={0}>
        <Group component="span" gap="xs">
          <Text component="span" size="sm" fw={500} style={{ overflowWrap: 'anywhere' }}>
            {title || texts.noTitle}
          </Text>
          {!read_at && <Mark color="blue">{texts.unread}</Mark>}
        </Group>
        <Text component="span" display="block" size="xs" c="dimmed" lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
          {body}
        </Text>
      </Box>
    ),
  },
  { head: texts.received, align: 'right', width: 110, cell: ({ created_at }) => <TimeAgo at={created_at} /> },
];

export function UserInbox({ username }: { username: string }) {
  const org = useOrg();
  const isAllowed = useCan()('inbox:read');
  const list = useList(pages('/api/o/{org}/u/{username}/inbox/', { path: { org, username } }), { enabled: isAllowed });
  if (!isAllowed) return null;
  return (
    <Section title={texts.inbox} padded={false}>
      <DataTable
        label={texts.inbox}
        list={list}
        columns={columns}
        loadsManually
        rowKey={({ id }) => id}
        rowTo={({ occurrence }) => to.occurrence(org, occurrence)}
        empty={
          <Text size="sm" c="dimmed" px="md" pb="md">
            {texts.noMessagesInTheInbox}
          </Text>
        }
      />
    </Section>
  );
}
