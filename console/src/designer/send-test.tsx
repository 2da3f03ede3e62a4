/** Sends the saved message to one address, really, and shows what the provider said. */
import { Alert, Button, Group, Modal, Select, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { api, explain, take } from '../api.ts';
import type { TestResult } from '../api-types.ts';
import { useAction } from '../components/actions.tsx';
import { milliseconds } from '../components/time.tsx';
import type { EventPath } from '../events/sample.ts';
import { useSession } from '../session.tsx';
import type { UsableChannel } from './use-channels.ts';

interface SendTestProps {
  path: EventPath;
  notification: number;
  /** The notification's own come first. */
  channels: UsableChannel[];
  context: Record<string, unknown>;
  user: string | undefined;
  dirty: boolean;
  close: () => void;
}

const addressHints: Record<string, string> = {
  email: 'An email address.',
  sms: 'A phone number, such as +15555550100.',
  whatsapp: 'A phone number, such as +15555550100.',
  voice: 'A phone number, such as +15555550100.',
  webhook: 'An address that begins with https://, or anything where the channel has its own.',
};

export function SendTest({ path, notification, channels, context, user, dirty, close }: SendTestProps) {
  const { account } = useSession();
  const [slug, setSlug] = useState(channels[0]?.slug ?? '');
  const [typed, setTyped] = useState<string>();
  const channel = channels.find(one => one.slug === slug);
  const to = typed ?? (channel?.type === 'email' ? account.email : '');
  const send = useAction({
    run: () =>
      take(
        api.POST('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/test/', {
          params: { path: { ...path, notification } },
          body: { to, channel: slug, context, ...(user && { user }) },
        }),
      ),
    quiet: true,
  });
  return (
    <Modal opened onClose={close} title="Send a test">
      <form
        onSubmit={event => {
          event.preventDefault();
          send.mutate(undefined);
        }}
      >
        <Stack gap="sm">
          {dirty && (
            <Alert color="yellow" variant="light" p="xs">
              <Text size="sm" c="var(--mantine-color-text)">
                What you changed is not saved yet: the test sends what was saved last.
              </Text>
            </Alert>
          )}
          <Select
            label="Channel"
            data={channels.map(one => ({ value: one.slug, label: `${one.name} · ${one.type}` }))}
            value={slug}
            onChange={value => value && setSlug(value)}
            allowDeselect={false}
          />
          <TextInput
            label="To"
            description={channel && addressHints[channel.type]}
            value={to}
            onChange={event => setTyped(event.currentTarget.value)}
            data-autofocus
          />
          <Text size="xs" c="dimmed">
            One real message with the sample context, to nobody else. It is not part of the history.
          </Text>
          {send.error && (
            <Alert color="red" variant="light" p="xs" role="alert">
              <Text size="sm" c="var(--mantine-color-text)">
                {explain(send.error)}
              </Text>
            </Alert>
          )}
          {send.data && <Answer result={send.data} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Close
            </Button>
            <Button type="submit" loading={send.isPending} disabled={to.trim() === '' || !channel}>
              Send it
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function Answer({ result }: { result: TestResult }) {
  const { ok, provider, reason, detail, message_id, ms } = result;
  return (
    <Alert
      color={ok ? 'teal' : 'red'}
      variant="light"
      p="xs"
      role="status"
      title={ok ? 'The provider took it' : 'The provider refused it'}
    >
      <Text size="sm" c="var(--mantine-color-text)" style={{ overflowWrap: 'anywhere' }}>
        {[provider, milliseconds(ms), message_id].filter(Boolean).join(' · ')}
        {(reason || detail) && <br />}
        {[reason, detail].filter(Boolean).join(': ')}
      </Text>
    </Alert>
  );
}
