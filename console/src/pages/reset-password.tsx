/** Where the link of the mail leads: a new password. */
import { Anchor, Button, PasswordInput, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'react-router';
import { ApiError, api, take } from '../api.ts';
import { fieldErrors } from '../components/form.tsx';
import { FormError, Front } from '../components/front.tsx';
import { Waiting } from '../components/states.tsx';

export default function ResetPassword() {
  const { token = '' } = useParams();
  const params = { path: { token } };
  const form = useForm({ initialValues: { password: '' } });
  const pending = useQuery({
    queryKey: ['password-reset', token],
    queryFn: ({ signal }) => take(api.GET('/api/password-reset/{token}/', { params, signal })),
    refetchOnWindowFocus: false,
  });
  const reset = useMutation({
    mutationFn: (body: { password: string }) => take(api.POST('/api/password-reset/{token}/', { params, body })),
    onError: error => form.setErrors(fieldErrors(error)),
  });
  if (pending.isPending) return <Waiting label="Opening the link" />;
  const gone = [pending.error, reset.error].some(error => error instanceof ApiError && error.status === 404);
  if (gone) {
    return (
      <Front title="This link no longer works">
        <Text size="sm">
          It was already used, or is more than an hour old.{' '}
          <Anchor component={Link} to="/forgot-password" inherit underline="always">
            Request a new link
          </Anchor>
        </Text>
      </Front>
    );
  }
  if (pending.error) {
    return (
      <Front title="Reset your password">
        <FormError error={pending.error} />
      </Front>
    );
  }
  if (reset.isSuccess) {
    return (
      <Front title="Password changed">
        <Stack gap="sm">
          <Text size="sm" role="status">
            You were signed out everywhere. Sign in with your new password.
          </Text>
          <Button component={Link} to="/sign-in" fullWidth>
            Sign in
          </Button>
        </Stack>
      </Front>
    );
  }
  return (
    <Front title="Choose a new password" lead={`For ${pending.data.email}`}>
      <form aria-label="Choose a new password" onSubmit={form.onSubmit(values => reset.mutate(values))}>
        <Stack gap="sm">
          <FormError error={form.errors.password ? null : reset.error} />
          {/* For programs that keep passwords. */}
          <input type="text" autoComplete="username" defaultValue={pending.data.email} hidden readOnly />
          <PasswordInput
            label="New password"
            description="At least 10 characters. Longer is stronger."
            autoComplete="new-password"
            required
            withAsterisk={false}
            {...form.getInputProps('password')}
            visibilityToggleButtonProps={{ 'aria-label': 'Show password' }}
          />
          <Button type="submit" fullWidth loading={reset.isPending}>
            Change password
          </Button>
        </Stack>
      </form>
    </Front>
  );
}
