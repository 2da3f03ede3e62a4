/** Overrides of a schedule: who takes over, and the dialog that creates one. */
import { Button, Select, SimpleGrid, TextInput } from '@mantine/core';
import { api, take } from '../../api.ts';
import type { NewOverride as NewBody, Override } from '../../api-types.ts';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import { useConfirmedAction } from '../../components/confirm.tsx';
import type { Column } from '../../components/data-table.tsx';
import { selectProps } from '../../components/form.tsx';
import { Mark } from '../../components/mark.tsx';
import { TableSection } from '../../components/table-section.tsx';
import { useList } from '../../components/use-list.ts';
import { pages } from '../../queries.ts';
import { useCan } from '../../session.tsx';
import { texts } from '../../texts/schedules.ts';
import { UserAndTime } from './user-and-time.tsx';
import { UserSelect } from './user-select.tsx';

const stateColors = { active: 'teal', planned: 'violet', ended: 'gray' } as const;
const maxReason = 500;

export interface SchedulePath {
  org: string;
  prj: string;
  schedule: string;
}

const all = '/api/o/{org}/p/{prj}/schedules/{schedule}/overrides/' as const;

export function Overrides({ path, users }: { path: SchedulePath; users: string[] }) {
  const mayEnd = useCan()('schedule:override');
  const list = useList(pages(all, { path }), { live: true });
  const end = useConfirmedAction({
    question: { title: texts.endQuestion, children: texts.endHint, action: texts.end },
    run: (override: number) => take(api.DELETE(`${all}{override}/`, { params: { path: { ...path, override } } })),
    done: texts.ended,
    refresh: ['/api/o/{org}/p/{prj}/schedules/', '/api/o/{org}/on-call/'],
  });
  const ending: Column<Override> = {
    head: texts.end,
    hidesHeader: true,
    width: 80,
    align: 'right',
    cell: ({ id, state, user }) =>
      state !== 'ended' && (
        <Button size="compact-xs" variant="default" aria-label={texts.endOverride(user)} onClick={() => end.ask(id)}>
          {texts.end}
        </Button>
      ),
  };
  return (
    <TableSection
      title={texts.overrides}
      hint={texts.overridesHint}
      create={{
        permission: 'schedule:override',
        label: texts.newOverride,
        dialog: close => <NewOverride path={path} users={users} close={close} />,
      }}
      list={list}
      columns={mayEnd ? [...columns, ending] : columns}
      rowKey={({ id }) => id}
      empty={{ title: texts.noOverrides, hint: texts.noOverridesHint }}
    />
  );
}

const columns: Column<Override>[] = [
  {
    head: texts.user,
    cell: override => (
      <UserAndTime
        of={override}
        mark={<Mark color={stateColors[override.state]}>{texts.states[override.state]}</Mark>}
        details={[
          override.replaces === null ? texts.insteadOfEveryone : texts.insteadOf(override.replaces),
          override.reason,
        ]}
      />
    ),
  },
];

/** What the dialog is filled with; the times as instants. */
export interface OverrideDraft {
  user?: string;
  replaces?: string;
  starts_at?: string;
  ends_at?: string | null;
}

interface NewOverrideProps {
  path: SchedulePath;
  users: string[];
  draft?: OverrideDraft;
  close: () => void;
}

export function NewOverride({ path, users, draft = {}, close }: NewOverrideProps) {
  const creating = useApiForm({
    initialValues: {
      user: draft.user ?? '',
      replaces: draft.replaces ?? '',
      starts_at: toLocal(draft.starts_at),
      ends_at: toLocal(draft.ends_at),
      reason: '',
    },
    validate: ({ user, ends_at }): Record<string, string> => ({
      ...(user === '' && { user: texts.chooseAUser }),
      ...(ends_at === '' && { ends_at: texts.enterAnEnd }),
    }),
    run: ({ user, replaces, starts_at, ends_at, reason }) => {
      const body: NewBody = {
        user,
        replaces: replaces || null,
        ...(starts_at && { starts_at: new Date(starts_at).toISOString() }),
        ends_at: new Date(ends_at).toISOString(),
        ...(reason && { reason }),
      };
      return take(api.POST(all, { params: { path }, body }));
    },
    done: ({ user }) => texts.overrideCreated(user),
    refresh: ['/api/o/{org}/p/{prj}/schedules/', '/api/o/{org}/on-call/'],
    onDone: close,
  });
  const { form } = creating;
  return (
    <FormModal of={creating} title={texts.newOverride} submit={texts.createOverride} size="lg" close={close}>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <UserSelect
          label={texts.user}
          description={texts.userHint}
          required
          data-autofocus
          {...selectProps(form, 'user')}
        />
        <Select
          label={texts.replaces}
          data={[
            { value: '', label: texts.everyone },
            ...[...new Set([...users, ...(draft.replaces ? [draft.replaces] : [])])].map(value => ({
              value,
              label: value,
            })),
          ]}
          allowDeselect={false}
          searchable
          {...form.getInputProps('replaces')}
        />
        <TextInput
          type="datetime-local"
          label={texts.overrideBegins}
          description={texts.overrideBeginsHint}
          {...form.getInputProps('starts_at')}
        />
        <TextInput
          type="datetime-local"
          label={texts.overrideEnds}
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

/** Returns an instant as the value of an input in the viewer's time zone. */
function toLocal(instant: string | null | undefined): string {
  if (!instant) return '';
  const at = new Date(instant);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
