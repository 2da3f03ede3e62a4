/** The way in: by password, or by the identity provider when there is one. */
import { Anchor, Button, Divider, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { IconLogin2 } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useLocation, useNavigate } from 'react-router';
import { ApiError, api, setCsrfToken, take } from '../api.ts';
import { signInProblems } from '../api-types.ts';
import { FormError, Front } from '../components/front.tsx';
import { duration } from '../components/time.tsx';
import { returnPath, sessionQuery } from '../session.tsx';

export default function SignIn() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { search } = useLocation();
  const { data: options } = useQuery({
    queryKey: ['session-options'],
    queryFn: ({ signal }) => take(api.GET('/api/session/options/', { signal })),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const form = useForm({ initialValues: { email: '', password: '' } });
  const signIn = useMutation({
    mutationFn: (body: { email: string; password: string }) => take(api.POST('/api/session/', { body })),
    onSuccess: session => {
      setCsrfToken(session.csrf_token);
      // Nothing of whoever was here before is shown to the next one.
      queries.clear();
      queries.setQueryData(sessionQuery.queryKey, session);
      navigate(returnPath(search), { replace: true });
    },
    onError: () => form.setFieldValue('password', ''),
  });
  const wait = useCountdown(signIn.error);
  const email = useRef<HTMLInputElement>(null);
  useEffect(() => email.current?.focus(), []);
  const refused = new URLSearchParams(search).get('error');

  return (
    <Front title="Sign in to Belfry">
      <Stack>
        {refused && !signIn.error && <FormError error={new Error(`${signInProblems[refused] ?? refused}.`)} />}
        {wait > 0 ? (
          <FormError error={new Error(`Too many attempts. Try again in ${duration(wait)}.`)} />
        ) : (
          <FormError error={signIn.error instanceof ApiError && signIn.error.status === 429 ? null : signIn.error} />
        )}
        {options?.password !== false && (
          <form onSubmit={form.onSubmit(values => signIn.mutate(values))} aria-label="Sign in">
            <Stack gap="sm">
              <TextInput
                label="Email"
                type="email"
                autoComplete="username"
                required
                withAsterisk={false}
                ref={email}
                {...form.getInputProps('email')}
              />
              <PasswordInput
                label="Password"
                autoComplete="current-password"
                required
                withAsterisk={false}
                visibilityToggleButtonProps={{ 'aria-label': 'Show password' }}
                {...form.getInputProps('password')}
              />
              <Button type="submit" size="sm" fullWidth mt={4} loading={signIn.isPending} disabled={wait > 0}>
                Sign in
              </Button>
            </Stack>
          </form>
        )}
        {options?.oidc && (
          <>
            {options.password && <Divider label="or" />}
            <Button
              component="a"
              href="/api/session/oidc/"
              variant="default"
              size="sm"
              fullWidth
              leftSection={<IconLogin2 size={16} stroke={1.6} />}
            >
              Continue with {options.oidc.name}
            </Button>
          </>
        )}
        <Text size="xs" c="dimmed" ta="center">
          {options && `Belfry ${options.version} · `}
          <Anchor href="/docs" inherit underline="always">
            API reference
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
