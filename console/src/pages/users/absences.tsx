/** When a user is away. */
import { Button, SimpleGrid, Text, TextInput } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { api, take } from '../../api.ts';
import type { Absence } from '../../api-types.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import { useConfirmedAction } from '../../components/confirm.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Section } from '../../components/page.tsx';
import { Empty } from '../../components/states.tsx';
import { clockAndDay, clockAndDays } from '../../components/time.tsx';
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
  const [creating, setCreating] = useState(false);
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
  const create = (
    <GuardedButton
      permission="user:write"
      variant="default"
      size="xs"
      leftSection={<IconPlus size={14} />}
      onClick={() => setCreating(true)}
    >
      {texts.newAbsence}
    </GuardedButton>
  );
  return (
    <Section title={texts.absences} aside={create} padded={false}>
      <Text size="sm" c="dimmed" px="md" pb="xs">
        {texts.hint}
      </Text>
      <DataTable
        label={texts.absences}
        list={list}
        columns={mayWrite ? [...columns, deletion] : columns}
        rowKey={({ id }) => id}
        empty={<Empty title={texts.none}>{texts.noneHint}</Empty>}
      />
      {creating && <NewAbsence path={path} close={() => setCreating(false)} />}
    </Section>
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
    initialValues: { starts_at: '', ends_at: '', reason: '' },
    validate: ({ starts_at, ends_at }): Record<string, string> => ({
      ...(starts_at === '' && { starts_at: texts.enterABeginning }),
      ...(ends_at === '' && { ends_at: texts.enterAnEnd }),
    }),
    run: ({ starts_at, ends_at, reason }) => {
      const times = { starts_at: new Date(starts_at).toISOString(), ends_at: new Date(ends_at).toISOString() };
      return take(api.POST(all, { params: { path }, body: { ...times, ...(reason && { reason }) } }));
    },
    done: texts.saved,
    refresh: [all],
    onDone: close,
  });
  const { form } = creating;
  return (
    <FormModal of={creating} title={texts.newAbsence} submit={texts.save} close={close}>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <TextInput
          type="datetime-local"
          label={texts.begins}
          description={texts.yourTimes}
          required
          data-autofocus
          {...form.getInputProps('starts_at')}
        />
        <TextInput
          type="datetime-local"
          label={texts.ends}
          description={texts.yourTimes}
          required
          {...form.getInputProps('ends_at')}
        />
      </SimpleGrid>
      <TextInput
        label={texts.reason}
        placeholder={texts.reasonExample}
        maxLength={maxReason}
        {...form.getInputProps('reason')}
      />
    </FormModal>
  );
}
