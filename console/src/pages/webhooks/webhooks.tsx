/** Webhooks of the organization. */
import { Text } from '@mantine/core';
import { IconWebhook } from '@tabler/icons-react';
import { useNavigate } from 'react-router';
import { api, take } from '../../api.ts';
import type { Webhook } from '../../api-types.ts';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import type { Column } from '../../components/data-table.tsx';
import { NameWithAddress } from '../../components/name-with-address.tsx';
import { slugFrom } from '../../components/slug.ts';
import { TablePage } from '../../components/table-page.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { useList } from '../../components/use-list.ts';
import { to, useOrg } from '../../paths.ts';
import { pages } from '../../queries.ts';
import { texts } from '../../texts/webhooks.ts';
import { ShowSecret } from './show-secret.tsx';
import { newWebhook, WebhookFields } from './webhook-fields.tsx';
import { WebhookStatus } from './webhook-status.tsx';

const columns: Column<Webhook>[] = [
  {
    head: texts.webhook,
    cell: ({ name, url, instance_wide }) => (
      <NameWithAddress name={instance_wide ? `${name} · ${texts.allOrganizations}` : name} address={url} />
    ),
  },
  { head: texts.types, from: 'md', width: '30%', cell: ({ types }) => <Text size="sm">{types.join(', ')}</Text> },
  {
    head: texts.lastSuccess,
    from: 'sm',
    width: 130,
    cell: ({ health }) => (health.last_success_at ? <TimeAgo at={health.last_success_at} /> : texts.never),
  },
  { head: texts.status, width: 110, align: 'right', cell: webhook => <WebhookStatus of={webhook} /> },
];

export default function Webhooks() {
  const org = useOrg();
  const list = useList(pages('/api/o/{org}/webhooks/', { path: { org } }));
  return (
    <TablePage
      title={texts.webhooks}
      description={texts.description}
      create={{
        permission: 'webhook:write',
        label: texts.newWebhook,
        dialog: close => <NewWebhook close={close} />,
      }}
      list={list}
      columns={columns}
      rowKey={({ slug }) => slug}
      rowTo={({ slug }) => to.webhook(org, slug)}
      empty={{ icon: IconWebhook, title: texts.noWebhooksYet, hint: texts.noWebhooksHint }}
    />
  );
}

function NewWebhook({ close }: { close: () => void }) {
  const org = useOrg();
  const navigate = useNavigate();
  const creating = useApiForm({
    initialValues: newWebhook,
    run: ({ name, slug, url, types }) =>
      take(
        api.POST('/api/o/{org}/webhooks/', {
          params: { path: { org } },
          body: { slug: slug || slugFrom(name), name, url, types },
        }),
      ),
    refresh: ['/api/o/{org}/webhooks/'],
  });
  const { form, action } = creating;
  const created = action.data;
  return (
    <FormModal
      of={creating}
      title={texts.newWebhook}
      submit={texts.createWebhook}
      size="lg"
      isDisabled={form.values.name.trim() === '' || form.values.types.length === 0}
      close={close}
      result={
        created && <ShowSecret secret={created.secret} onClose={() => void navigate(to.webhook(org, created.slug))} />
      }
    >
      <WebhookFields form={form} isNew isDisabled={false} />
    </FormModal>
  );
}
