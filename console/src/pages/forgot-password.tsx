/** Requests a link to reset the password. */
import { Anchor, Button, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { Link } from 'react-router';
import { api, take } from '../api.ts';
import { AuthLayout, FormError } from '../components/auth-layout.tsx';
import { texts } from '../texts/account.ts';

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
        {texts.backToSignIn}
      </Anchor>
    </Text>
  );
  if (request.isSuccess) {
    return (
      <AuthLayout title={texts.checkYourEmail}>
        <Stack gap="sm">
          <Text size="sm" role="status">
            {texts.resetLinkSent(email)}
          </Text>
          {back}
        </Stack>
      </AuthLayout>
    );
  }
  return (
    <AuthLayout title={texts.resetYourPassword} lead={texts.resetPasswordHint}>
      <form aria-label={texts.resetPassword} onSubmit={form.onSubmit(() => request.mutate())}>
        <Stack gap="sm">
          <FormError error={request.error} />
          <TextInput
            label={texts.email}
            type="email"
            autoComplete="username"
            required
            withAsterisk={false}
            ref={field}
            {...form.getInputProps('email')}
          />
          <Button type="submit" fullWidth loading={request.isPending}>
            {texts.sendLink}
          </Button>
          {back}
        </Stack>
      </form>
    </AuthLayout>
  );
}
