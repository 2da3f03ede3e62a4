/** The form for signing in: password with second factor, passkey, or identity provider. */
import { Anchor, Button, Divider, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { IconFingerprint } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type ComponentType, type ReactNode, useEffect, useRef, useState } from 'react';
import { Link } from 'react-router';
import { ApiError, api, take } from '../api.ts';
import type { Session } from '../api-types.ts';
import { requestPasskey, supportsPasskeys } from '../passkeys.ts';
import { signInOptionsQuery } from '../queries.ts';
import { texts } from '../texts/account.ts';
import { FormError } from './auth-layout.tsx';
import { ProviderButton } from './provider-button.tsx';
import { challengeOf, SecondFactor } from './second-factor.tsx';
import { duration } from './time.tsx';

interface SignInFormProps {
  /** Frames the form. */
  Layout: ComponentType<{ title: string; lead?: ReactNode; children: ReactNode }>;
  title: string;
  lead?: ReactNode;
  onDone: (session: Session) => void;
  /** Shown until the first attempt. */
  error?: Error | undefined;
  /** The path of the console to open after the identity provider. */
  to?: string;
  /** The account of a session that has ended. Nothing in the form leaves the page. */
  account?: string;
}

export function SignInForm({ Layout, title, lead, onDone, error: initialError, to = '/', account }: SignInFormProps) {
  const { data: options } = useQuery(signInOptionsQuery);
  const form = useForm({ initialValues: { email: account ?? '', password: '', code: '' } });
  const signIn = useMutation({
    mutationFn: ({ code, ...body }: typeof form.values) =>
      take(api.POST('/api/session/', { body: { ...body, ...(code && { code }) } })),
    onSuccess: onDone,
    onError: () => form.setValues({ password: '', code: '' }),
  });
  const passkey = useMutation({
    mutationFn: async () => {
      const { token, options } = await take(api.POST('/api/session/passkey/options/'));
      const response = (await requestPasskey(options)) as never;
      return take(api.POST('/api/session/passkey/', { body: { token, response } }));
    },
    onSuccess: onDone,
  });
  const challenge = challengeOf(signIn.error);
  const wait = useCountdown(signIn.error);
  const [withCode, setWithCode] = useState(false);
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);
  const isLocked = signIn.error instanceof ApiError && signIn.error.status === 429;
  const error = isLocked ? passkey.error : (signIn.error ?? passkey.error);

  if (challenge) {
    return (
      <Layout title={texts.twoFactorAuthentication} lead={texts.signingInAs(form.values.email)}>
        <SecondFactor challenge={challenge} onDone={onDone} onCancel={() => signIn.reset()} />
      </Layout>
    );
  }
  return (
    <Layout title={title} lead={lead}>
      <Stack>
        {!error && !isLocked && <FormError error={initialError} />}
        {wait > 0 && <FormError error={new Error(texts.tooManyAttemptsTryAgainIn(duration(wait)))} />}
        <FormError error={error} />
        {options?.password !== false && (
          <form onSubmit={form.onSubmit(values => signIn.mutate(values))} aria-label={texts.signIn}>
            <Stack gap="sm">
              <TextInput
                label={texts.email}
                type="email"
                autoComplete="username"
                required
                withAsterisk={false}
                ref={account ? undefined : first}
                readOnly={account !== undefined}
                {...form.getInputProps('email')}
              />
              <PasswordInput
                label={texts.password}
                autoComplete="current-password"
                ref={account ? first : undefined}
                {...(account && { 'data-autofocus': true })}
                required
                withAsterisk={false}
                visibilityToggleButtonProps={{ 'aria-label': texts.showPassword }}
                {...form.getInputProps('password')}
              />
              {withCode && (
                <TextInput
                  label={texts.authenticationCode}
                  description={texts.codeHint}
                  autoComplete="one-time-code"
                  required
                  withAsterisk={false}
                  {...form.getInputProps('code')}
                />
              )}
              <Button
                type="submit"
                size="sm"
                fullWidth
                mt={4}
                loading={signIn.isPending}
                disabled={wait > 0 && !withCode}
              >
                {texts.signIn}
              </Button>
              {(wait > 0 || withCode) && (
                <Anchor component="button" type="button" size="sm" onClick={() => setWithCode(!withCode)}>
                  {withCode ? texts.signInWithoutACode : texts.signInWithACode}
                </Anchor>
              )}
              {options?.password_reset && !account && (
                <Text size="sm" ta="center">
                  <Anchor component={Link} to="/forgot-password" inherit>
                    {texts.forgotYourPassword}
                  </Anchor>
                </Text>
              )}
            </Stack>
          </form>
        )}
        {(options?.oidc || supportsPasskeys()) && options?.password && <Divider label={texts.or} />}
        {supportsPasskeys() && (
          <Button
            variant="default"
            size="sm"
            fullWidth
            leftSection={<IconFingerprint size={16} stroke={1.6} />}
            loading={passkey.isPending}
            onClick={() => {
              signIn.reset();
              passkey.mutate();
            }}
          >
            {texts.signInWithAPasskey}
          </Button>
        )}
        {options?.oidc && <ProviderButton name={options.oidc.name} to={to} newTab={account !== undefined} />}
        {!account && (
          <Text size="xs" c="dimmed" ta="center">
            {options && texts.versionPrefix(options.version)}
            <Anchor href="/docs" inherit underline="always">
              {texts.apiReference}
            </Anchor>
          </Text>
        )}
      </Stack>
    </Layout>
  );
}

/** Returns the seconds until the rate limit allows another attempt. */
function useCountdown(error: unknown): number {
  const [left, setLeft] = useState(0);
  useEffect(() => {
    const seconds = error instanceof ApiError && error.status === 429 ? (error.retryAfter ?? 60) : 0;
    const until = Date.now() + seconds * 1000;
    const tick = () => setLeft(Math.max(0, Math.ceil((until - Date.now()) / 1000)));
    tick();
    if (seconds === 0) return;
    const timer = setInterval(tick, 1000);
    return () => clearInterval(timer);
  }, [error]);
  return left;
}
