/** Swaps of a schedule: who asks others to take a shift, and who has taken one. */
import { Button, Group, Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import { api, take } from '../../api.ts';
import type { Swap } from '../../api-types.ts';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import { useConfirmedAction } from '../../components/confirm.tsx';
import type { Column } from '../../components/data-table.tsx';
import { selectProps } from '../../components/form.tsx';
import { Mark } from '../../components/mark.tsx';
import { TableSection } from '../../components/table-section.tsx';
import { emptyTimeSpan, readTimeSpan, TimeSpanFields, validateTimeSpan } from '../../components/time-span.tsx';
import { useList } from '../../components/use-list.ts';
import { pages } from '../../queries.ts';
import { useCan } from '../../session.tsx';
import { texts } from '../../texts/swaps.ts';
import type { SchedulePath } from './overrides.tsx';
import { UserAndTime } from './user-and-time.tsx';
import { UserSelect } from './user-select.tsx';

const stateColors = { open: 'violet', accepted: 'teal', withdrawn: 'gray', expired: 'gray' } as const;
const maxMessage = 500;
const all = '/api/o/{org}/p/{prj}/schedules/{schedule}/swaps/' as const;
const changed = ['/api/o/{org}/p/{prj}/schedules/', '/api/o/{org}/on-call/'] as const;

export function Swaps({ path, users }: { path: SchedulePath; users: string[] }) {
  const [accepted, setAccepted] = useState<Swap>();
  const mayChange = useCan()('schedule:override');
  const list = useList(pages(all, { path }), { live: true });
  const withdraw = useConfirmedAction({
    question: { title: texts.withdrawQuestion, children: texts.withdrawHint, action: texts.withdraw },
    run: (swap: number) => take(api.DELETE(`${all}{swap}/`, { params: { path: { ...path, swap } } })),
    done: texts.withdrawn,
    refresh: [...changed],
  });
  const actions: Column<Swap> = {
    head: texts.accept,
    hidesHeader: true,
    width: 100,
    align: 'right',
    cell: swap =>
      swap.state === 'open' && (
        <Group gap={6} justify="flex-end">
          <Button size="compact-xs" aria-label={texts.acceptSwap(swap.user)} onClick={() => setAccepted(swap)}>
            {texts.accept}
          </Button>
          <Button
            size="compact-xs"
            variant="default"
            aria-label={texts.withdrawSwap(swap.user)}
            onClick={() => withdraw.ask(swap.id)}
          >
            {texts.withdraw}
          </Button>
        </Group>
      ),
  };
  return (
    <TableSection
      title={texts.swaps}
      hint={texts.hint}
      create={{
        permission: 'schedule:override',
        label: texts.newSwap,
        variant: 'default',
        dialog: close => <NewSwap path={path} users={users} close={close} />,
      }}
      list={list}
      columns={mayChange && list.rows.some(({ state }) => state === 'open') ? [...columns, actions] : columns}
      rowKey={({ id }) => id}
      empty={{ title: texts.none, hint: texts.noneHint }}
    >
      {accepted && <Acceptance path={path} swap={accepted} close={() => setAccepted(undefined)} />}
    </TableSection>
  );
}

const columns: Column<Swap>[] = [
  {
    head: texts.user,
    cell: swap => (
      <UserAndTime
        of={swap}
        mark={<Mark color={stateColors[swap.state]}>{texts.states[swap.state]}</Mark>}
        details={[swap.accepted_by && texts.takenBy(swap.accepted_by), swap.message]}
      />
    ),
  },
];

function NewSwap({ path, users, close }: { path: SchedulePath; users: string[]; close: () => void }) {
  const creating = useApiForm({
    initialValues: { user: '', ...emptyTimeSpan, message: '' },
    validate: ({ user, ...span }): Record<string, string> => ({
      ...(user === '' && { user: texts.chooseAUser }),
      ...validateTimeSpan(span, texts),
    }),
    run: ({ user, message, ...span }) => {
      const body = { user, ...readTimeSpan(span), ...(message && { message }) };
      return take(api.POST(all, { params: { path }, body }));
    },
    done: texts.asked,
    refresh: [...changed],
    onDone: close,
  });
  const { form } = creating;
  return (
    <FormModal of={creating} title={texts.newSwap} submit={texts.save} size="lg" close={close}>
      <Select
        label={texts.user}
        description={texts.userHint}
        data={users}
        searchable
        required
        data-autofocus
        {...selectProps(form, 'user')}
      />
      <TimeSpanFields form={form} texts={texts} />
      <TextInput
        label={texts.message}
        placeholder={texts.messageExample}
        maxLength={maxMessage}
        {...form.getInputProps('message')}
      />
    </FormModal>
  );
}

function Acceptance({ path, swap, close }: { path: SchedulePath; swap: Swap; close: () => void }) {
  const accepting = useApiForm({
    initialValues: { user: '' },
    validate: ({ user }): Record<string, string> => (user === '' ? { user: texts.chooseAUser } : {}),
    run: body => take(api.POST(`${all}{swap}/accept/`, { params: { path: { ...path, swap: swap.id } }, body })),
    done: ({ accepted_by }) => texts.taken(accepted_by ?? ''),
    refresh: [...changed],
    onDone: close,
  });
  const { form } = accepting;
  return (
    <FormModal of={accepting} title={texts.acceptTitle(swap.user)} submit={texts.take} close={close}>
      <UserSelect
        label={texts.taking}
        description={texts.takingHint}
        required
        data-autofocus
        {...selectProps(form, 'user')}
      />
    </FormModal>
  );
}
