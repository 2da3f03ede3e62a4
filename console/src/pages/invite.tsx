/** Accepts an invite with a new account, an existing one or the one that is signed in. */
import { Button, Divider, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from 'react-router';
import { api, setCsrfToken, take } from '../api.ts';
import { AuthLayout, FormError } from '../components/auth-layout.tsx';
import { fill } from '../components/fill.tsx';
import { fieldErrors } from '../components/form.tsx';
import { ProviderButton } from '../components/provider-button.tsx';
import { challengeOf, SecondFactor } from '../components/second-factor.tsx';
import { Failure, Loading } from '../components/states.tsx';
import { TimeAgo } from '../components/time.tsx';
import { to } from '../paths.ts';
import { read, signInOptionsQuery } from '../queries.ts';
import { sessionQuery } from '../session.tsx';
import { texts } from '../texts/team.ts';

export default function AcceptInvite() {
  const { token = '' } = useParams();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const session = useQuery({ ...sessionQuery, retry: false });
  const invite = useQuery({
    ...read('/api/invite/{token}/', { path: { token } }),
  });
  const oidc = useQuery(signInOptionsQuery).data?.oidc;
  const form = useForm({ initialValues: { name: '', password: '' } });
  const accept = useMutation({
    mutationFn: (body: { name?: string; password?: string }) =>
      take(api.POST('/api/invite/{token}/', { params: { path: { token } }, body })),
    onSuccess: answer => {
      setCsrfToken(answer.csrf_token);
      queries.clear();
      queries.setQueryData(sessionQuery.queryKey, answer);
      if (invite.data) navigate(to.overview(invite.data.organization.slug), { replace: true });
    },
    onError: error => {
      form.setErrors(fieldErrors(error));
    },
  });

  const challenge = challengeOf(accept.error);
  if (invite.isPending || session.isPending) return <Loading label={texts.loadingTheInvite} />;
  if (invite.error) {
    return (
      <AuthLayout title={texts.invite}>
        <Failure error={invite.error} retry={() => void invite.refetch()} />
      </AuthLayout>
    );
  }
  const { organization, email, role, expires_at } = invite.data;
  if (challenge) {
    return (
      <AuthLayout title={texts.twoFactorAuthentication} lead={texts.signingInAs(email)}>
        <SecondFactor
          challenge={challenge}
          onDone={answer => {
            setCsrfToken(answer.csrf_token);
            queries.setQueryData(sessionQuery.queryKey, answer);
            accept.mutate({});
          }}
          onCancel={() => accept.reset()}
        />
      </AuthLayout>
    );
  }
  const signedIn = session.data?.account.email.toLowerCase() === email.toLowerCase();
  const lead = fill(texts.isInvitedAs, { email, role: <strong>{role}</strong>, time: <TimeAgo at={expires_at} /> });
  return (
    <AuthLayout title={texts.joinOrganization(organization.name)} lead={lead}>
      {signedIn ? (
        <Stack>
          <FormError error={accept.error} />
          <Button size="sm" loading={accept.isPending} onClick={() => accept.mutate({})}>
            {texts.joinAs(email)}
          </Button>
        </Stack>
      ) : (
        <Stack>
          {invite.data.password && (
            <form
              aria-label={texts.join}
              onSubmit={form.onSubmit(({ name, password }) =>
                accept.mutate({ password, ...(name.trim() && { name }) }),
              )}
            >
              <Stack gap="sm">
                <FormError error={accept.error} />
                <TextInput
                  label={texts.yourName}
                  autoComplete="name"
                  description={texts.nameHint}
                  {...form.getInputProps('name')}
                />
                <PasswordInput
                  label={texts.password}
                  autoComplete="new-password"
                  required
                  withAsterisk={false}
                  visibilityToggleButtonProps={{ 'aria-label': texts.showPassword }}
                  {...form.getInputProps('password')}
                />
                <Text size="xs" c="dimmed">
                  {texts.existingAccountHint}
                </Text>
                <Button type="submit" size="sm" loading={accept.isPending}>
                  {texts.joinOrganization(organization.name)}
                </Button>
              </Stack>
            </form>
          )}
          {oidc && invite.data.password && <Divider label={texts.or} />}
          {oidc && <ProviderButton name={oidc.name} to={to.overview(organization.slug)} />}
          {oidc && (
            <Text size="xs" c="dimmed">
              {texts.acceptWithProviderHint(email)}
            </Text>
          )}
        </Stack>
      )}
    </AuthLayout>
  );
}
