/** The form of a schedule. */
import { Select, SimpleGrid, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api.ts';
import { type NewSchedule, type Schedule, timezones } from '../../api-types.ts';
import { ApiForm, useApiForm } from '../../components/api-form.tsx';
import { selectProps } from '../../components/form.tsx';
import { useEventPaths } from '../../components/use-events.ts';
import { limitsOf } from '../../form-fields.ts';
import { read } from '../../queries.ts';
import { useCan, useRefusal } from '../../session.tsx';
import { texts } from '../../texts/schedules.ts';
import { readLayer } from './layer-text.ts';
import { Layers } from './layers.tsx';
import type { SchedulePath } from './overrides.tsx';
import { readSchedule, toDraftSchedule } from './schedule-text.ts';

interface ScheduleFormProps {
  path: SchedulePath;
  schedule: Schedule;
  etag: string | null;
  setDraft: (draft: NewSchedule | undefined) => void;
  refill: () => Promise<void>;
}

export function ScheduleForm({ path, schedule, etag, setDraft, refill }: ScheduleFormProps) {
  const disabled = useRefusal()('schedule:write') !== undefined;
  const mayReadLists = useCan()('distributionlist:read');
  const lists = useQuery({
    ...read('/api/o/{org}/p/{prj}/d/', { path: { org: path.org, prj: path.prj } }),
    enabled: mayReadLists,
  });
  const events = useEventPaths(`${path.prj}/`);
  const editing = useApiForm({
    initialValues: toDraftSchedule(schedule),
    draft: { key: `${path.org}/schedules/${path.prj}/${path.schedule}`, etag },
    validate: ({ layers }): Record<string, string> =>
      Object.fromEntries(
        layers.flatMap((layer, i) => {
          const { wrong } = readLayer(layer);
          return wrong === undefined ? [] : [[`layers/${i}/only`, texts.noWindow(wrong)]];
        }),
      ),
    run: (values, headers) =>
      take(
        api.PATCH('/api/o/{org}/p/{prj}/schedules/{schedule}/', {
          params: { path },
          body: readSchedule(values),
          headers,
        }),
      ),
    done: texts.saved,
    refresh: ['/api/o/{org}/on-call/', '/api/o/{org}/p/{prj}/schedules/', '/api/o/{org}/u/'],
    onDone: () => {
      setDraft(undefined);
      return refill();
    },
  });
  const { form } = editing;
  form.watch('layers', ({ value }) => show({ layers: value }));
  form.watch('timezone', ({ value }) => show({ timezone: value }));
  form.watch('combine', ({ value }) => show({ combine: value }));
  /** Shows the calendar with what the form has now. */
  const show = (changes: Partial<typeof form.values>) => {
    const { name, timezone, combine, layers } = readSchedule({ ...form.getValues(), ...changes });
    setDraft({ slug: path.schedule, name, timezone, combine, layers });
  };
  const names = lists.data?.map(one => one.name) ?? [];
  const { fallback, timezone } = schedule;
  const eventSelect = (
    field: 'on_change' | 'page' | 'test_event',
    { label, description, stored }: { label: string; description: string; stored: string | null | undefined },
  ) => (
    <Select
      label={label}
      description={description}
      placeholder={texts.noEvent}
      data={stored && !events.includes(stored) ? [stored, ...events] : events}
      clearable
      clearButtonProps={{ 'aria-label': texts.clearEvent(label) }}
      searchable
      {...selectProps(form, field)}
      error={form.errors[field] ?? (field === 'test_event' && (form.errors['test/event'] ?? form.errors.test))}
      disabled={disabled}
    />
  );
  return (
    <ApiForm of={editing} isLong submit={texts.save} permission="schedule:write" reload={refill}>
      <TextInput
        label={texts.name}
        {...limitsOf('NewSchedule', 'name')}
        {...form.getInputProps('name')}
        disabled={disabled}
      />
      <Select
        label={texts.timezone}
        description={texts.timezoneHint}
        data={timezones.includes(timezone) ? timezones : [timezone, ...timezones]}
        searchable
        limit={100}
        allowDeselect={false}
        {...form.getInputProps('timezone')}
        disabled={disabled}
      />
      <Layers
        layers={form.values.layers}
        change={layers => form.setFieldValue('layers', layers)}
        errors={form.errors}
        disabled={disabled}
      />
      <Select
        label={texts.combine}
        description={texts.combineHint}
        data={Object.entries(texts.combines).map(([value, label]) => ({ value, label }))}
        allowDeselect={false}
        {...form.getInputProps('combine')}
        disabled={disabled}
      />
      <Select
        label={texts.fallback}
        description={texts.fallbackHint}
        placeholder={texts.noFallback}
        data={fallback && !names.includes(fallback) ? [fallback, ...names] : names}
        clearable
        clearButtonProps={{ 'aria-label': texts.clearFallback }}
        searchable
        {...selectProps(form, 'fallback')}
        disabled={disabled}
      />
      {eventSelect('on_change', {
        label: texts.onChange,
        description: texts.onChangeHint,
        stored: schedule.on_change,
      })}
      {eventSelect('page', { label: texts.pageEvent, description: texts.pageEventHint, stored: schedule.page })}
      {eventSelect('test_event', {
        label: texts.testEvent,
        description: texts.testEventHint,
        stored: schedule.test?.event,
      })}
      {form.values.test_event && (
        <>
          <SimpleGrid cols={2}>
            <TextInput
              label={texts.testEvery}
              description={texts.testEveryHint}
              {...form.getInputProps('test_every')}
              error={form.errors['test/every']}
              disabled={disabled}
            />
            <TextInput
              type="time"
              label={texts.testAt}
              description={texts.beginsHint}
              {...form.getInputProps('test_at')}
              error={form.errors['test/at']}
              disabled={disabled}
            />
          </SimpleGrid>
          <Select
            label={texts.testPriority}
            data={Object.entries(texts.testPriorities).map(([value, label]) => ({ value, label }))}
            allowDeselect={false}
            {...form.getInputProps('test_priority')}
            disabled={disabled}
          />
        </>
      )}
      <Textarea
        label={texts.groups}
        description={texts.groupsHint}
        placeholder={texts.groupsExample}
        autosize
        {...form.getInputProps('groups')}
        error={Object.entries(form.errors).find(([field]) => field === 'groups' || field.startsWith('groups/'))?.[1]}
        disabled={disabled}
      />
    </ApiForm>
  );
}
