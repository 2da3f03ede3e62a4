/** When a user is away. */
import { Button, Text, TextInput } from '@mantine/core';
import { api, take } from '../../api.ts';
import type { Absence } from '../../api-types.ts';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import { useConfirmedAction } from '../../components/confirm.tsx';
import type { Column } from '../../components/data-table.tsx';
import { TableSection } from '../../components/table-section.tsx';
import { clockAndDay, clockAndDays } from '../../components/time.tsx';
import { emptyTimeSpan, readTimeSpan, TimeSpanFields, validateTimeSpan } from '../../components/time-span.tsx';
import { useList } from '../../components/use-list.ts';
import { useOrg } from '../../paths.ts';
import { pages } from '../../queries.ts';
import { useCan } from '../../session.tsx';
import { texts } from '../../texts/absences.ts';
import { dotted } from '../../texts/isolated.ts';

const all = '/api/o/{org}/u/{username}/absences/' as const;
const maxReason = 500;

export function Absences({ username }: { username: string }) {
  const path = { org: useOrg(), username };
  const mayWrite = useCan()('user:write');
  const list = useList(pages(all, { path }));
  const remove = useConfirmedAction({
    question: { title: texts.deleteQuestion, children: texts.deleteHint, action: texts.delete },
    run: (absence: number) => take(api.DELETE(`${all}{absence}/`, { params: { path: { ...path, absence } } })),
    done: texts.deleted,
    refresh: [all],
  });
  const deletion: Column<Absence> = {
    head: texts.delete,
    hidesHeader: true,
    width: 90,
    align: 'right',
    cell: ({ id, starts_at, calendar }) =>
      calendar === null && (
        <Button
          size="compact-xs"
          variant="default"
          aria-label={texts.deleteAbsence(clockAndDay(String(starts_at)))}
          onClick={() => remove.ask(id)}
        >
          {texts.delete}
        </Button>
      ),
  };
  return (
    <TableSection
      title={texts.absences}
      hint={texts.hint}
      create={{
        permission: 'user:write',
        label: texts.newAbsence,
        variant: 'default',
        dialog: close => <NewAbsence path={path} close={close} />,
      }}
      list={list}
      columns={mayWrite ? [...columns, deletion] : columns}
      rowKey={({ id }) => id}
      empty={{ title: texts.none, hint: texts.noneHint }}
    />
  );
}

const columns: Column<Absence>[] = [
  {
    head: texts.time,
    cell: ({ starts_at, ends_at, reason, calendar }) => (
      <>
        <Text component="span" size="sm" className="numbers" display="block">
          {clockAndDays(String(starts_at), String(ends_at))}
        </Text>
        <Text component="span" size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {dotted(reason, calendar === null ? '' : texts.fromCalendar)}
        </Text>
      </>
    ),
  },
];

function NewAbsence({ path, close }: { path: { org: string; username: string }; close: () => void }) {
  const creating = useApiForm({
    initialValues: { ...emptyTimeSpan, reason: '' },
    validate: span => validateTimeSpan(span, texts),
    run: ({ reason, ...span }) => {
      const body = { ...readTimeSpan(span), ...(reason && { reason }) };
      return take(api.POST(all, { params: { path }, body }));
    },
    done: texts.saved,
    refresh: [all],
    onDone: close,
  });
  const { form } = creating;
  return (
    <FormModal of={creating} title={texts.newAbsence} submit={texts.save} close={close}>
      <TimeSpanFields form={form} texts={texts} data-autofocus />
      <TextInput
        label={texts.reason}
        placeholder={texts.reasonExample}
        maxLength={maxReason}
        {...form.getInputProps('reason')}
      />
    </FormModal>
  );
}
