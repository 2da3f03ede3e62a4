/** Asks for the password when the API requires a recent confirmation of identity, then repeats the request. */
import { PasswordInput, Text } from '@mantine/core';
import { modals } from '@mantine/modals';
import { ApiError, api, CancelledError, take } from '../api.ts';
import { texts } from '../texts/account.ts';
import { ApiForm, useApiForm } from './api-form.tsx';

export async function withConfirmation<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'session.unconfirmed') throw error;
    await askPassword();
    return run();
  }
}

function askPassword(): Promise<void> {
  return new Promise((resolve, reject) => {
    const id = modals.open({
      title: texts.confirmItsYou,
      children: (
        <ConfirmForm
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
      <Text size="xs" c="dimmed">
        {texts.noPasswordHint}
      </Text>
    </ApiForm>
  );
}
