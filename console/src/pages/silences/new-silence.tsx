/** The form of a new silence, with the open occurrences that it would match. */
import {
  Anchor,
  Checkbox,
  Chip,
  Group,
  Input,
  Select,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearchParams } from 'react-router';
import { api, take } from '../../api.ts';
import { type NewSilence as NewBody, timezones } from '../../api-types.ts';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import { weekdays } from '../../components/quiet-hours.tsx';
import { Failure } from '../../components/states.tsx';
import { useEvents } from '../../components/use-events.ts';
import { to, useOrg } from '../../paths.ts';
import { ask } from '../../queries.ts';
import { texts as dayTexts } from '../../texts/preferences.ts';
import { texts } from '../../texts/silences.ts';
import { readMatchers } from './matchers.ts';

const maxReason = 500;

export function NewSilence({ close }: { close: () => void }) {
  const org = useOrg();
  const navigate = useNavigate();
  const [params] = useSearchParams();
  const { data } = useEvents();
  const paths = new Set(
    (data?.projects ?? []).flatMap(one => [one.slug, ...one.applications.map(app => `${one.slug}/${app}`)]),
  );
  for (const { path } of data?.events ?? []) paths.add(path);
  const creating = useApiForm({
    initialValues: {
      matchers: params.getAll('match').join('\n'),
      path: params.get('within') ?? '',
      reason: '',
      starts_at: '',
      duration: '2h',
      recurs: false,
      from: '22:00',
      to: '06:00',
      days: weekdays,
      timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    },
    validate: ({ matchers }): Record<string, string> => {
      const { wrong } = readMatchers(matchers);
      return wrong === undefined ? {} : { matchers: texts.noMatcher(wrong) };
    },
    run: ({ matchers, path, reason, starts_at, duration, recurs, from, to: until, days, timezone }) => {
      const recurrence: NewBody['recurrence'] = {
        timezone,
        from,
        to: until,
        ...(days.length < weekdays.length && { weekdays: weekdays.filter(day => days.includes(day)) as never }),
      };
      const body: NewBody = {
        matchers: readMatchers(matchers).matchers,
        path: path || null,
        reason,
        duration,
        ...(starts_at && { starts_at: new Date(starts_at).toISOString() }),
        ...(recurs && { recurrence }),
      };
      return take(api.POST('/api/o/{org}/silences/', { params: { path: { org } }, body }));
    },
    done: texts.created,
    refresh: ['/api/o/{org}/silences/'],
    onDone: ({ id }) => void navigate(to.silence(org, id)),
  });
  const { form } = creating;
  const { matchers, path, recurs } = form.values;
  return (
    <FormModal of={creating} title={texts.newSilence} submit={texts.createSilence} size="lg" close={close}>
      <Textarea
        label={texts.matchers}
        description={texts.matchersHint}
        placeholder={texts.matchersExample}
        autosize
        minRows={2}
        maxRows={10}
        classNames={{ input: 'mono' }}
        data-autofocus
        {...form.getInputProps('matchers')}
      />
      <Select
        label={texts.path}
        description={texts.pathHint}
        data={[
          { value: '', label: texts.wholeOrganization },
          ...[...paths].sort().map(value => ({ value, label: value })),
        ]}
        searchable
        allowDeselect={false}
        {...form.getInputProps('path')}
      />
      <Preview matchers={matchers} path={path} />
      <TextInput
        label={texts.reason}
        description={texts.reasonHint}
        placeholder={texts.reasonExample}
        required
        maxLength={maxReason}
        {...form.getInputProps('reason')}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <TextInput
          type="datetime-local"
          label={texts.begins}
          description={texts.beginsHint}
          {...form.getInputProps('starts_at')}
        />
        <Select
          label={texts.lasts}
          description={texts.lastsHint}
          data={Object.entries(texts.durations).map(([value, label]) => ({ value, label }))}
          allowDeselect={false}
          {...form.getInputProps('duration')}
        />
      </SimpleGrid>
      <Checkbox
        label={texts.recurs}
        description={texts.recursHint}
        {...form.getInputProps('recurs', { type: 'checkbox' })}
      />
      {recurs && (
        <>
          <SimpleGrid cols={{ base: 1, xs: 3 }}>
            <TextInput
              type="time"
              label={texts.hoursFrom}
              {...form.getInputProps('from')}
              error={form.errors['recurrence/from']}
            />
            <TextInput
              type="time"
              label={texts.hoursTo}
              {...form.getInputProps('to')}
              error={form.errors['recurrence/to']}
            />
            <Select
              label={texts.timezone}
              data={timezones}
              searchable
              limit={100}
              allowDeselect={false}
              {...form.getInputProps('timezone')}
              error={form.errors['recurrence/timezone']}
            />
          </SimpleGrid>
          <Input.Wrapper label={texts.days} labelElement="div">
            <Chip.Group multiple {...form.getInputProps('days')}>
              <Group gap={6} mt={4} role="group" aria-label={texts.days}>
                {weekdays.map(day => (
                  <Chip key={day} value={day} size="xs" variant="outline">
                    {dayTexts.weekdays[day]}
                  </Chip>
                ))}
              </Group>
            </Chip.Group>
          </Input.Wrapper>
        </>
      )}
    </FormModal>
  );
}

const typingMs = 400;

function Preview({ matchers: text, path }: { matchers: string; path: string }) {
  const org = useOrg();
  const { matchers, wrong } = readMatchers(text);
  const [body] = useDebouncedValue(JSON.stringify({ matchers, path: path || null }), typingMs);
  const isEmpty = matchers.length === 0 && path === '';
  const { data, error } = useQuery({
    ...ask('/api/o/{org}/silences/preview/', { org, body }, signal =>
      take(api.POST('/api/o/{org}/silences/preview/', { params: { path: { org } }, body: JSON.parse(body), signal })),
    ),
    enabled: !isEmpty && wrong === undefined && body !== '{"matchers":[],"path":null}',
  });
  return (
    <Stack gap={4} role="status" aria-label={texts.preview}>
      <Text size="sm" fw={500}>
        {texts.preview}
      </Text>
      {isEmpty && (
        <Text size="sm" c="dimmed">
          {texts.previewNothing}
        </Text>
      )}
      {!isEmpty && error && <Failure error={error} />}
      {!isEmpty && data && (
        <>
          <Text size="sm" c="dimmed">
            {texts.previewCount(data.matched)} {!data.complete && texts.previewPart}
          </Text>
          {data.occurrences.slice(0, 5).map(({ id, event, title }) => (
            <Anchor key={id} component={Link} to={to.occurrence(org, id)} target="_blank" size="sm" truncate>
              {title ?? texts.untitled} · {event ?? texts.deletedEvent}
            </Anchor>
          ))}
        </>
      )}
    </Stack>
  );
}
