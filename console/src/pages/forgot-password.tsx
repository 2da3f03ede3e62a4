/** Asks for a link to choose a new password. */
import { Anchor, Button, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { Link } from 'react-router';
import { api, take } from '../api.ts';
import { FormError, Front } from '../components/front.tsx';

export default function ForgotPassword() {
  const form = useForm({ initialValues: { email: '' } });
  const { email } = form.values;
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const request = useMutation({
    mutationFn: () => take(api.POST('/api/password-reset/', { body: { email } })),
  });
  const back = (
    <Text size="sm" ta="center">
      <Anchor component={Link} to="/sign-in" inherit>
        Back to sign in
      </Anchor>
    </Text>
  );
  if (request.isSuccess) {
    return (
      <Front title="Check your email">
        <Stack gap="sm">
          <Text size="sm" role="status">
            If there is an account for {email}, we sent a link to choose a new password. It works for one hour.
          </Text>
          {back}
        </Stack>
      </Front>
    );
  }
  return (
    <Front title="Reset your password" lead="We’ll email you a link to choose a new one.">
      <form aria-label="Reset password" onSubmit={form.onSubmit(() => request.mutate())}>
        <Stack gap="sm">
          <FormError error={request.error} />
          <TextInput
            label="Email"
            type="email"
            autoComplete="username"
            required
            withAsterisk={false}
            ref={field}
            {...form.getInputProps('email')}
          />
          <Button type="submit" fullWidth loading={request.isPending}>
            Send link
          </Button>
          {back}
        </Stack>
      </form>
    </Front>
  );
}
