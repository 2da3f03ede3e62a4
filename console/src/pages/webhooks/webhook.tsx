/** One webhook: its health, messages and settings. */
import { Alert, Grid, Group, Modal, Select, Stack, Text } from '@mantine/core';
import { IconAlertTriangle, IconRefresh, IconSend, IconWorld } from '@tabler/icons-react';
import { useState } from 'react';
import { useNavigate, useParams } from 'react-router';
import { api, take } from '../../api.ts';
import type { Webhook as WebhookData } from '../../api-types.ts';
import { GuardedButton, useAction } from '../../components/actions.tsx';
import { ApiForm, FormModal, useApiForm } from '../../components/api-form.tsx';
import { CopyText } from '../../components/copy.tsx';
import { Deletion } from '../../components/deletion.tsx';
import { Facts } from '../../components/facts.tsx';
import { GuardedItem } from '../../components/guarded.tsx';
import { MoreMenu } from '../../components/more-menu.tsx';
import { Page, Section } from '../../components/page.tsx';
import { pendingPage } from '../../components/pending.tsx';
import { exactTime, TimeAgo } from '../../components/time.tsx';
import { useEditable } from '../../components/use-editable.ts';
import { liveMs } from '../../components/use-list.ts';
import { to, useOrg } from '../../paths.ts';
import { readTagged } from '../../queries.ts';
import { useRefusal } from '../../session.tsx';
import { texts } from '../../texts/webhooks.ts';
import { Messages } from './messages.tsx';
import { ShowSecret } from './show-secret.tsx';
import { WebhookFields } from './webhook-fields.tsx';
import { WebhookStatus } from './webhook-status.tsx';

const icon = { size: 15, stroke: 1.6 };

export default function Webhook() {
  const org = useOrg();
  const { webhook: slug = '' } = useParams();
  const { query, filled, refill } = useEditable({
    ...readTagged('/api/o/{org}/webhooks/{webhook}/', { path: { org, webhook: slug } }),
    refetchInterval: liveMs,
  });
  const { data } = query;
  const parents = [{ label: texts.webhooks, to: to.webhooks(org) }];
  if (!data) return pendingPage(slug, parents, query);
  const { value, etag } = data;
  return (
    <Page
      title={value.name}
      parents={parents}
      aside={<WebhookStatus of={value} />}
      description={<CopyText value={slug} label={texts.copySlug} />}
      actions={<Actions of={value} />}
    >
      <Stack gap="md">
        {value.disabled_reason && <Disabled of={value} />}
        {value.instance_wide && (
          <Alert color="blue" icon={<IconWorld size={18} />}>
            {texts.instanceWide}
          </Alert>
        )}
        <Grid>
          <Grid.Col span={{ base: 12, md: 7 }}>
            <Messages of={value} />
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 5 }}>
            <Stack gap="md">
              <Section title={texts.health}>
                <Health of={value} />
              </Section>
              <Section title={texts.settings}>
                <Form key={`${slug} ${filled}`} webhook={value} etag={etag} refill={refill} />
              </Section>
            </Stack>
          </Grid.Col>
        </Grid>
      </Stack>
    </Page>
  );
}

function Disabled({ of: { slug, name, disabled_reason } }: { of: WebhookData }) {
  const org = useOrg();
  const enable = useAction({
    run: () => take(api.POST('/api/o/{org}/webhooks/{webhook}/enable/', { params: { path: { org, webhook: slug } } })),
    done: texts.enabledToast(name),
    refresh: ['/api/o/{org}/webhooks/'],
  });
  return (
    <Alert color="red" icon={<IconAlertTriangle size={18} />} title={texts.disabledTitle}>
      <Group justify="space-between" gap="sm">
        <Text size="sm" flex={1} miw={220}>
          {disabled_reason === 'gone' ? texts.disabledGone : texts.disabledFailing} {texts.disabledHint}
        </Text>
        <GuardedButton permission="webhook:write" loading={enable.isPending} onClick={() => enable.mutate(undefined)}>
          {texts.enable}
        </GuardedButton>
      </Group>
    </Alert>
  );
}

function Health({ of: { health, previous_secret_expires_at } }: { of: WebhookData }) {
  const time = (at: string | null) => (at ? <TimeAgo at={at} /> : texts.never);
  return (
    <Facts
      facts={[
        [texts.lastSuccess, time(health.last_success_at)],
        [texts.lastFailure, time(health.last_failure_at)],
        ...(health.last_failure ? [[texts.lastFailedResponse, health.last_failure] as [string, string]] : []),
        ...(health.failing_since
          ? [[texts.failingSince, time(health.failing_since)] as [string, React.ReactNode]]
          : []),
        ...(previous_secret_expires_at
          ? [[texts.oldSecretSignsUntil, exactTime(previous_secret_expires_at)] as [string, string]]
          : []),
      ]}
    />
  );
}

