/** What holds for the whole organization. */
import { Anchor, Button, Fieldset, Group, NumberInput, Stack, Switch, Text, TextInput } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useNavigate } from 'react-router';
import { api, take, takeTagged } from '../api.ts';
import type { OrganizationSettings } from '../api-types.ts';
import { GuardedButton, useAction } from '../components/actions.tsx';
import { ApiForm, useApiForm } from '../components/api-form.tsx';
import { confirm } from '../components/confirm.tsx';
import { CopyText } from '../components/copy.tsx';
import { Deletion } from '../components/deletion.tsx';
import { Facts } from '../components/facts.tsx';
import { Page, Section } from '../components/page.tsx';
import { Failure, Waiting } from '../components/states.tsx';
import { TimeAgo } from '../components/time.tsx';
import { to, useOrg } from '../places.ts';
import { sessionQuery, useRefusal, useSession } from '../session.tsx';
import { Limits } from './settings/limits.tsx';

export default function Settings() {
  const org = useOrg();
  const queries = useQueryClient();
  const [filled, setFilled] = useState(0);
  const key = [org, 'settings'];
  const { data, error, refetch } = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => takeTagged(api.GET('/api/o/{org}/settings/', { params: { path: { org } }, signal })),
  });
  return (
    <Page
      title="Settings"
      actions={
        <Button variant="default" component={Link} to={to.account(org)}>
          Your account
        </Button>
      }
    >
      {error && !data && <Failure error={error} retry={() => void refetch()} />}
      {!data && !error && <Waiting />}
      {data && (
        <Stack maw={640}>
          <Section title="Organization">
            <Facts
              facts={[
                ['Slug', <CopyText key="slug" value={data.value.slug} label="Copy the slug" />],
                ['Created', <TimeAgo key="created" at={data.value.created_at} />],
              ]}
            />
            <Form
              key={filled}
              settings={data.value}
              etag={data.etag}
              refill={() => void queries.refetchQueries({ queryKey: key }).then(() => setFilled(count => count + 1))}
            />
          </Section>
          <Section title="Limits">
            <Limits />
          </Section>
          <Security required={data.value.two_factor_required} refresh={key} />
          <Danger name={data.value.name} />
        </Stack>
      )}
    </Page>
  );
}

interface FormProps {
  settings: OrganizationSettings;
  etag: string | null;
  refill: () => void;
}

function Form({ settings, etag, refill }: FormProps) {
  const org = useOrg();
  const refusal = useRefusal()('organization:write');
  const [tag] = useState(etag);
  const editing = useApiForm({
    initialValues: {
      name: settings.name,
      retention_days: settings.retention_days as number | string,
      max_key_lifetime_days: (settings.max_key_lifetime_days ?? '') as number | string,
    },
    run: ({ name, retention_days, max_key_lifetime_days: keyDays }) =>
      take(
        api.PATCH('/api/o/{org}/', {
          params: { path: { org } },
          body: {
            name,
            retention_days: Number(retention_days),
            max_key_lifetime_days: keyDays === '' ? null : Number(keyDays),
          },
          headers: tag ? { 'if-match': tag } : {},
        }),
      ),
    done: 'Saved.',
    refresh: [sessionQuery.queryKey],
    onDone: refill,
  });
  const { form } = editing;
  const days = { min: 1, max: 3650, allowDecimal: false, clampBehavior: 'none', maw: 240 } as const;
  return (
    <ApiForm of={editing} submit="Save" permission="organization:write" reload={refill}>
      <Fieldset variant="unstyled" disabled={refusal !== undefined} mt="sm">
        <Stack gap="sm">
          <TextInput label="Name" {...form.getInputProps('name')} />
          <NumberInput
            label="Keep history for (days)"
            description="Older occurrences, deliveries and statistics are deleted."
            {...days}
            {...form.getInputProps('retention_days')}
          />
          {Number(form.values.retention_days) < settings.retention_days && (
            <Text size="sm" c="light-dark(#8a5a00, #ffd28a)">
              History older than {form.values.retention_days} days will be deleted at the next cleanup. This cannot be
              undone.
            </Text>
          )}
          <NumberInput
            label="Maximum key lifetime (days)"
            description="New and rotated keys must expire within this time."
            placeholder="No limit"
            {...days}
            {...form.getInputProps('max_key_lifetime_days')}
          />
        </Stack>
      </Fieldset>
    </ApiForm>
  );
}

function Security({ required, refresh }: { required: boolean; refresh: string[] }) {
  const org = useOrg();
  const { account } = useSession();
  const refusal = useRefusal()('security:write');
  const save = useAction({
    run: (next: boolean) =>
      take(api.PUT('/api/o/{org}/two-factor/', { params: { path: { org } }, body: { required: next } })),
    done: settings =>
      settings.two_factor_required
        ? 'Two-factor authentication is now required.'
        : 'Two-factor authentication is no longer required.',
    refresh: [refresh, sessionQuery.queryKey],
  });
  const ask = async (next: boolean) => {
    const sure = await confirm(
      next
        ? {
            title: 'Require two-factor authentication?',
            children: 'Members without it have to set it up before they can continue here. API keys keep working.',
            action: 'Require',
          }
        : {
            title: 'Stop requiring two-factor authentication?',
            children: 'Members will be able to turn it off and sign in with a password alone.',
            action: 'Stop requiring',
            danger: true,
          },
    );
    if (sure) save.mutate(next);
  };
  const missing = !required && !account.two_factor;
  return (
    <Section title="Security">
      <Switch
        label="Require two-factor authentication"
        description="Everyone who signs in here needs an authenticator app or a passkey. Single sign-on counts."
        checked={required}
        disabled={refusal !== undefined || missing || save.isPending}
        onChange={event => void ask(event.currentTarget.checked)}
      />
      {(refusal ?? missing) && (
        <Text size="xs" c="dimmed" mt="xs">
          {refusal ?? (
            <>
              Set up two-factor authentication for{' '}
              <Anchor component={Link} to={to.account(org)} inherit underline="always">
                your own account
              </Anchor>{' '}
              first.
            </>
          )}
        </Text>
      )}
    </Section>
  );
}

function Danger({ name }: { name: string }) {
  const org = useOrg();
  const navigate = useNavigate();
  const [deleting, setDeleting] = useState(false);
  return (
    <Section title="Danger zone">
      <Group justify="space-between">
        <Text size="sm" c="dimmed" maw={380}>
          Delete the organization with everything in it: projects, channels, people, keys and history.
        </Text>
        <GuardedButton
          permission="organization:delete"
          variant="default"
          c="var(--mantine-color-error)"
          leftSection={<IconTrash size={15} stroke={1.6} />}
          onClick={() => setDeleting(true)}
        >
          Delete organization…
        </GuardedButton>
      </Group>
      <Deletion
        opened={deleting}
        onClose={() => setDeleting(false)}
        what={`the organization ${name}`}
        typed={org}
        run={({ dryRun }) =>
          take(
            api.DELETE('/api/o/{org}/', {
              params: { path: { org }, query: { cascade: true, ...(dryRun && { dry_run: true }) } },
            }),
          )
        }
        refresh={[sessionQuery.queryKey]}
        onDeleted={() => void navigate('/', { replace: true })}
      />
    </Section>
  );
}
