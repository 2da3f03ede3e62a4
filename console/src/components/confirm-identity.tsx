/** Asks for the password, or for the identity provider, when the API requires a recent confirmation of identity, then repeats the request. */
import { PasswordInput, Stack, Text } from '@mantine/core';
import { modals } from '@mantine/modals';
import { useQuery } from '@tanstack/react-query';
import { ApiError, api, CancelledError, take } from '../api.ts';
import { signInOptionsQuery } from '../queries.ts';
import { sessionQuery } from '../session.tsx';
import { texts } from '../texts/account.ts';
import { ApiForm, useApiForm } from './api-form.tsx';
import { ProviderButton } from './provider-button.tsx';

export async function withConfirmation<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'session.unconfirmed') throw error;
    await askIdentity();
    return run();
  }
}

function askIdentity(): Promise<void> {
  return new Promise((resolve, reject) => {
    const id = modals.open({
      title: texts.confirmItsYou,
      children: (
        <ConfirmIdentity
          done={() => {
            resolve();
            modals.close(id);
          }}
          cancel={() => modals.close(id)}
        />
      ),
      onClose: () => reject(new CancelledError()),
    });
  });
}

/** Dialogs are rendered outside RequireSession, so this reads the session from the cache. */
function ConfirmIdentity({ done, cancel }: { done: () => void; cancel: () => void }) {
  const { data: session } = useQuery(sessionQuery);
  const { data: options } = useQuery(signInOptionsQuery);
  if (session?.account.has_password !== false) return <ConfirmForm done={done} cancel={cancel} />;
  const { pathname, search } = window.location;
  return (
    <Stack>
      <Text size="sm">{options?.oidc ? texts.confirmWithProviderHint(options.oidc.name) : texts.noPasswordHint}</Text>
      {options?.oidc && <ProviderButton name={options.oidc.name} to={pathname + search} confirm />}
    </Stack>
  );
}

function ConfirmForm({ done, cancel }: { done: () => void; cancel: () => void }) {
  const confirming = useApiForm({
    initialValues: { password: '' },
    run: body => take(api.POST('/api/session/confirm/', { body })),
    onDone: done,
  });
  const { form } = confirming;
  return (
    <ApiForm of={confirming} submit={texts.confirm} cancel={cancel} isDisabled={form.values.password === ''}>
      <Text size="sm">{texts.confirmPasswordHint}</Text>
      <PasswordInput
        label={texts.password}
        autoComplete="current-password"
        visibilityToggleButtonProps={{ 'aria-label': texts.showPassword }}
        data-autofocus
        {...form.getInputProps('password')}
      />
    </ApiForm>
  );
}
