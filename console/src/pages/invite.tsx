/** Accepting an invitation: with a new account, an account that there is, or the one that is signed in. */
import { Button, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from 'react-router';
import { api, setCsrfToken, take } from '../api.ts';
import { fieldErrors } from '../components/form.tsx';
import { FormError, Front } from '../components/front.tsx';
import { challengeOf, SecondFactor } from '../components/second-factor.tsx';
import { Failure, Waiting } from '../components/states.tsx';
import { TimeAgo } from '../components/time.tsx';
import { to } from '../places.ts';
import { sessionQuery } from '../session.tsx';

export default function AcceptInvite() {
  const { token = '' } = useParams();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const session = useQuery({ ...sessionQuery, retry: false });
  const invite = useQuery({
    queryKey: ['invite', token],
    queryFn: ({ signal }) => take(api.GET('/api/invite/{token}/', { params: { path: { token } }, signal })),
  });
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
  if (invite.isPending || session.isPending) return <Waiting label="Loading the invite" />;
  if (invite.error) {
    return (
      <Front title="Invite">
        <Failure error={invite.error} retry={() => void invite.refetch()} />
      </Front>
    );
  }
  const { organization, email, role, expires_at } = invite.data;
  if (challenge) {
    return (
      <Front title="Two-factor authentication" lead={`Signing in as ${email}`}>
        <SecondFactor
          challenge={challenge}
          onDone={answer => {
            setCsrfToken(answer.csrf_token);
            queries.setQueryData(sessionQuery.queryKey, answer);
            accept.mutate({});
          }}
          onCancel={() => accept.reset()}
        />
      </Front>
    );
  }
  const signedIn = session.data?.account.email.toLowerCase() === email.toLowerCase();
  const lead = (
    <>
      {email} is invited as <strong>{role}</strong>. The invite expires <TimeAgo at={expires_at} />.
    </>
  );
  return (
    <Front title={`Join ${organization.name}`} lead={lead}>
      {signedIn ? (
        <Stack>
          <FormError error={accept.error} />
          <Button size="sm" loading={accept.isPending} onClick={() => accept.mutate({})}>
            Join as {email}
          </Button>
        </Stack>
      ) : (
        <form
          aria-label="Join"
          onSubmit={form.onSubmit(({ name, password }) => accept.mutate({ password, ...(name.trim() && { name }) }))}
        >
          <Stack gap="sm">
            <FormError error={accept.error} />
            <TextInput
              label="Your name"
              autoComplete="name"
              description="Leave empty if you already have an account."
              {...form.getInputProps('name')}
            />
            <PasswordInput
              label="Password"
              autoComplete="new-password"
              required
              withAsterisk={false}
              visibilityToggleButtonProps={{ 'aria-label': 'Show password' }}
              {...form.getInputProps('password')}
            />
            <Text size="xs" c="dimmed">
              Already have an account? Enter its password.
            </Text>
            <Button type="submit" size="sm" loading={accept.isPending}>
              Join {organization.name}
            </Button>
          </Stack>
        </form>
      )}
    </Front>
  );
}
