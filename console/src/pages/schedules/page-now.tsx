/** The button that pages the users on call, or one person, and the dialog that says who is notified. */
import { Alert, Switch, Textarea } from '@mantine/core';
import { IconBellRinging } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { api, take } from '../../api.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import { selectProps } from '../../components/form.tsx';
import { to } from '../../paths.ts';
import { read } from '../../queries.ts';
import { texts } from '../../texts/schedules.ts';
import type { SchedulePath } from './overrides.tsx';
import { namesOf } from './people.ts';
import { UserSelect } from './user-select.tsx';

const maxMessage = 2_000;

export function PageNow({ path }: { path: SchedulePath }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <GuardedButton
        permission="schedule:page"
        variant="default"
        leftSection={<IconBellRinging size={14} stroke={1.6} />}
        onClick={() => setOpen(true)}
      >
        {texts.pageNow}
      </GuardedButton>
      {isOpen && <NewPage path={path} close={() => setOpen(false)} />}
    </>
  );
}

function NewPage({ path, close }: { path: SchedulePath; close: () => void }) {
  const navigate = useNavigate();
  /** Pressing again after a lost answer pages no one again. */
  const [key] = useState(() => crypto.randomUUID());
  const { data: now } = useQuery(read('/api/o/{org}/p/{prj}/schedules/{schedule}/on-call/', { path }));
  const paging = useApiForm({
    initialValues: { message: '', user: '', urgent: true },
    validate: ({ message }): Record<string, string> => (message.trim() === '' ? { message: texts.enterAMessage } : {}),
    run: ({ message, user, urgent }) => {
      const body = { message, urgent, ...(user && { user }), idempotency_key: key };
      return take(api.POST('/api/o/{org}/p/{prj}/schedules/{schedule}/page/', { params: { path }, body }));
    },
    done: () => texts.paged,
    refresh: ['/api/o/{org}/occurrence/'],
    onDone: ({ occurrence }) => void navigate(to.occurrence(path.org, occurrence)),
  });
  const { form } = paging;
  const { user } = form.values;
  const fallback = now && now.users.length === 0 && now.fallback !== null ? texts.fallsBack(now.fallback) : undefined;
  return (
    <FormModal of={paging} title={texts.pageNow} submit={texts.pageNow} size="lg" close={close}>
      {now && <Alert color="orange">{texts.wakesNow(user || fallback || namesOf(now.users))}</Alert>}
      <Textarea
        label={texts.message}
        description={texts.messageHint}
        required
        autosize
        minRows={2}
        data-autofocus
        maxLength={maxMessage}
        {...form.getInputProps('message')}
      />
      <UserSelect label={texts.onlyUser} description={texts.onlyUserHint} clearable {...selectProps(form, 'user')} />
      <Switch
        label={texts.urgent}
        description={texts.urgentHint}
        checked={form.values.urgent}
        onChange={({ currentTarget }) => form.setFieldValue('urgent', currentTarget.checked)}
      />
    </FormModal>
  );
}
