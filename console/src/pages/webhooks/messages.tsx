/** Messages sent to a webhook with their attempts; one message opens in a drawer. */
import { Drawer, SegmentedControl, Stack, Text } from '@mantine/core';
import { IconRefresh } from '@tabler/icons-react';
import { useState } from 'react';
import { useSearchParams } from 'react-router';
import { api, take } from '../../api.ts';
import type { Webhook, WebhookMessage } from '../../api-types.ts';
import { GuardedButton, useAction } from '../../components/actions.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Facts } from '../../components/facts.tsx';
import { JsonView } from '../../components/json-view.tsx';
import { Mark } from '../../components/mark.tsx';
import { Section } from '../../components/page.tsx';
import { exactTime, TimeAgo } from '../../components/time.tsx';
import { useList } from '../../components/use-list.ts';
import { useOrg } from '../../paths.ts';
import { pages } from '../../queries.ts';
import { texts } from '../../texts/webhooks.ts';

type Status = WebhookMessage['status'];

const looks: Record<Status, { color: string; word: string }> = {
  waiting: { color: 'yellow', word: texts.waiting },
  sent: { color: 'teal', word: texts.sent },
  failed: { color: 'red', word: texts.failed },
};

function MessageStatus({ status }: { status: Status }) {
  return <Mark color={looks[status].color}>{looks[status].word}</Mark>;
}

const columns: Column<WebhookMessage>[] = [
  {
    head: texts.event,
    cell: ({ type, attempts }) => (
      <>
        <Text component="span" display="block" size="sm" fw={500} className="mono">
          {type}
        </Text>
        <Text component="span" display="block" size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {attempts.at(-1)?.answer ?? texts.noAttempts}
        </Text>
      </>
    ),
  },
  { head: texts.attempts, from: 'sm', width: 90, align: 'right', cell: ({ attempts }) => attempts.length },
  { head: texts.status, width: 110, cell: ({ status }) => <MessageStatus status={status} /> },
  { head: texts.when, from: 'xs', width: 110, align: 'right', cell: ({ created_at }) => <TimeAgo at={created_at} /> },
];

export function Messages({ of: webhook }: { of: Webhook }) {
  const org = useOrg();
  const [status, setStatus] = useState<Status | ''>('');
  const [search, setSearch] = useSearchParams();
  const list = useList(
    pages('/api/o/{org}/webhooks/{webhook}/messages/', {
      path: { org, webhook: webhook.slug },
      query: { ...(status && { status }) },
    }),
    { live: true, pageSize: 20 },
  );
  const message = list.rows.find(({ id }) => String(id) === search.get('message'));
  return (
    <Section
      title={texts.messages}
      padded={false}
      aside={
        <SegmentedControl
          size="xs"
          aria-label={texts.filter}
          value={status}
          onChange={value => setStatus(value as Status | '')}
          data={[
            { value: '', label: texts.all },
            { value: 'waiting', label: texts.waiting },
            { value: 'sent', label: texts.sent },
            { value: 'failed', label: texts.failed },
          ]}
        />
      }
    >
      <DataTable
        label={texts.messagesOf(webhook.name)}
        list={list}
        loadsManually
        columns={columns}
        rowKey={({ id }) => id}
        rowTo={({ id }) => `?message=${id}`}
        empty={
          <Text size="sm" c="dimmed" px="md" pb="md">
            {texts.noMessages}
          </Text>
        }
      />
      <Drawer
        opened={message !== undefined}
        onClose={() => setSearch({}, { replace: true })}
        position="right"
        size="lg"
        title={message && texts.message(message.type)}
      >
        {message && <Message of={message} webhook={webhook} />}
      </Drawer>
    </Section>
  );
}

function Message({ of: message, webhook }: { of: WebhookMessage; webhook: Webhook }) {
  const org = useOrg();
  const resend = useAction({
    run: () =>
      take(
        api.POST('/api/o/{org}/webhooks/{webhook}/messages/{hook_message}/resend/', {
          params: { path: { org, webhook: webhook.slug, hook_message: message.id } },
        }),
      ),
    done: texts.resent,
    refresh: ['/api/o/{org}/webhooks/'],
  });
  return (
    <Stack gap="md">
      <Facts
        facts={[
          [texts.status, <MessageStatus key="status" status={message.status} />],
          [
            texts.messageId,
            <span key="id" className="mono">
              {message.webhook_id}
            </span>,
          ],
          [texts.created, exactTime(message.created_at)],
          ...(message.next_attempt_at
            ? [[texts.nextAttempt, exactTime(message.next_attempt_at)] as [string, string]]
            : []),
        ]}
      />
      <Text size="sm" fw={500}>
        {texts.attempts}
      </Text>
      {message.attempts.length === 0 ? (
        <Text size="sm" c="dimmed">
          {texts.noAttempts}
        </Text>
      ) : (
        <Facts facts={message.attempts.map(({ at, ms, answer }) => [exactTime(at), `${answer} · ${texts.took(ms)}`])} />
      )}
      <Text size="sm" fw={500}>
        {texts.payload}
      </Text>
      <JsonView value={message.data} label={texts.payload} />
      <div>
        <GuardedButton
          permission="webhook:write"
          variant="default"
          leftSection={<IconRefresh size={15} stroke={1.6} />}
          loading={resend.isPending}
          disabled={!webhook.enabled || webhook.disabled_at !== null}
          onClick={() => resend.mutate(undefined)}
        >
          {texts.resend}
        </GuardedButton>
      </div>
    </Stack>
  );
}
