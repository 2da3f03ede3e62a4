/** The way in: by password and a second factor, by a passkey, or by the identity provider when there is one. */
import { Anchor, Button, Divider, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { IconFingerprint, IconLogin2 } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { Link, useLocation, useNavigate } from 'react-router';
import { ApiError, api, setCsrfToken, take } from '../api.ts';
import { type Session, signInProblems } from '../api-types.ts';
import { FormError, Front } from '../components/front.tsx';
import { challengeOf, SecondFactor } from '../components/second-factor.tsx';
import { duration } from '../components/time.tsx';
import { askPasskey, supportsPasskeys } from '../passkeys.ts';
import { returnPath, sessionQuery } from '../session.tsx';
import { texts } from '../texts/account.ts';

export default function SignIn() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { search } = useLocation();
  const { data: options } = useQuery({
    queryKey: ['session-options'],
    queryFn: ({ signal }) => take(api.GET('/api/session/options/', { signal })),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const form = useForm({ initialValues: { email: '', password: '', code: '' } });
  const enter = (session: Session) => {
    setCsrfToken(session.csrf_token);
    // Nothing of whoever was here before is shown to the next one.
    queries.clear();
    queries.setQueryData(sessionQuery.queryKey, session);
    navigate(returnPath(search), { replace: true });
  };
  const signIn = useMutation({
    mutationFn: ({ code, ...body }: typeof form.values) =>
      take(api.POST('/api/session/', { body: { ...body, ...(code && { code }) } })),
    onSuccess: enter,
    onError: () => form.setValues({ password: '', code: '' }),
  });
  const passkey = useMutation({
    mutationFn: async () => {
      const { token, options } = await take(api.POST('/api/session/passkey/options/'));
      const response = (await askPasskey(options)) as never;
      return take(api.POST('/api/session/passkey/', { body: { token, response } }));
    },
    onSuccess: enter,
  });
  const challenge = challengeOf(signIn.error);
  const wait = useCountdown(signIn.error);
  const [withCode, setWithCode] = useState(false);
  const email = useRef<HTMLInputElement>(null);
  useEffect(() => email.current?.focus(), []);
  const refused = new URLSearchParams(search).get('error');
  const isLocked = signIn.error instanceof ApiError && signIn.error.status === 429;
  const failed = isLocked ? passkey.error : (signIn.error ?? passkey.error);

  if (challenge) {
    return (
      <Front title={texts.twoFactorAuthentication} lead={texts.signingInAs(form.values.email)}>
        <SecondFactor challenge={challenge} onDone={enter} onCancel={() => signIn.reset()} />
      </Front>
    );
  }
  return (
    <Front title={texts.signInToBelfry}>
      <Stack>
        {refused && !failed && !isLocked && <FormError error={new Error(`${signInProblems[refused] ?? refused}.`)} />}
        {wait > 0 && <FormError error={new Error(texts.tooManyAttemptsTryAgainIn(duration(wait)))} />}
        <FormError error={failed} />
        {options?.password !== false && (
          <form onSubmit={form.onSubmit(values => signIn.mutate(values))} aria-label={texts.signIn}>
            <Stack gap="sm">
              <TextInput
                label={texts.email}
                type="email"
                autoComplete="username"
                required
                withAsterisk={false}
                ref={email}
                {...form.getInputProps('email')}
              />
              <PasswordInput
                label={texts.password}
                autoComplete="current-password"
                required
                withAsterisk={false}
                visibilityToggleButtonProps={{ 'aria-label': texts.showPassword }}
                {...form.getInputProps('password')}
              />
              {withCode && (
                <TextInput
                  label={texts.authenticationCode}
                  description={texts.fromYourAuthenticatorAppOrA}
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
                  {withCode ? texts.signInWithoutACode : texts.haveAnAuthenticatorAppSignIn}
                </Anchor>
              )}
              {options?.password_reset && (
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
        {options?.oidc && (
          <Button
            component="a"
            href="/api/session/oidc/"
            variant="default"
            size="sm"
            fullWidth
            leftSection={<IconLogin2 size={16} stroke={1.6} />}
          >
            {texts.continueWith(options.oidc.name)}
          </Button>
        )}
        <Text size="xs" c="dimmed" ta="center">
          {options && texts.belfry2(options.version)}
          <Anchor href="/docs" inherit underline="always">
            {texts.apiReference}
          </Anchor>
        </Text>
      </Stack>
    </Front>
  );
}

/** Seconds until the lock is over. */
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
