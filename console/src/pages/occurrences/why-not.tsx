/** Explains what a user received from an occurrence, or why not. */

import { Button, Group, Loader, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { Section } from '../../components/page.tsx';
import { Failure } from '../../components/states.tsx';
import { DeliveryBadge, occurrenceSentence, StateBadge } from '../../components/status.tsx';
import { occurrenceStates, plainState, withTimes } from '../../components/statuses.ts';
import { clockAndDay } from '../../components/time.tsx';
import { useFilters } from '../../components/use-filters.ts';
import { useOrg } from '../../paths.ts';
import { read } from '../../queries.ts';
import { dotted } from '../../texts/isolated.ts';
import { texts } from '../../texts/occurrences.ts';

export function WhyNot({ identifier }: { identifier: string }) {
  const org = useOrg();
  const [{ why: user = '' }, setFilters] = useFilters(['why']);
  const form = useForm({ initialValues: { user } });
  const answer = useQuery({
    ...read('/api/o/{org}/occurrence/{identifier}/why/', { path: { org, identifier }, query: { user } }),
    enabled: user !== '',
  });
  const ask = form.onSubmit(values => {
    const username = values.user.trim();
    setFilters({ why: username });
    if (username === user) void answer.refetch();
  });

  const isFinal = answer.data?.final ?? true;
  return (
    <Section title={texts.whyNot}>
      <form onSubmit={ask} aria-label={texts.whyNotForm}>
        <Group gap="xs" wrap="nowrap">
          <TextInput
            size="xs"
            flex={1}
            aria-label={texts.usernameOrAddress}
            placeholder={texts.usernameOrAddress}
            {...form.getInputProps('user')}
          />
          <Button type="submit" variant="default" disabled={!form.values.user.trim()}>
            {texts.check}
          </Button>
        </Group>
      </form>
      <Stack gap="sm" mt="sm" aria-live="polite">
        {user === '' && (
          <Text size="xs" c="dimmed">
            {texts.whyNotHint}
          </Text>
        )}
        {answer.isFetching && !answer.data && user !== '' && (
          <Loader size="xs" type="dots" aria-label={texts.checking} />
        )}
        {answer.error && <Failure error={answer.error} />}
        {user !== '' &&
          answer.data?.answers.map(({ notification, channel, outcome, state, explanation }) => {
            const delivery = answer.data.deliveries.find(
              one => one.notification === notification && one.channel === channel && one.status === outcome,
            );
            return (
              <Stack key={`${notification} ${channel} ${explanation}`} gap={4}>
                <Group gap="xs">
                  {delivery ? (
                    <DeliveryBadge delivery={delivery} />
                  ) : (
                    <StateBadge
                      state={occurrenceStates[state] ?? plainState(isFinal ? texts.notSent : texts.wouldNotBeSent)}
                    />
                  )}
                  <Text size="xs" c="dimmed">
                    {dotted(notification, channel) || texts.allNotifications}
                  </Text>
                </Group>
                <Text size="sm">{withTimes(explanation, clockAndDay)}</Text>
              </Stack>
            );
          })}
        {answer.data && !isFinal && (
          <Text size="xs" c="dimmed">
            {occurrenceSentence(answer.data)} {texts.recipientsMayChange}
          </Text>
        )}
      </Stack>
    </Section>
  );
}
