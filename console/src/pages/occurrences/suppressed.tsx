/** Suppressed deliveries of an occurrence, grouped by reason; each group expands to its deliveries. */
import { Box, Collapse, Group, Text, UnstyledButton } from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Delivery } from '../../api-types.ts';
import { count } from '../../components/counts.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { StateBadge } from '../../components/status.tsx';
import { deliveryStates, reasonText } from '../../components/statuses.ts';
import { liveMs, useList } from '../../components/use-list.ts';
import { useOrg } from '../../paths.ts';
import { pages, read } from '../../queries.ts';
import { texts } from '../../texts/occurrences.ts';

interface SuppressedProps {
  identifier: string;
  live: boolean;
  columns: Column<Delivery>[];
  rowTo: (row: Delivery) => string;
}

export function Suppressed({ identifier, live, columns, rowTo }: SuppressedProps) {
  const org = useOrg();
  const { data = [] } = useQuery({
    ...read('/api/o/{org}/occurrence/{identifier}/suppressed/', { path: { org, identifier } }),
    refetchInterval: live && liveMs,
  });
  return data.map(({ reason, count: n, capped }) => (
    <Reason
      key={reason}
      reason={reason}
      number={`${count(n)}${capped ? '+' : ''}`}
      {...{ identifier, live, columns, rowTo }}
    />
  ));
}

function Reason({ identifier, reason, number, columns, rowTo }: SuppressedProps & { reason: string; number: string }) {
  const org = useOrg();
  const [isOpen, setOpen] = useState(false);
  const list = useList(
    pages('/api/o/{org}/occurrence/{identifier}/deliveries/', {
      path: { org, identifier },
      query: { status: 'suppressed', reason },
    }),
    { enabled: isOpen },
  );
  return (
    <Box style={{ borderTop: '1px solid var(--line)' }}>
      <UnstyledButton px="md" py={9} w="100%" onClick={() => setOpen(!isOpen)} aria-expanded={isOpen}>
        <Group gap="sm" wrap="nowrap">
          <IconChevronRight
            size={15}
            stroke={1.8}
            aria-hidden
            style={{ flexShrink: 0, transform: isOpen ? 'rotate(90deg)' : undefined }}
          />
          <StateBadge state={deliveryStates[reason === 'dry_run' ? reason : 'suppressed']!} />
          <Text size="sm" className="numbers">
            {texts.suppressedFor(number, reasonText(reason))}
          </Text>
        </Group>
      </UnstyledButton>
      <Collapse expanded={isOpen}>
        {isOpen && (
          <DataTable
            label={reasonText(reason)}
            list={list}
            loadsManually
            columns={columns}
            rowKey={row => row.id}
            rowTo={rowTo}
            empty={null}
          />
        )}
      </Collapse>
    </Box>
  );
}
