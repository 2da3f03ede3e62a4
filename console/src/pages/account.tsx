/** Your own account: the same in every organization. */
import { PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { api, setCsrfToken, take } from '../api.ts';
import { ApiForm, useApiForm } from '../components/api-form.tsx';
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
  const naming = useApiForm({
    initialValues: { name: account.name },
    run: body => take(api.PATCH('/api/session/', { body })),
    done: 'Saved.',
    refresh: [sessionQuery.queryKey],
  });
  return (
    <ApiForm of={naming} submit="Save">
      <TextInput
        label="Name"
        description="Shown to your team and in the audit log."
        autoComplete="name"
        {...naming.form.getInputProps('name')}
      />
    </ApiForm>
  );
}

const empty = { current: '', password: '', again: '' };

function PasswordForm() {
  const { account } = useSession();
  const queries = useQueryClient();
  const changing = useApiForm({
    initialValues: empty,
    run: ({ current, password }) => take(api.POST('/api/session/password/', { body: { current, password } })),
    done: 'Password changed. You are signed out everywhere else.',
    refresh: [['sessions']],
    onDone: session => {
      setCsrfToken(session.csrf_token);
      queries.setQueryData(sessionQuery.queryKey, session);
      form.setValues(empty);
    },
  });
  const { form } = changing;
  const { current, password, again } = form.values;
  const differs = again !== '' && password !== again;
  const field = (name: keyof typeof empty, autoComplete: string) => ({
    autoComplete,
    visibilityToggleButtonProps: { 'aria-label': 'Show password' },
    ...form.getInputProps(name),
  });
  return (
    <ApiForm
      of={changing}
      submit="Change password"
      isDisabled={differs || current === '' || password === '' || again === ''}
    >
      {/* For programs that keep passwords. */}
      <input type="text" autoComplete="username" defaultValue={account.email} hidden readOnly />
      <PasswordInput label="Current password" {...field('current', 'current-password')} />
      <PasswordInput
        label="New password"
        description="At least 10 characters. Longer is stronger."
        {...field('password', 'new-password')}
      />
      <PasswordInput
        label="Confirm new password"
        {...field('again', 'new-password')}
        error={differs ? 'The passwords do not match' : undefined}
      />
      <Text size="xs" c="dimmed">
        Changing your password signs you out of other browsers.
      </Text>
    </ApiForm>
  );
}