function Form({ webhook, etag, refill }: { webhook: WebhookData; etag: string | null; refill: () => Promise<void> }) {
  const org = useOrg();
  const refusal = useRefusal()('webhook:write');
  const { slug, name, url, types, enabled } = webhook;
  const editing = useApiForm({
    initialValues: { slug, name, url, types, enabled, secret: '' },
    draft: { key: `${org}/webhooks/${slug}`, etag, toStored: values => ({ ...values, secret: '' }) },
    run: ({ slug: _, secret, ...body }, headers) =>
      take(
        api.PATCH('/api/o/{org}/webhooks/{webhook}/', {
          params: { path: { org, webhook: slug } },
          body: { ...body, ...(body.url !== url && { secret: secret.trim() || null }) },
          headers,
        }),
      ),
    done: texts.saved,
    refresh: ['/api/o/{org}/webhooks/'],
    onDone: changed => (changed.secret ? undefined : refill()),
  });
  const newSecret = editing.action.data?.secret;
  return (
    <>
      <ApiForm of={editing} isLong submit={texts.save} permission="webhook:write" reload={refill}>
        <WebhookFields
          form={editing.form}
          isNew={false}
          isMoved={editing.form.values.url !== url}
          isDisabled={refusal !== undefined}
        />
      </ApiForm>
      {newSecret && (
        <Modal
          opened
          onClose={refill}
          title={texts.newSecretTitle}
          withCloseButton={false}
          closeOnClickOutside={false}
          closeOnEscape={false}
        >
          <ShowSecret secret={newSecret} onClose={refill} />
        </Modal>
      )}
    </>
  );
}

function Actions({ of: webhook }: { of: WebhookData }) {
  const org = useOrg();
  const navigate = useNavigate();
  const [open, setOpen] = useState<'rotate' | 'delete'>();
  const { slug, name, enabled, disabled_at } = webhook;
  const path = { org, webhook: slug };
  const test = useAction({
    run: () => take(api.POST('/api/o/{org}/webhooks/{webhook}/test/', { params: { path } })),
    done: texts.testQueued,
    refresh: ['/api/o/{org}/webhooks/'],
  });
  return (
    <>
      <GuardedButton
        permission="webhook:write"
        variant="default"
        leftSection={<IconSend {...icon} />}
        loading={test.isPending}
        disabled={!enabled || disabled_at !== null}
        onClick={() => test.mutate(undefined)}
      >
        {texts.sendTest}
      </GuardedButton>
      <MoreMenu permission="webhook:write" onDelete={() => setOpen('delete')}>
        <GuardedItem permission="webhook:write" icon={<IconRefresh {...icon} />} onClick={() => setOpen('rotate')}>
          {texts.rotateSecret}
        </GuardedItem>
      </MoreMenu>
      {open === 'rotate' && <Rotate of={webhook} close={() => setOpen(undefined)} />}
      <Deletion
        opened={open === 'delete'}
        onClose={() => setOpen(undefined)}
        what={texts.theWebhook(name)}
        run={({ dryRun }) =>
          take(
            api.DELETE('/api/o/{org}/webhooks/{webhook}/', {
              params: { path, query: dryRun ? { dry_run: true } : {} },
            }),
          )
        }
        refresh={['/api/o/{org}/webhooks/']}
        leaves
        onDeleted={() => void navigate(to.webhooks(org))}
      >
        {texts.deletionHint}
      </Deletion>
    </>
  );
}

const overlaps = [
  { value: '1h', label: texts.oneHour },
  { value: '24h', label: texts.oneDay },
  { value: '7d', label: texts.sevenDays },
  { value: '30d', label: texts.thirtyDays },
];

function Rotate({ of: { slug, name }, close }: { of: WebhookData; close: () => void }) {
  const org = useOrg();
  const rotating = useApiForm({
    initialValues: { overlap: '24h' },
    run: body =>
      take(api.POST('/api/o/{org}/webhooks/{webhook}/rotate/', { params: { path: { org, webhook: slug } }, body })),
    refresh: ['/api/o/{org}/webhooks/'],
  });
  const rotated = rotating.action.data;
  return (
    <FormModal
      of={rotating}
      title={texts.rotateTitle(name)}
      submit={texts.rotate}
      close={close}
      result={
        rotated && (
          <ShowSecret
            secret={rotated.secret}
            note={texts.oldSecretUntil(exactTime(rotated.previous_secret_expires_at))}
            onClose={close}
          />
        )
      }
    >
      <Text size="sm">{texts.rotateHint}</Text>
      <Select label={texts.overlap} data={overlaps} allowDeselect={false} {...rotating.form.getInputProps('overlap')} />
    </FormModal>
  );
}
