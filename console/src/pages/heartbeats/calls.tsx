/** The last calls of a heartbeat; one opens in a drawer. */
import { Drawer, Stack, Text } from '@mantine/core';
import { useSearchParams } from 'react-router';
import type { HeartbeatCall } from '../../api-types.ts';
import { CopyBlock } from '../../components/copy.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Facts } from '../../components/facts.tsx';
import { Mark } from '../../components/mark.tsx';
import { Section } from '../../components/page.tsx';
import { exactTime, milliseconds, TimeAgo } from '../../components/time.tsx';
import { useList } from '../../components/use-list.ts';
import { pages } from '../../queries.ts';
import { texts } from '../../texts/heartbeats.ts';

interface HeartbeatPath {
  org: string;
  prj: string;
  app: string;
  heartbeat: string;
}

const colors: Record<string, string> = { success: 'teal', fail: 'red', start: 'blue' };

function detailsOf({ exit_status, duration_ms }: HeartbeatCall): string {
  return [
    ...(exit_status === null ? [] : [texts.exitStatus(exit_status)]),
    ...(duration_ms === null ? [] : [texts.took(milliseconds(duration_ms))]),
  ].join(', ');
}

const columns: Column<HeartbeatCall>[] = [
  {
    head: texts.call,
    width: 120,
    cell: ({ kind }) => <Mark color={colors[kind] ?? 'gray'}>{texts.kinds[kind] ?? kind}</Mark>,
  },
  {
    head: texts.body,
    cell: call => (
      <>
        <Text component="span" display="block" size="sm">
          {detailsOf(call)}
        </Text>
        <Text component="span" size="xs" c="dimmed" className="mono" lineClamp={1} style={{ overflowWrap: 'anywhere' }}>
          {call.body.slice(0, 200)}
        </Text>
      </>
    ),
  },
  { head: texts.when, width: 90, align: 'right', cell: ({ at }) => <TimeAgo at={at} /> },
];

export function Calls({ path, name }: { path: HeartbeatPath; name: string }) {
  const [search, setSearch] = useSearchParams();
  const list = useList(pages('/api/o/{org}/p/{prj}/a/{app}/heartbeats/{heartbeat}/calls/', { path }), {
    live: true,
    pageSize: 20,
  });
  const opened = search.get('call');
  const call = list.rows?.find(({ id }) => id === opened);
  return (
    <Section title={texts.calls} padded={false}>
      <DataTable
        label={texts.callsOf(name)}
        list={list}
        loadsManually
        columns={columns}
        rowKey={({ id }) => id}
        rowTo={({ id }) => `?call=${id}`}
        empty={
          <Text size="sm" c="dimmed" px="md" pb="md">
            {texts.noCalls}
          </Text>
        }
      />
      <Drawer
        opened={call !== undefined}
        onClose={() => setSearch({}, { replace: true })}
        position="right"
        size="lg"
        title={texts.call}
      >
        {call && <Call call={call} />}
      </Drawer>
    </Section>
  );
}

function Call({ call }: { call: HeartbeatCall }) {
  const { kind, at, method, user_agent, run_id, body, bytes } = call;
  const details = detailsOf(call);
  return (
    <Stack gap="md">
      <Facts
        facts={[
          [texts.call, [texts.kinds[kind] ?? kind, details].filter(Boolean).join(', ')],
          [texts.when, exactTime(at)],
          [texts.request, `${method} ${user_agent}`],
          ...(run_id ? [[texts.runId, run_id] as [string, string]] : []),
        ]}
      />
      {body !== '' && <CopyBlock value={body} label={texts.body} />}
      {bytes > body.length && body !== '' && (
        <Text size="xs" c="dimmed">
          {texts.bodyCut(bytes)}
        </Text>
      )}
    </Stack>
  );
}
