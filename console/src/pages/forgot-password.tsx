/** Asks for a link to choose a new password. */
import { Anchor, Button, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { Link } from 'react-router';
import { api, take } from '../api.ts';
import { FormError, Front } from '../components/front.tsx';
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
      <Front title={texts.checkYourEmail}>
        <Stack gap="sm">
          <Text size="sm" role="status">
            {texts.ifThereIsAnAccountFor(email)}
          </Text>
          {back}
        </Stack>
      </Front>
    );
  }
  return (
    <Front title={texts.resetYourPassword} lead={texts.wellEmailYouALinkTo}>
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
    </Front>
  );
}
