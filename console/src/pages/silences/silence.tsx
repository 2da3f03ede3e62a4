/** One silence: what it matches, and what it held and suppressed. */
import { Stack, Text } from '@mantine/core';
import { IconBell } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useParams } from 'react-router';
import { api, take } from '../../api.ts';
import type { Silence, SilencedOccurrence } from '../../api-types.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { useConfirmedAction } from '../../components/confirm.tsx';
import { count } from '../../components/counts.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Facts } from '../../components/facts.tsx';
import { Mark } from '../../components/mark.tsx';
import { Page, Section } from '../../components/page.tsx';
import { pendingPage } from '../../components/pending.tsx';
import { Empty } from '../../components/states.tsx';
import { clockAndDay, TimeAgo } from '../../components/time.tsx';
import { liveMs, useList } from '../../components/use-list.ts';
import { to, useOrg } from '../../paths.ts';
import { pages, read } from '../../queries.ts';
import { texts as dayTexts } from '../../texts/preferences.ts';
import { texts } from '../../texts/silences.ts';
import { describeMatchers } from './matchers.ts';
import { stateColors } from './silences.tsx';

const outcomeColors = { held: 'yellow', suppressed: 'gray', released: 'teal' } as const;

const columns: Column<SilencedOccurrence>[] = [
  {
    head: texts.occurrence,
    cell: ({ title, event }) => (
      <>
        <Text component="span" size="sm" fw={500} display="block" style={{ overflowWrap: 'anywhere' }}>
          {title ?? texts.untitled}
        </Text>
        <Text component="span" size="xs" c="dimmed">
          {event ?? texts.deletedEvent}
        </Text>
      </>
    ),
  },
  {
    head: texts.from,
    from: 'xs',
    width: 150,
    cell: ({ silenced_at }) => <TimeAgo at={String(silenced_at)} />,
  },
  {
    head: texts.state,
    width: 120,
    align: 'right',
    cell: ({ state }) => <Mark color={outcomeColors[state]}>{texts.outcomes[state]}</Mark>,
  },
];

export default function SilencePage() {
  const org = useOrg();
  const { silence: id = '' } = useParams();
  const path = { org, silence: id };
  const { data, error, refetch } = useQuery({
    ...read('/api/o/{org}/silences/{silence}/', { path }),
    refetchInterval: liveMs,
  });
  const list = useList(pages('/api/o/{org}/silences/{silence}/occurrences/', { path }), { live: true });
  const end = useConfirmedAction({
    question: { title: texts.endQuestion, children: texts.endHint, action: texts.end },
    run: () => take(api.POST('/api/o/{org}/silences/{silence}/end/', { params: { path } })),
    done: ({ ended_now }) => texts.ended(ended_now),
    refresh: ['/api/o/{org}/silences/', '/api/o/{org}/occurrence/'],
  });
  const parents = [{ label: texts.silences, to: to.silences(org) }];
  if (!data) return pendingPage(texts.silence, parents, { error, refetch });
  const { state, reason, counts } = data;
  return (
    <Page
      title={describeMatchers(data)}
      parents={parents}
      aside={<Mark color={stateColors[state]}>{texts.states[state]}</Mark>}
      description={reason}
      actions={
        state !== 'ended' && (
          <GuardedButton
            permission="silence:write"
            leftSection={<IconBell size={14} stroke={1.6} />}
            loading={end.isPending}
            onClick={() => end.ask(undefined)}
          >
            {texts.end}
          </GuardedButton>
        )
      }
    >
      <Stack gap="md">
        <Section title={texts.silence}>
          <Facts facts={factsOf(data)} />
        </Section>
        <Section title={texts.silenced} aside={texts.counts(count(counts.held), count(counts.suppressed))}>
          <DataTable
            label={texts.silenced}
            list={list}
            columns={columns}
            rowKey={one => one.id}
            rowTo={one => to.occurrence(org, one.id)}
            empty={<Empty title={texts.nothingSilenced}>{texts.nothingSilencedHint}</Empty>}
          />
        </Section>
      </Stack>
    </Page>
  );
}

function factsOf({ starts_at, ends_at, recurrence, created_by, ended_by, counts }: Silence): [string, string][] {
  const days = recurrence?.weekdays?.map(day => dayTexts.weekdays[day]).join(', ');
  const hours = recurrence && texts.hours(recurrence.from ?? '', recurrence.to ?? '', recurrence.timezone);
  return [
    [texts.from, clockAndDay(String(starts_at))],
    [texts.until, [clockAndDay(String(ends_at)), ended_by && texts.endedBy(ended_by)].filter(Boolean).join(' · ')],
    [texts.recurrence, [hours ?? texts.always, days].filter(Boolean).join(' · ')],
    [texts.by, created_by],
    [texts.released, count(counts.released)],
  ];
}
