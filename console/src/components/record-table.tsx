/** What happened afterwards to a message or an alert: when, why and with which result. */
import { Stack, Table, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { StateBadge } from './status.tsx';
import type { State } from './statuses.ts';
import { exactTime, TimeAgo } from './time.tsx';

interface RecordTableProps {
  title: string;
  /** False where the section has the title. */
  showsTitle?: boolean;
  /** Of the time, the cause and the result. */
  headings: [string, string, string];
  rows: { key: string; at: string; cause: ReactNode; state: State; detail: string | null }[];
}

export function RecordTable({ title, showsTitle = true, headings, rows }: RecordTableProps) {
  return (
    <Stack gap="xs">
      {showsTitle && <Title order={3}>{title}</Title>}
      <Table fz="sm" aria-label={title}>
        <Table.Thead>
          <Table.Tr>
            {headings.map(heading => (
              <Table.Th key={heading}>{heading}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(({ key, at, cause, state, detail }) => (
            <Table.Tr key={key}>
              <Table.Td title={exactTime(at)}>
                <TimeAgo at={at} />
              </Table.Td>
              <Table.Td>{cause}</Table.Td>
              <Table.Td>
                <StateBadge state={state} />
                {detail && (
                  <Text size="xs" c="dimmed" mt={4} style={{ overflowWrap: 'anywhere' }}>
                    {detail}
                  </Text>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Stack>
  );
}
