/** Settings of the organization. */
import { Anchor, Button, Fieldset, Group, NumberInput, Stack, Switch, Text, TextInput } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useNavigate } from 'react-router';
import { api, take } from '../../api.ts';
import type { OrganizationSettings } from '../../api-types.ts';
import { GuardedButton, useAction } from '../../components/actions.tsx';
import { ApiForm, useApiForm } from '../../components/api-form.tsx';
import { confirm } from '../../components/confirm.tsx';
import { CopyText } from '../../components/copy.tsx';
import { Deletion } from '../../components/deletion.tsx';
import { Facts } from '../../components/facts.tsx';
import { fill } from '../../components/fill.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Pending } from '../../components/pending.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { to, useOrg } from '../../paths.ts';
import { readTagged } from '../../queries.ts';
import { useRefusal, useSession } from '../../session.tsx';
import { texts as guardTexts } from '../../texts/guards.ts';
import { texts as recipientTexts } from '../../texts/preferences.ts';
import { texts } from '../../texts/settings.ts';
import { GuardSettings } from './guards.tsx';
import { Limits } from './limits.tsx';
import { RecipientSettings } from './recipients.tsx';

export default function Settings() {
  const org = useOrg();
  const [filled, setFilled] = useState(0);
  const { data, error, refetch } = useQuery({
    ...readTagged('/api/o/{org}/settings/', { path: { org } }),
  });
  const refill = () => void refetch().then(() => setFilled(count => count + 1));
  return (
    <Page
      title={texts.settings}
      actions={
        <Button variant="default" component={Link} to={to.account(org)}>
          {texts.yourAccount}
        </Button>
      }
    >
      {!data && <Pending query={{ error, refetch }} />}
      {data && (
        <Stack maw={640}>
          <Section title={texts.organization}>
            <Facts
              facts={[
                [texts.slug, <CopyText key="slug" value={data.value.slug} label={texts.copyTheSlug} />],
                [texts.created, <TimeAgo key="created" at={data.value.created_at} />],
              ]}
            />
            <Form key={filled} settings={data.value} etag={data.etag} refill={refill} />
          </Section>
          <Section title={recipientTexts.recipientSettings}>
            <RecipientSettings key={filled} settings={data.value} etag={data.etag} refill={refill} />
          </Section>
          <Section title={guardTexts.guards}>
            <GuardSettings key={filled} settings={data.value} etag={data.etag} refill={refill} />
          </Section>
          <Section title={texts.limits}>
            <Limits />
          </Section>
          <Security required={data.value.two_factor_required} />
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
  const editing = useApiForm({
    initialValues: {
      name: settings.name,
      retention_days: settings.retention_days as number | string,
      max_key_lifetime_days: (settings.max_key_lifetime_days ?? '') as number | string,
    },
    draft: { key: `${org}/settings`, etag },
    run: ({ name, retention_days, max_key_lifetime_days: keyDays }, headers) =>
      take(
        api.PATCH('/api/o/{org}/', {
          params: { path: { org } },
          body: {
            name,
            retention_days: Number(retention_days),
            max_key_lifetime_days: keyDays === '' ? null : Number(keyDays),
          },
          headers,
        }),
      ),
    done: texts.saved,
    refresh: ['/api/session/'],
    onDone: refill,
  });
  const { form } = editing;
  const days = { min: 1, max: 3650, allowDecimal: false, clampBehavior: 'none', maw: 240 } as const;
  return (
    <ApiForm of={editing} isLong submit={texts.save} permission="organization:write" reload={refill}>
      <Fieldset variant="unstyled" disabled={refusal !== undefined} mt="sm">
        <Stack gap="sm">
          <TextInput label={texts.name} {...form.getInputProps('name')} />
          <NumberInput
            label={texts.keepHistoryForDays}
            description={texts.keepHistoryHint}
            {...days}
            {...form.getInputProps('retention_days')}
          />
          {form.values.retention_days !== '' && Number(form.values.retention_days) < settings.retention_days && (
            <Text size="sm" c="light-dark(#8a5a00, #ffd28a)">
              {texts.historyWillBeDeleted(Number(form.values.retention_days))}
            </Text>
          )}
          <NumberInput
            label={texts.maxKeyLifetimeDays}
            description={texts.maxKeyLifetimeHint}
            placeholder={texts.noLimit}
            {...days}
            {...form.getInputProps('max_key_lifetime_days')}
          />
        </Stack>
      </Fieldset>
    </ApiForm>
  );
}

function Security({ required }: { required: boolean }) {
  const org = useOrg();
  const { account } = useSession();
  const refusal = useRefusal()('security:write');
  const save = useAction({
    run: (next: boolean) =>
      take(api.PUT('/api/o/{org}/two-factor/', { params: { path: { org } }, body: { required: next } })),
    done: settings => (settings.two_factor_required ? texts.twoFactorRequiredToast : texts.twoFactorOptionalToast),
    refresh: ['/api/o/{org}/settings/', '/api/session/'],
  });
  const ask = async (next: boolean) => {
    const confirmed = await confirm(
      next
        ? {
            title: texts.requireTwoFactorQuestion,
            children: texts.requireTwoFactorHint,
            action: texts.require,
          }
        : {
            title: texts.stopRequiringTwoFactorQuestion,
            children: texts.stopRequiringTwoFactorHint,
            action: texts.stopRequiring,
            danger: true,
          },
    );
    if (confirmed) save.mutate(next);
  };
  const missing = !required && !account.two_factor;
  return (
    <Section title={texts.security}>
      <Switch
        label={texts.requireTwoFactor}
        description={texts.twoFactorHint}
        checked={required}
        disabled={refusal !== undefined || missing || save.isPending}
        onChange={event => void ask(event.currentTarget.checked)}
      />
      {(refusal ?? missing) && (
        <Text size="xs" c="dimmed" mt="xs">
          {refusal ??
            fill(texts.setUpTwoFactorFirst, {
              account: (
                <Anchor component={Link} to={to.account(org)} inherit underline="always">
                  {texts.yourOwnAccount}
                </Anchor>
              ),
            })}
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
    <Section title={texts.dangerZone}>
      <Group justify="space-between">
        <Text size="sm" c="dimmed" maw={380}>
          {texts.deleteOrganizationHint}
        </Text>
        <GuardedButton
          permission="organization:delete"
          variant="default"
          c="var(--mantine-color-error)"
          leftSection={<IconTrash size={15} stroke={1.6} />}
          onClick={() => setDeleting(true)}
        >
          {texts.deleteOrganization}
        </GuardedButton>
      </Group>
      <Deletion
        opened={deleting}
        onClose={() => setDeleting(false)}
        what={texts.theOrganization(name)}
        confirmText={org}
        run={({ dryRun }) =>
          take(
            api.DELETE('/api/o/{org}/', {
              params: { path: { org }, query: { cascade: true, ...(dryRun && { dry_run: true }) } },
            }),
          )
        }
        refresh={['/api/session/']}
        onDeleted={() => void navigate('/', { replace: true })}
      />
    </Section>
  );
}
