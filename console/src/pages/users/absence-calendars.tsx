/** Calendars of a user, whose events are absences. */
import { Alert, Button, Group, Stack, TagsInput, Text, TextInput } from '@mantine/core';
import { IconCalendarPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { api, take } from '../../api.ts';
import type { AbsenceCalendar, CalendarPreview } from '../../api-types.ts';
import { showError, useAction } from '../../components/actions.tsx';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import { useConfirmedAction } from '../../components/confirm.tsx';
import type { Column } from '../../components/data-table.tsx';
import { fieldErrors } from '../../components/form.tsx';
import { TableSection } from '../../components/table-section.tsx';
import { clockAndDay, TimeAgo } from '../../components/time.tsx';
import { useList } from '../../components/use-list.ts';
import { useOrg } from '../../paths.ts';
import { pages } from '../../queries.ts';
import { useCan } from '../../session.tsx';
import { texts } from '../../texts/absences.ts';
import { dotted } from '../../texts/isolated.ts';

const all = '/api/o/{org}/u/{username}/absence-calendars/' as const;
const absences = '/api/o/{org}/u/{username}/absences/' as const;
const maxWords = 20;

interface Path {
  org: string;
  username: string;
}

export function AbsenceCalendars({ username }: { username: string }) {
  const path = { org: useOrg(), username };
  const [changed, setChanged] = useState<AbsenceCalendar>();
  const mayWrite = useCan()('user:write');
  const list = useList(pages(all, { path }));
  const remove = useConfirmedAction({
    question: { title: texts.removeQuestion, children: texts.removeHint, action: texts.remove },
    run: (id: number) =>
      take(api.DELETE(`${all}{absence_calendar}/`, { params: { path: { ...path, absence_calendar: id } } })),
    done: texts.removed,
    refresh: [all, absences],
  });
  const actions: Column<AbsenceCalendar> = {
    head: texts.change,
    hidesHeader: true,
    width: 90,
    align: 'right',
    cell: calendar => (
      <Stack gap={6} align="flex-end">
        <Button
          size="compact-xs"
          variant="default"
          aria-label={texts.changeCalendar(calendar.host)}
          onClick={() => setChanged(calendar)}
        >
          {texts.change}
        </Button>
        <Button
          size="compact-xs"
          variant="default"
          aria-label={texts.removeCalendar(calendar.host)}
          onClick={() => remove.ask(calendar.id)}
        >
          {texts.remove}
        </Button>
      </Stack>
    ),
  };
  return (
    <TableSection
      title={texts.calendars}
      hint={texts.calendarsHint}
      create={{
        permission: 'user:write',
        label: texts.connect,
        icon: IconCalendarPlus,
        variant: 'default',
        dialog: close => <CalendarForm path={path} close={close} />,
      }}
      list={list}
      columns={mayWrite ? [column, actions] : [column]}
      rowKey={({ id }) => id}
      empty={{ title: texts.noCalendars, hint: texts.noCalendarsHint }}
    >
      {changed && <CalendarForm path={path} calendar={changed} close={() => setChanged(undefined)} />}
    </TableSection>
  );
}

const column: Column<AbsenceCalendar> = {
  head: texts.calendar,
  cell: ({ host, words, error, fetched_at, ...content }) => (
    <Stack gap={2}>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {host}
      </Text>
      <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
        {dotted(countsOf(content), words.length > 0 ? texts.onlyWith(words.join(', ')) : '')}
      </Text>
      {fetched_at && (
        <Text size="xs" c="dimmed">
          {texts.fetched} <TimeAgo at={fetched_at} />
        </Text>
      )}
      {error && (
        <Text size="xs" c="red" style={{ overflowWrap: 'anywhere' }}>
          {texts.notFetched(error)}
        </Text>
      )}
    </Stack>
  ),
};

function countsOf({ absences, complete, skipped }: Pick<CalendarPreview, 'absences' | 'complete' | 'skipped'>): string {
  return dotted(
    complete ? texts.finds(absences) : texts.findsFirst(absences),
    skipped > 0 ? texts.skipped(skipped) : '',
  );
}

interface FormProps {
  path: Path;
  /** Absent: a new one is connected. */
  calendar?: AbsenceCalendar;
  close: () => void;
}

function CalendarForm({ path, calendar: stored, close }: FormProps) {
  const saving = useApiForm({
    initialValues: { url: '', words: stored?.words ?? [] },
    validate: ({ url }): Record<string, string> => ({
      ...(!stored && url.trim() === '' && { url: texts.enterAnAddress }),
    }),
    run: ({ url, words }) => {
      const at = { ...path, absence_calendar: stored?.id ?? 0 };
      if (!stored) return take(api.POST(all, { params: { path }, body: { url, words } }));
      return take(
        api.PATCH(`${all}{absence_calendar}/`, { params: { path: at }, body: { words, ...(url.trim() && { url }) } }),
      );
    },
    done: ({ absences }) => texts.calendarSaved(absences),
    refresh: [all, absences],
    onDone: close,
  });
  const { form } = saving;
  const preview = useAction({
    run: ({ url, words }: { url: string; words: string[] }) =>
      take(api.POST(`${all}preview/`, { params: { path }, body: { url, words } })),
    silent: true,
  });
  const { url, words } = form.values;
  const showProblem = (error: unknown) => {
    const errors = fieldErrors(error);
    form.setErrors(errors);
    if (Object.keys(errors).length === 0) showError(error);
  };
  const show = () => preview.mutate({ url, words }, { onError: showProblem });
  return (
    <FormModal
      of={saving}
      title={stored ? texts.changeCalendar(stored.host) : texts.connect}
      submit={texts.saveCalendar}
      close={close}
    >
      <TextInput
        label={texts.address}
        description={stored ? `${texts.addressHint} ${texts.addressKept}` : texts.addressHint}
        placeholder={texts.addressExample}
        autoComplete="off"
        spellCheck={false}
        required={!stored}
        data-autofocus
        {...form.getInputProps('url')}
      />
      <TagsInput
        label={texts.words}
        description={texts.wordsHint}
        placeholder={words.length === 0 ? texts.wordsExample : undefined}
        maxTags={maxWords}
        acceptValueOnBlur
        {...form.getInputProps('words')}
      />
      <Group>
        <Button variant="default" size="xs" disabled={url.trim() === ''} loading={preview.isPending} onClick={show}>
          {texts.preview}
        </Button>
      </Group>
      {preview.data && <Found preview={preview.data} />}
    </FormModal>
  );
}

function Found({ preview }: { preview: CalendarPreview }) {
  const { found, absences: count } = preview;
  return (
    <Alert variant="light" color="gray" title={countsOf(preview)} role="status">
      {found.map(({ starts_at, ends_at, reason }) => (
        <Text key={`${starts_at} ${ends_at} ${reason}`} size="xs" style={{ overflowWrap: 'anywhere' }}>
          {dotted(`${clockAndDay(String(starts_at))} – ${clockAndDay(String(ends_at))}`, reason)}
        </Text>
      ))}
      {count > found.length && <Text size="xs">{texts.andMore(count - found.length)}</Text>}
    </Alert>
  );
}
