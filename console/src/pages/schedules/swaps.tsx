/** Swaps of a schedule: who asks others to take a shift, and who has taken one. */
import { Button, Group, Select, SimpleGrid, Text, TextInput } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { api, take } from '../../api.ts';
import type { Swap } from '../../api-types.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import { useConfirmedAction } from '../../components/confirm.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { selectProps } from '../../components/form.tsx';
import { Mark } from '../../components/mark.tsx';
import { Section } from '../../components/page.tsx';
import { Empty } from '../../components/states.tsx';
import { clockAndDays } from '../../components/time.tsx';
import { useList } from '../../components/use-list.ts';
import { pages } from '../../queries.ts';
import { useCan } from '../../session.tsx';
import { texts } from '../../texts/swaps.ts';
import type { SchedulePath } from './overrides.tsx';
import { UserSelect } from './user-select.tsx';

const stateColors = { open: 'violet', accepted: 'teal', withdrawn: 'gray', expired: 'gray' } as const;
const maxMessage = 500;
const all = '/api/o/{org}/p/{prj}/schedules/{schedule}/swaps/' as const;
const changed = ['/api/o/{org}/p/{prj}/schedules/', '/api/o/{org}/on-call/'] as const;

export function Swaps({ path, users }: { path: SchedulePath; users: string[] }) {
  const [creating, setCreating] = useState(false);
  const [accepted, setAccepted] = useState<Swap>();
  const mayChange = useCan()('schedule:override');
  const list = useList(pages(all, { path }), { live: true });
  const withdraw = useConfirmedAction({
    question: { title: texts.withdrawQuestion, children: texts.withdrawHint, action: texts.withdraw },
    run: (swap: number) => take(api.DELETE(`${all}{swap}/`, { params: { path: { ...path, swap } } })),
    done: texts.withdrawn,
    refresh: [...changed],
  });
  const create = (
    <GuardedButton
      permission="schedule:override"
      variant="default"
      size="xs"
      leftSection={<IconPlus size={14} />}
      onClick={() => setCreating(true)}
    >
      {texts.newSwap}
    </GuardedButton>
  );
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
    <Section title={texts.swaps} aside={create} padded={false}>
      <Text size="sm" c="dimmed" px="md" pb="xs">
        {texts.hint}
      </Text>
      <DataTable
        label={texts.swaps}
        list={list}
        columns={mayChange && list.rows.some(({ state }) => state === 'open') ? [...columns, actions] : columns}
        rowKey={({ id }) => id}
        empty={<Empty title={texts.none}>{texts.noneHint}</Empty>}
      />
      {creating && <NewSwap path={path} users={users} close={() => setCreating(false)} />}
      {accepted && <Acceptance path={path} swap={accepted} close={() => setAccepted(undefined)} />}
    </Section>
  );
}

const columns: Column<Swap>[] = [
  {
    head: texts.user,
    cell: ({ user, accepted_by, message, starts_at, ends_at, state }) => (
      <>
        <Group gap="2px 8px">
          <Text component="span" size="sm" fw={500} style={{ overflowWrap: 'anywhere' }}>
            {user}
          </Text>
          <Mark color={stateColors[state]}>{texts.states[state]}</Mark>
        </Group>
        <Text component="span" size="xs" c="dimmed" display="block" style={{ overflowWrap: 'anywhere' }}>
          {[accepted_by && texts.takenBy(accepted_by), message].filter(Boolean).join(' · ')}
        </Text>
        <Text component="span" size="xs" c="dimmed" className="numbers">
          {clockAndDays(String(starts_at), String(ends_at))}
        </Text>
      </>
    ),
  },
];

function NewSwap({ path, users, close }: { path: SchedulePath; users: string[]; close: () => void }) {
  const creating = useApiForm({
    initialValues: { user: '', starts_at: '', ends_at: '', message: '' },
    validate: ({ user, starts_at, ends_at }): Record<string, string> => ({
      ...(user === '' && { user: texts.chooseAUser }),
      ...(starts_at === '' && { starts_at: texts.enterABeginning }),
      ...(ends_at === '' && { ends_at: texts.enterAnEnd }),
    }),
    run: ({ user, starts_at, ends_at, message }) => {
      const times = { starts_at: new Date(starts_at).toISOString(), ends_at: new Date(ends_at).toISOString() };
      return take(api.POST(all, { params: { path }, body: { user, ...times, ...(message && { message }) } }));
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
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <TextInput
          type="datetime-local"
          label={texts.begins}
          description={texts.yourTimes}
          required
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
