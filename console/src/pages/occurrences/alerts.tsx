/** The alerts of monitoring systems that belong to an occurrence. */
import { Text } from '@mantine/core';
import type { Occurrence, OccurrenceAlert } from '../../api-types.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Section } from '../../components/page.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { useList } from '../../components/use-list.ts';
import { useOrg } from '../../paths.ts';
import { pages } from '../../queries.ts';
import { texts } from '../../texts/incidents.ts';
import { AlertState, SeverityMark } from '../incidents/marks.tsx';

const columns: Column<OccurrenceAlert>[] = [
  {
    head: texts.alert,
    cell: ({ title, key }) => (
      <>
        <Text size="sm" fw={500} style={{ overflowWrap: 'anywhere' }}>
          {title}
        </Text>
        <Text size="xs" c="dimmed" className="mono" truncate maw={320}>
          {key}
        </Text>
      </>
    ),
  },
  { head: texts.status, width: 140, cell: ({ state }) => <AlertState state={state} /> },
  { head: texts.severity, width: 110, from: 'sm', cell: ({ severity }) => <SeverityMark severity={severity} /> },
  { head: texts.reports, width: 90, from: 'md', align: 'right', cell: one => one.count },
  { head: texts.seen, width: 110, from: 'xs', align: 'right', cell: one => <TimeAgo at={one.last_seen_at} /> },
];

/** Shown only if there are any. */
export function Alerts({ occurrence }: { occurrence: Occurrence }) {
  const org = useOrg();
  const path = { org, identifier: occurrence.identifier };
  const list = useList(pages('/api/o/{org}/occurrence/{identifier}/alerts/', { path }), {
    live: occurrence.resolved_at === null,
    pageSize: 20,
    enabled: occurrence.dedup_key !== null,
  });
  if (list.rows.length === 0) return null;
  return (
    <Section title={texts.alerts} padded={false}>
      <DataTable
        label={texts.alerts}
        list={list}
        loadsManually
        columns={columns}
        rowKey={({ id }) => id}
        empty={null}
      />
    </Section>
  );
}
