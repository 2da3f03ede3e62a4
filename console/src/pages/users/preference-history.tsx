/** History of a user's choices: when, by whom, and how. */

import { Text } from '@mantine/core';
import type { PreferenceHistoryEntry } from '../../api-types.ts';
import { Breakable } from '../../components/breakable.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Section } from '../../components/page.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { useList } from '../../components/use-list.ts';
import { useOrg } from '../../paths.ts';
import { pages } from '../../queries.ts';
import { useCan } from '../../session.tsx';
import { dotted } from '../../texts/isolated.ts';
import { texts } from '../../texts/preferences.ts';
import { choiceName } from './describe-preferences.ts';
import { useCategoryNames } from './use-preferences.ts';

const pageSize = 10;

export function PreferenceHistory({ username }: { username: string }) {
  const org = useOrg();
  const isAllowed = useCan()('preference:read');
  const names = useCategoryNames();
  const list = useList(pages('/api/o/{org}/u/{username}/preferences/history/', { path: { org, username } }), {
    enabled: isAllowed,
    pageSize,
  });
  if (!isAllowed) return null;
  const columns: Column<PreferenceHistoryEntry>[] = [
    {
      head: texts.what,
      cell: entry => (
        <>
          <Text size="sm">
            <Breakable text={choiceName(entry, names)} />
          </Text>
          <Text size="xs" c="dimmed" hiddenFrom="sm" style={{ overflowWrap: 'anywhere' }}>
            {dotted(stateOf(entry), howOf(entry), entry.changed_by)}
          </Text>
        </>
      ),
    },
    { head: texts.choice, from: 'sm', cell: stateOf },
    { head: texts.how, from: 'sm', cell: howOf },
    {
      head: texts.by,
      from: 'sm',
      cell: ({ changed_by }) => (
        <Text size="sm" c="dimmed">
          <Breakable text={changed_by} />
        </Text>
      ),
    },
    { head: texts.when, align: 'right', cell: ({ changed_at }) => <TimeAgo at={changed_at} /> },
  ];
  return (
    <Section title={texts.history} padded={false}>
      <DataTable
        label={texts.history}
        list={list}
        columns={columns}
        loadsManually
        rowKey={({ id }) => id}
        empty={
          <Text size="sm" c="dimmed" px="md" pb="md">
            {texts.noHistory}
          </Text>
        }
      />
    </Section>
  );
}

function stateOf({ enabled }: PreferenceHistoryEntry): string {
  return enabled === null ? texts.resetState : enabled ? texts.on : texts.off;
}

function howOf({ source }: PreferenceHistoryEntry): string {
  return texts.howNames[source] ?? source;
}
