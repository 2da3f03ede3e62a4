/** The user's own account, the same in every organization. */
import { PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api, setCsrfToken, take } from '../../api.ts';
import { ApiForm, useApiForm } from '../../components/api-form.tsx';
import { Page, Section } from '../../components/page.tsx';
import { signInOptionsQuery } from '../../queries.ts';
import { sessionQuery, useSession } from '../../session.tsx';
import { texts } from '../../texts/account.ts';
import { Sessions } from './sessions.tsx';
import { TwoFactor } from './two-factor.tsx';

export default function AccountPage() {
  const { account } = useSession();
  return (
    <Page title={texts.yourAccount} description={texts.signedInAs(account.email)}>
      <Stack maw={640}>
        <Section title={texts.name}>
          <NameForm />
        </Section>
        <Section title={texts.password}>{account.has_password ? <PasswordForm /> : <NoPassword />}</Section>
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
    done: texts.saved,
    refresh: ['/api/session/'],
  });
  return (
    <ApiForm of={naming} submit={texts.save}>
      <TextInput
        label={texts.name}
        description={texts.nameHint}
        autoComplete="name"
        {...naming.form.getInputProps('name')}
      />
    </ApiForm>
  );
}

function NoPassword() {
  const { data: options } = useQuery(signInOptionsQuery);
  return <Text size="sm">{options?.oidc ? texts.passwordOfProvider(options.oidc.name) : texts.noPassword}</Text>;
}

const empty = { current: '', password: '', again: '' };

function PasswordForm() {
  const { account } = useSession();
  const queries = useQueryClient();
  const changing = useApiForm({
    initialValues: empty,
    run: ({ current, password }) => take(api.POST('/api/session/password/', { body: { current, password } })),
    done: texts.passwordChangedToast,
    refresh: ['/api/sessions/'],
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
    visibilityToggleButtonProps: { 'aria-label': texts.showPassword },
    ...form.getInputProps(name),
  });
  return (
    <ApiForm
      of={changing}
      submit={texts.changePassword}
      isDisabled={differs || current === '' || password === '' || again === ''}
    >
      {/* Tells password managers which account this is. */}
      <input type="text" autoComplete="username" defaultValue={account.email} hidden readOnly />
      <PasswordInput label={texts.currentPassword} {...field('current', 'current-password')} />
      <PasswordInput
        label={texts.newPassword}
        description={texts.passwordHint}
        {...field('password', 'new-password')}
      />
      <PasswordInput
        label={texts.confirmNewPassword}
        {...field('again', 'new-password')}
        error={differs ? texts.passwordMismatch : undefined}
      />
      <Text size="xs" c="dimmed">
        {texts.changePasswordHint}
      </Text>
    </ApiForm>
  );
}
