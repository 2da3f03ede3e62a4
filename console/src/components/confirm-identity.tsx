/** Asks for the password again where the service wants a recent proof of who somebody is, and then goes on. */
import { Button, PasswordInput, Stack, Text } from '@mantine/core';
import { modals } from '@mantine/modals';
import { useState } from 'react';
import { ApiError, api, Cancelled, take } from '../api.ts';
import { useAction } from './actions.tsx';
import { FormButtons, FormFailure, fieldErrors } from './form.tsx';

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
      title: (
        <Text component="span" fw={600}>
          Confirm it’s you
        </Text>
      ),
      children: (
        <ConfirmForm
          done={() => {
            resolve();
            modals.close(id);
          }}
          cancel={() => modals.close(id)}
        />
      ),
      onClose: () => reject(new Cancelled()),
    });
  });
}

function ConfirmForm({ done, cancel }: { done: () => void; cancel: () => void }) {
  const [password, setPassword] = useState('');
  const confirm = useAction({
    run: () => take(api.POST('/api/session/confirm/', { body: { password } })),
    onDone: done,
    quiet: true,
  });
  return (
    <form
      noValidate
      onSubmit={event => {
        event.preventDefault();
        confirm.mutate(undefined);
      }}
    >
      <Stack gap="sm">
        <Text size="sm">Enter your password to change how you sign in.</Text>
        <PasswordInput
          label="Password"
          autoComplete="current-password"
          value={password}
          error={fieldErrors(confirm.error).password}
          onChange={event => setPassword(event.currentTarget.value)}
          visibilityToggleButtonProps={{ 'aria-label': 'Show password' }}
          data-autofocus
        />
        <FormFailure error={confirm.error} shown={['password']} />
        <Text size="xs" c="dimmed">
          If you sign in with single sign-on and have no password, sign out and sign in again instead.
        </Text>
        <FormButtons>
          <Button variant="default" onClick={cancel}>
            Cancel
          </Button>
          <Button type="submit" loading={confirm.isPending} disabled={password === ''}>
            Confirm
          </Button>
        </FormButtons>
      </Stack>
    </form>
  );
}
