/** Sets a new password from an emailed link. */
import { Anchor, Button, PasswordInput, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'react-router';
import { ApiError, api, take } from '../api.ts';
import { AuthLayout, FormError } from '../components/auth-layout.tsx';
import { fieldErrors } from '../components/form.tsx';
import { Loading } from '../components/states.tsx';
import { read } from '../queries.ts';
import { texts } from '../texts/account.ts';

export default function ResetPassword() {
  const { token = '' } = useParams();
  const params = { path: { token } };
  const form = useForm({ initialValues: { password: '' } });
  const pending = useQuery({
    ...read('/api/password-reset/{token}/', params),
    refetchOnWindowFocus: false,
  });
  const reset = useMutation({
    mutationFn: (body: { password: string }) => take(api.POST('/api/password-reset/{token}/', { params, body })),
    onError: error => form.setErrors(fieldErrors(error)),
  });
  if (pending.isPending) return <Loading label={texts.openingTheLink} />;
  const isLinkInvalid = [pending.error, reset.error].some(error => error instanceof ApiError && error.status === 404);
  if (isLinkInvalid) {
    return (
      <AuthLayout title={texts.thisLinkNoLongerWorks}>
        <Text size="sm">
          {texts.linkExpired}{' '}
          <Anchor component={Link} to="/forgot-password" inherit underline="always">
            {texts.requestANewLink}
          </Anchor>
        </Text>
      </AuthLayout>
    );
  }
  if (pending.error) {
    return (
      <AuthLayout title={texts.resetYourPassword}>
        <FormError error={pending.error} />
      </AuthLayout>
    );
  }
  if (reset.isSuccess) {
    return (
      <AuthLayout title={texts.passwordChanged}>
        <Stack gap="sm">
          <Text size="sm" role="status">
            {texts.signInWithNewPassword}
          </Text>
          <Button component={Link} to="/sign-in" fullWidth>
            {texts.signIn}
          </Button>
        </Stack>
      </AuthLayout>
    );
  }
  return (
    <AuthLayout title={texts.chooseANewPassword} lead={texts.forEmail(pending.data.email)}>
      <form aria-label={texts.chooseANewPassword} onSubmit={form.onSubmit(values => reset.mutate(values))}>
        <Stack gap="sm">
          <FormError error={form.errors.password ? null : reset.error} />
          {/* Tells password managers which account this is. */}
          <input type="text" autoComplete="username" defaultValue={pending.data.email} hidden readOnly />
          <PasswordInput
            label={texts.newPassword}
            description={texts.passwordHint}
            autoComplete="new-password"
            required
            withAsterisk={false}
            {...form.getInputProps('password')}
            visibilityToggleButtonProps={{ 'aria-label': texts.showPassword }}
          />
          <Button type="submit" fullWidth loading={reset.isPending}>
            {texts.changePassword}
          </Button>
        </Stack>
      </form>
    </AuthLayout>
  );
}
