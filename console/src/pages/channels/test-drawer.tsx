/** Sends one real message, and shows the provider's real answer. */
import { Alert, Box, Drawer, Select, Text, Textarea, TextInput } from '@mantine/core';
import { IconCheck, IconX } from '@tabler/icons-react';
import type { ChannelDetails, TestResult } from '../../api-types.ts';
import { ApiForm, useApiForm } from '../../components/api-form.tsx';
import { CopyText } from '../../components/copy.tsx';
import { Facts } from '../../components/facts.tsx';
import { milliseconds } from '../../components/time.tsx';
import { lookOfMedium } from '../../media.ts';
import { useSession } from '../../session.tsx';
import { type ChannelPlace, channelKey, testChannel } from './channel-api.ts';

interface TestDrawerProps {
  place: ChannelPlace;
  channel: ChannelDetails;
  opened: boolean;
  onClose: () => void;
}

export function TestDrawer(props: TestDrawerProps) {
  return (
    <Drawer
      opened={props.opened}
      onClose={props.onClose}
      size="md"
      title={`Send test message through ${props.channel.name}`}
    >
      <Form {...props} />
    </Drawer>
  );
}

function Form({ place, channel }: TestDrawerProps) {
  const { account } = useSession();
  const look = lookOfMedium(channel.type);
  const testing = useApiForm({
    initialValues: {
      to: channel.type === 'email' ? account.email : '',
      subject: 'Test from Belfry',
      body: 'If you can read this, the channel works.',
      provider: '0',
    },
    run: ({ to, subject, body, provider }) =>
      testChannel(place, channel.slug, {
        ...(to && { to }),
        ...(subject && { subject }),
        ...(body && { body }),
        ...(channel.providers.length > 1 && { provider: Number(provider) }),
      }),
    refresh: [channelKey(place)],
  });
  const { form, action } = testing;
  return (
    <>
      <ApiForm of={testing} submit="Send">
        <Text size="sm" c="dimmed">
          Sends one real message, even if the channel is paused or at its limit.
        </Text>
        <TextInput
          label="To"
          description={look.example ? undefined : 'Leave empty if the provider has a fixed destination.'}
          placeholder={look.example}
          data-autofocus
          {...form.getInputProps('to')}
        />
        <TextInput label="Subject" {...form.getInputProps('subject')} />
        <Textarea label="Body" autosize minRows={2} maxRows={8} {...form.getInputProps('body')} />
        {channel.providers.length > 1 && (
          <Select
            label="Provider"
            data={channel.providers.map(({ use }, i) => ({ value: String(i), label: `${i + 1}. ${use}` }))}
            allowDeselect={false}
            {...form.getInputProps('provider')}
          />
        )}
      </ApiForm>
      <Box mt="sm" aria-live="polite">
        {action.data && !action.isPending && <Answer result={action.data} />}
      </Box>
    </>
  );
}

function Answer({ result }: { result: TestResult }) {
  const facts: [string, React.ReactNode][] = [
    ['Provider', result.provider ?? '–'],
    ...(result.reason ? [['Reason', result.reason] as [string, string]] : []),
    ...(result.detail ? [['Provider response', result.detail] as [string, string]] : []),
    ...(result.message_id
      ? [['Message ID', <CopyText key="id" value={result.message_id} />] as [string, React.ReactNode]]
      : []),
    ['Duration', milliseconds(result.ms)],
  ];
  return (
    <Alert
      color={result.ok ? 'teal' : 'red'}
      icon={result.ok ? <IconCheck size={18} /> : <IconX size={18} />}
      title={result.ok ? 'Accepted by the provider' : 'Not sent'}
    >
      <Facts facts={facts} />
    </Alert>
  );
}
