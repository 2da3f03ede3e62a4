/** What a source received, and what became of it; one payload opens in a drawer. */
import { Anchor, Drawer, Group, Stack, Text } from '@mantine/core';
import { IconRefresh } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link, useSearchParams } from 'react-router';
import { api, take } from '../../api.ts';
import type { SourcePayloadSummary } from '../../api-types.ts';
import { GuardedButton, useAction } from '../../components/actions.tsx';
import { CopyBlock } from '../../components/copy.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Facts } from '../../components/facts.tsx';
import { Section } from '../../components/page.tsx';
import { Pending } from '../../components/pending.tsx';
import { exactTime, TimeAgo } from '../../components/time.tsx';
import { useList } from '../../components/use-list.ts';
import { to } from '../../paths.ts';
import { pages, read } from '../../queries.ts';
import { texts } from '../../texts/sources.ts';
import { PayloadState } from './source-format.tsx';
import type { SourcePath } from './source-path.ts';

function describeCounts(counts: Record<string, number>): string {
  return Object.entries(counts)
    .map(([outcome, count]) => texts.counted(count, texts.outcomes[outcome] ?? outcome))
    .join(', ');
}

const columns: Column<SourcePayloadSummary>[] = [
  {
    head: texts.alerts,
    cell: ({ counts, note, url }) => (
      <>
        <Text component="span" display="block" size="sm" fw={500}>
          {describeCounts(counts) || url}
        </Text>
        {note && (
          <Text component="span" display="block" size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {note}
          </Text>
        )}
      </>
    ),
  },
  { head: texts.status, width: 140, cell: ({ state }) => <PayloadState state={state} /> },
  { head: texts.when, from: 'xs', width: 110, align: 'right', cell: ({ received_at }) => <TimeAgo at={received_at} /> },
];

export function Payloads({ path, name }: { path: SourcePath; name: string }) {
  const [search, setSearch] = useSearchParams();
  const list = useList(pages('/api/o/{org}/p/{prj}/a/{app}/sources/{source}/payloads/', { path }), {
    live: true,
    pageSize: 20,
  });
  const opened = search.get('payload');
  return (
    <Section title={texts.payloads} padded={false}>
      <DataTable
        label={texts.payloadsOf(name)}
        list={list}
        loadsManually
        columns={columns}
        rowKey={({ id }) => id}
        rowTo={({ id }) => `?payload=${id}`}
        empty={
          <Text size="sm" c="dimmed" px="md" pb="md">
            {texts.noPayloads}
          </Text>
        }
      />
      <Drawer
        opened={opened !== null}
        onClose={() => setSearch({}, { replace: true })}
        position="right"
        size="lg"
        title={texts.payload}
      >
        {opened && <Payload path={path} id={opened} />}
      </Drawer>
    </Section>
  );
}

function Payload({ path, id }: { path: SourcePath; id: string }) {
  const { data, error, refetch } = useQuery(
    read('/api/o/{org}/p/{prj}/a/{app}/sources/{source}/payloads/{payload}/', { path: { ...path, payload: id } }),
  );
  const replay = useAction({
    run: () =>
      take(
        api.POST('/api/o/{org}/p/{prj}/a/{app}/sources/{source}/payloads/{payload}/replay/', {
          params: { path: { ...path, payload: id } },
        }),
      ),
    done: ({ changed }) => texts.replayed(changed),
    refresh: ['/api/o/{org}/'],
  });
  if (!data) return <Pending query={{ error, refetch }} />;
  const { state, received_at, method, url, bytes, note, alerts, body } = data;
  return (
    <Stack gap="md">
      <Facts
        facts={[
          [texts.status, <PayloadState key="state" state={state} />],
          [texts.when, exactTime(received_at)],
          [
            texts.request,
            <span key="request" className="mono">
              {method} {url}
            </span>,
          ],
          [texts.size, texts.bytes(bytes)],
          ...(note ? [[texts.note, note] as [string, string]] : []),
        ]}
      />
      {alerts.length > 0 && (
        <Facts
          facts={alerts.map(({ at, key, outcome, occurrence, error: reason }) => [
            key ?? at,
            <span key={at}>
              {occurrence ? (
                <Anchor component={Link} to={to.occurrence(path.org, occurrence)} size="sm">
                  {texts.outcomes[outcome] ?? outcome}
                </Anchor>
              ) : (
                (texts.outcomes[outcome] ?? outcome)
              )}
              {reason && ` · ${reason}`}
            </span>,
          ])}
        />
      )}
      <CopyBlock value={body} label={texts.body} wraps />
      <Group gap="sm">
        <GuardedButton
          permission="source:write"
          variant="default"
          leftSection={<IconRefresh size={14} stroke={1.6} />}
          loading={replay.isPending}
          onClick={() => replay.mutate(undefined)}
        >
          {texts.replay}
        </GuardedButton>
        <Text size="xs" c="dimmed" flex="1 1 200px">
          {texts.replayHint}
        </Text>
      </Group>
    </Stack>
  );
}
