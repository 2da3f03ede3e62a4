/** Your own account: the same in every organization. */
import { Button, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, setCsrfToken, take } from '../api.ts';
import { useAction } from '../components/actions.tsx';
import { FormButtons, FormFailure, fieldErrors } from '../components/form.tsx';
import { Page, Section } from '../components/page.tsx';
import { sessionQuery, useSession } from '../session.tsx';
import { Sessions } from './account/sessions.tsx';
import { TwoFactor } from './account/two-factor.tsx';

export default function AccountPage() {
  const { account } = useSession();
  return (
    <Page title="Your account" description={`Signed in as ${account.email}`}>
      <Stack maw={640}>
        <Section title="Name">
          <NameForm />
        </Section>
        <Section title="Password">
          <PasswordForm />
        </Section>
        <TwoFactor />
        <Sessions />
      </Stack>
    </Page>
  );
}

function NameForm() {
  const { account } = useSession();
  const [name, setName] = useState(account.name);
  const save = useAction({
    run: () => take(api.PATCH('/api/session/', { body: { name } })),
    done: 'Saved.',
    refresh: [sessionQuery.queryKey],
    quiet: true,
  });
  return (
    <form
      noValidate
      onSubmit={event => {
        event.preventDefault();
        save.mutate(undefined);
      }}
    >
      <Stack gap="sm">
        <TextInput
          label="Name"
          description="As the team and the audit log see you."
          value={name}
          error={fieldErrors(save.error).name}
          onChange={event => setName(event.currentTarget.value)}
          autoComplete="name"
        />
        <FormFailure error={save.error} shown={['name']} />
        <FormButtons>
          <Button type="submit" loading={save.isPending}>
            Save
          </Button>
        </FormButtons>
      </Stack>
    </form>
  );
}

const empty = { current: '', password: '', again: '' };

function PasswordForm() {
  const { account } = useSession();
  const queries = useQueryClient();
  const [form, setForm] = useState(empty);
  const differs = form.again !== '' && form.password !== form.again;
  const save = useAction({
    run: () => take(api.POST('/api/session/password/', { body: { current: form.current, password: form.password } })),
    done: 'The password is changed. Everywhere else you are signed out.',
    refresh: [['sessions']],
    onDone: session => {
      setCsrfToken(session.csrf_token);
      queries.setQueryData(sessionQuery.queryKey, session);
      setForm(empty);
    },
    quiet: true,
  });
  const errors = fieldErrors(save.error);
  const field = (name: keyof typeof form, autoComplete: string) => ({
    value: form[name],
    autoComplete,
    visibilityToggleButtonProps: { 'aria-label': 'Show password' },
    onChange: (event: React.ChangeEvent<HTMLInputElement>) => setForm({ ...form, [name]: event.currentTarget.value }),
  });
  return (
    <form
      noValidate
      onSubmit={event => {
        event.preventDefault();
        if (!differs) save.mutate(undefined);
      }}
    >
      <Stack gap="sm">
        {/* For programs that keep passwords. */}
        <input type="text" autoComplete="username" defaultValue={account.email} hidden readOnly />
        <PasswordInput label="Current password" {...field('current', 'current-password')} error={errors.current} />
        <PasswordInput
          label="New password"
          description="At least 10 characters; length is what counts."
          {...field('password', 'new-password')}
          error={errors.password}
        />
        <PasswordInput
          label="New password again"
          {...field('again', 'new-password')}
          error={differs ? 'This is not the same' : undefined}
        />
        <FormFailure error={save.error} shown={['current', 'password']} />
        <Text size="xs" c="dimmed">
          Changing it ends your sessions in other browsers.
        </Text>
        <FormButtons>
          <Button
            type="submit"
            loading={save.isPending}
            disabled={differs || form.current === '' || form.password === '' || form.again === ''}
          >
            Change password
          </Button>
        </FormButtons>
      </Stack>
    </form>
  );
}
