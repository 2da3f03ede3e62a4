/** A user's effective preference for one event and what decided it. */
import { Box, Select, SimpleGrid, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { getChannelType } from '../../channel-types.ts';
import { Failure } from '../../components/states.tsx';
import { useOrg } from '../../paths.ts';
import { read } from '../../queries.ts';
import { useCan } from '../../session.tsx';
import { texts } from '../../texts/preferences.ts';
import type { Names, Scope } from './describe-preferences.ts';
import { PreferenceCell } from './preference-cell.tsx';
import type { PreferenceChange } from './use-preferences.ts';

/** Maximum page size of the API. */
const maxEvents = 1_000;

interface EventPreferenceProps {
  username: string;
  names: Names;
  choose: (choice: PreferenceChange) => void;
}

export function EventPreference({ username, names, choose }: EventPreferenceProps) {
  const org = useOrg();
  const can = useCan();
  const [event, setEvent] = useState<string | null>(null);
  const events = useQuery({
    ...read('/api/o/{org}/event/', { path: { org }, query: { limit: maxEvents } }),
    enabled: can('event:list'),
    staleTime: 60_000,
  });
  const { data, error } = useQuery({
    ...read('/api/o/{org}/u/{username}/preferences/effective/', { path: { org, username }, query: { event: event! } }),
    enabled: event !== null,
  });
  if (!can('event:list') || events.data?.length === 0) return null;
  const scope: Scope = { category: null, event };
  return (
    <Stack gap="xs">
      <Title order={3}>{texts.singleEvent}</Title>
      <Text size="sm" c="dimmed">
        {texts.effectiveHint}
      </Text>
      <Select
        aria-label={texts.chooseEvent}
        placeholder={texts.chooseEvent}
        data={(events.data ?? []).map(({ path, name }) => ({ value: path, label: `${name} (${path})` }))}
        searchable
        clearable
        limit={100}
        nothingFoundMessage={texts.noMatches}
        maw={420}
        value={event}
        onChange={setEvent}
      />
      {event !== null && !data && (error ? <Failure error={error} /> : <Skeleton height={60} />)}
      {event !== null && data && (
        <Box role="group" aria-label={event}>
          <Text size="sm" mb="xs">
            {texts.partOfCategory(data.category.name)}
          </Text>
          <SimpleGrid cols={{ base: 2, sm: 3 }} spacing="sm">
            {data.channels.map(decision => (
              <div key={decision.type}>
                <Text size="sm" fw={500}>
                  {getChannelType(decision.type).name}
                </Text>
                <PreferenceCell
                  decision={decision}
                  scope={scope}
                  names={names}
                  choose={enabled => choose({ ...scope, channel_type: decision.type, enabled })}
                />
              </div>
            ))}
          </SimpleGrid>
        </Box>
      )}
    </Stack>
  );
}
