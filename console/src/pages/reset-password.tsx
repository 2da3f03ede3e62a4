/** Where the link of the mail leads: a new password. */
import { Anchor, Button, PasswordInput, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'react-router';
import { ApiError, api, take } from '../api.ts';
import { fieldErrors } from '../components/form.tsx';
import { FormError, Front } from '../components/front.tsx';
import { Waiting } from '../components/states.tsx';
import { texts } from '../texts/account.ts';

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
  if (pending.isPending) return <Waiting label={texts.openingTheLink} />;
  const gone = [pending.error, reset.error].some(error => error instanceof ApiError && error.status === 404);
  if (gone) {
    return (
      <Front title={texts.thisLinkNoLongerWorks}>
        <Text size="sm">
          {texts.itWasAlreadyUsedOrIs}{' '}
          <Anchor component={Link} to="/forgot-password" inherit underline="always">
            {texts.requestANewLink}
          </Anchor>
        </Text>
      </Front>
    );
  }
  if (pending.error) {
    return (
      <Front title={texts.resetYourPassword}>
        <FormError error={pending.error} />
      </Front>
    );
  }
  if (reset.isSuccess) {
    return (
      <Front title={texts.passwordChanged}>
        <Stack gap="sm">
          <Text size="sm" role="status">
            {texts.youWereSignedOutEverywhereSign}
          </Text>
          <Button component={Link} to="/sign-in" fullWidth>
            {texts.signIn}
          </Button>
        </Stack>
      </Front>
    );
  }
  return (
    <Front title={texts.chooseANewPassword} lead={texts.forWord(pending.data.email)}>
      <form aria-label={texts.chooseANewPassword} onSubmit={form.onSubmit(values => reset.mutate(values))}>
        <Stack gap="sm">
          <FormError error={form.errors.password ? null : reset.error} />
          {/* For programs that keep passwords. */}
          <input type="text" autoComplete="username" defaultValue={pending.data.email} hidden readOnly />
          <PasswordInput
            label={texts.newPassword}
            description={texts.atLeast10CharactersLongerIs}
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
    </Front>
  );
}
