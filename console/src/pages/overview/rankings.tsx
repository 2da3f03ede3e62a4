/** Busiest channels and events with their delivery outcomes. */

import { Anchor, Box, Group, Skeleton, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { Statistics } from '../../api-types.ts';
import { type Counts, CountsBar, compact, totalOf } from '../../components/counts.tsx';
import { Section } from '../../components/page.tsx';
import { linkToEvent, to, useOrg } from '../../paths.ts';
import { dotted } from '../../texts/isolated.ts';
import { texts } from '../../texts/overview.ts';

function Line({ name, note, figure, counts }: { name: ReactNode; note: string; figure: string; counts: Counts }) {
  return (
    <Box component="li">
      <Group justify="space-between" gap="xs" wrap="nowrap" mb={5}>
        <Text size="sm" truncate miw={0}>
          {name}{' '}
          <Text component="span" c="dimmed" size="xs">
            {note}
          </Text>
        </Text>
        <Text size="sm" className="numbers">
          {figure}
        </Text>
      </Group>
      <CountsBar counts={counts} />
    </Box>
  );
}

function Lines({ children }: { children: ReactNode }) {
  return (
    <Stack component="ul" gap="sm" m={0} p={0} style={{ listStyle: 'none' }}>
      {children}
    </Stack>
  );
}

export function ByChannel({ channels }: { channels: Statistics['channels'] | undefined }) {
  const org = useOrg();
  const sorted = channels?.toSorted((a, b) => totalOf(b.by_status) - totalOf(a.by_status));
  return (
    <Section title={texts.byChannel}>
      {!sorted && <Skeleton height={120} />}
      {sorted?.length === 0 && (
        <Text size="sm" c="dimmed">
          {texts.noDeliveriesInThisPeriod}
        </Text>
      )}
      <Lines>
        {sorted?.map(({ channel, project, type, by_status }) => (
          <Line
            key={`${project} ${channel}`}
            name={
              <Anchor component={Link} to={to.channel(org, channel, project ?? undefined)} inherit c="inherit" fw={500}>
                {channel}
              </Anchor>
            }
            note={dotted(type, project)}
            figure={compact(totalOf(by_status))}
            counts={by_status}
          />
        ))}
      </Lines>
    </Section>
  );
}

/** Number of events that fit beside the chart. */
const shown = 5;

export function Busiest({ events }: { events: Statistics['events'] }) {
  const org = useOrg();
  return (
    <Section title={texts.busiestEvents}>
      <Lines>
        {events.slice(0, shown).map(({ event, triggers, by_status }) => (
          <Line
            key={event}
            name={
              <Anchor component={Link} to={linkToEvent(org, event) ?? to.occurrences(org)} inherit c="inherit" fw={500}>
                {event}
              </Anchor>
            }
            note={texts.deliveryCount(totalOf(by_status))}
            figure={compact(triggers)}
            counts={by_status}
          />
        ))}
      </Lines>
    </Section>
  );
}
