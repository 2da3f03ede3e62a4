/** Silences: active, planned and ended ones. */
import { Select, Text } from '@mantine/core';
import { IconBellOff } from '@tabler/icons-react';
import type { Silence } from '../../api-types.ts';
import { Breakable } from '../../components/breakable.tsx';
import { count } from '../../components/counts.tsx';
import type { Column } from '../../components/data-table.tsx';
import { Mark } from '../../components/mark.tsx';
import { TablePage } from '../../components/table-page.tsx';
import { clockAndDay } from '../../components/time.tsx';
import { useFilters } from '../../components/use-filters.ts';
import { useList } from '../../components/use-list.ts';
import { to, useOrg } from '../../paths.ts';
import { pages } from '../../queries.ts';
import { texts } from '../../texts/silences.ts';
import { describeMatchers } from './matchers.ts';
import { NewSilence } from './new-silence.tsx';

export const stateColors = { active: 'yellow', planned: 'violet', ended: 'gray' } as const;

const columns: Column<Silence>[] = [
  {
    head: texts.matches,
    cell: silence => (
      <>
        <Text component="span" size="sm" fw={500} display="block">
          <Breakable text={describeMatchers(silence)} />
        </Text>
        <Text component="span" size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {silence.reason}
        </Text>
      </>
    ),
  },
  {
    head: texts.state,
    width: 110,
    cell: ({ state }) => <Mark color={stateColors[state]}>{texts.states[state]}</Mark>,
  },
  {
    head: texts.until,
    from: 'xs',
    width: 150,
    cell: ({ state, starts_at, ends_at }) => (
      <Text size="sm" c="dimmed">
        {state === 'planned' && `${clockAndDay(String(starts_at))} – `}
        {clockAndDay(String(ends_at))}
      </Text>
    ),
  },
  {
    head: texts.held,
    from: 'sm',
    width: 80,
    align: 'right',
    cell: ({ counts }) => <span className="numbers">{count(counts.held)}</span>,
  },
  {
    head: texts.suppressed,
    from: 'sm',
    width: 110,
    align: 'right',
    cell: ({ counts }) => <span className="numbers">{count(counts.suppressed)}</span>,
  },
  {
    head: texts.by,
    from: 'md',
    width: 190,
    cell: ({ created_by }) => (
      <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
        {created_by}
      </Text>
    ),
  },
];

export default function Silences() {
  const org = useOrg();
  const [{ state }, setFilters] = useFilters(['state']);
  const query = state ? { state: state as Silence['state'] } : {};
  const list = useList(pages('/api/o/{org}/silences/', { path: { org }, query }), { live: true });
  return (
    <TablePage
      title={texts.silences}
      description={texts.description}
      create={{
        permission: 'silence:write',
        label: texts.newSilence,
        dialog: close => <NewSilence close={close} />,
      }}
      filters={
        <Select
          size="xs"
          aria-label={texts.state}
          placeholder={texts.anyState}
          clearable
          w={150}
          data={Object.entries(texts.states).map(([value, label]) => ({ value, label }))}
          value={state ?? null}
          onChange={value => setFilters({ state: value })}
        />
      }
      list={list}
      columns={columns}
      rowKey={({ id }) => id}
      rowTo={({ id }) => to.silence(org, id)}
      empty={{ icon: IconBellOff, title: texts.noSilencesYet, hint: texts.noSilencesHint }}
      noMatches={state !== undefined && { title: texts.noMatches, hint: texts.noMatchesHint }}
    />
  );
}
