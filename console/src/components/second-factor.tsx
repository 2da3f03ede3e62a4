/** The second step of signing in: a passkey, a code from the authenticator app, or a recovery code. */
import { Anchor, Button, Divider, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { IconFingerprint } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, api, take } from '../api.ts';
import type { Session } from '../api-types.ts';
import { requestPasskey, supportsPasskeys } from '../passkeys.ts';
import { texts } from '../texts/account.ts';
import { FormError } from './auth-layout.tsx';

/** Response to a correct password when a second factor is required. */
export interface SecondFactorChallenge {
  token: string;
  methods: { totp: boolean; passkey: boolean; recovery_code: boolean };
  passkey: object | null;
}

/** Returns the challenge of the error; undefined for any other error. */
export function challengeOf(error: unknown): SecondFactorChallenge | undefined {
  const isOne = error instanceof ApiError && error.code === 'session.second_factor';
  return isOne ? (error.problem.second_factor as SecondFactorChallenge) : undefined;
}

interface SecondFactorProps {
  challenge: SecondFactorChallenge;
  onDone: (session: Session) => void;
  onCancel: () => void;
}

export function SecondFactor({ challenge, onDone, onCancel }: SecondFactorProps) {
  const { token, methods } = challenge;
  const passkey = methods.passkey && supportsPasskeys() ? challenge.passkey : null;
  const [isRecovery, setRecovery] = useState(!methods.totp && !passkey);
  const form = useForm({ initialValues: { code: '' } });
  const { code } = form.values;
  const finish = useMutation({
    mutationFn: async (input: { code: string } | { passkey: object }) => {
      const proof = 'code' in input ? input : { passkey: (await requestPasskey(input.passkey)) as never };
      return take(api.POST('/api/session/second-factor/', { body: { token, ...proof } }));
    },
    onSuccess: onDone,
    onError: () => form.reset(),
  });
  const expired = finish.error instanceof ApiError && finish.error.code === 'session.expired';
  const withCode = methods.totp || isRecovery;
  return (
    <Stack gap="sm">
      <FormError error={finish.error} />
      {expired && (
        <Button variant="default" onClick={onCancel}>
          {texts.startOver}
        </Button>
      )}
      {passkey && !isRecovery && (
        <Button
          fullWidth
          variant={methods.totp ? 'default' : 'filled'}
          leftSection={<IconFingerprint size={16} stroke={1.6} />}
          loading={finish.isPending}
          onClick={() => finish.mutate({ passkey })}
        >
          {texts.useAPasskey}
        </Button>
      )}
      {passkey && methods.totp && !isRecovery && <Divider label={texts.or} />}
      {withCode && (
        <form aria-label={texts.twoFactorAuthentication} onSubmit={form.onSubmit(values => finish.mutate(values))}>
          <Stack gap="sm">
            <TextInput
              key={String(isRecovery)}
              label={isRecovery ? texts.recoveryCode : texts.authenticationCode}
              description={isRecovery ? texts.recoveryCodeHint : texts.authenticationCodeHint}
              {...form.getInputProps('code')}
              autoComplete={isRecovery ? 'off' : 'one-time-code'}
              inputMode={isRecovery ? 'text' : 'numeric'}
              className={isRecovery ? undefined : 'code-input'}
              autoFocus
            />
            <Button type="submit" fullWidth loading={finish.isPending} disabled={code.trim().length < 6}>
              {texts.verify}
            </Button>
          </Stack>
        </form>
      )}
      <Text size="sm" ta="center">
        {methods.recovery_code && (methods.totp || passkey) && (
          <Anchor
            component="button"
            type="button"
            inherit
            onClick={() => {
              setRecovery(!isRecovery);
              form.reset();
              finish.reset();
            }}
          >
            {isRecovery ? texts.useAnotherMethod : texts.useARecoveryCode}
          </Anchor>
        )}
      </Text>
      <Anchor component="button" type="button" size="sm" c="dimmed" onClick={onCancel}>
        {texts.backToSignIn}
      </Anchor>
    </Stack>
  );
}
