/** Sends one real test message and shows the provider's response. */
import { Alert, Box, Drawer, Select, Text, Textarea, TextInput } from '@mantine/core';
import { IconCheck, IconX } from '@tabler/icons-react';
import type { ChannelDetails, TestResult } from '../../api-types.ts';
import { getChannelType } from '../../channel-types.ts';
import { ApiForm, useApiForm } from '../../components/api-form.tsx';
import { CopyText } from '../../components/copy.tsx';
import { Facts } from '../../components/facts.tsx';
import { milliseconds } from '../../components/time.tsx';
import { useSession } from '../../session.tsx';
import { isProviderAnswer } from '../../test-result.ts';
import { texts } from '../../texts/channels.ts';
import { type ChannelScope, channelPaths, testChannel } from './channel-api.ts';

interface TestDrawerProps {
  scope: ChannelScope;
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
      title={texts.sendTestMessageThrough(props.channel.name)}
    >
      <Form {...props} />
    </Drawer>
  );
}

function Form({ scope, channel }: TestDrawerProps) {
  const { account } = useSession();
  const look = getChannelType(channel.type);
  const testing = useApiForm({
    initialValues: {
      to: channel.type === 'email' ? account.email : '',
      subject: texts.testSubject,
      body: texts.testBody,
      provider: '0',
    },
    run: ({ to, subject, body, provider }) =>
      testChannel(scope, channel.slug, {
        ...(to && { to }),
        ...(subject && { subject }),
        ...(body && { body }),
        ...(channel.providers.length > 1 && { provider: Number(provider) }),
      }),
    refresh: channelPaths,
  });
  const { form, action } = testing;
  return (
    <>
      <ApiForm of={testing} submit={texts.send}>
        <Text size="sm" c="dimmed">
          {texts.testHint}
        </Text>
        <TextInput
          label={texts.to}
          description={look.example ? undefined : texts.fixedDestinationHint}
          placeholder={look.example}
          data-autofocus
          {...form.getInputProps('to')}
        />
        <TextInput label={texts.subject} {...form.getInputProps('subject')} />
        <Textarea label={texts.body} autosize minRows={2} maxRows={8} {...form.getInputProps('body')} />
        {channel.providers.length > 1 && (
          <Select
            label={texts.provider}
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
    [texts.provider, result.provider ?? '–'],
    ...(result.reason ? [[texts.reason, result.reason] as [string, string]] : []),
    ...(result.detail
      ? [[isProviderAnswer(result) ? texts.providerResponse : texts.details, result.detail] as [string, string]]
      : []),
    ...(result.message_id
      ? [[texts.messageId, <CopyText key="id" value={result.message_id} />] as [string, React.ReactNode]]
      : []),
    [texts.duration, milliseconds(result.ms)],
  ];
  return (
    <Alert
      color={result.ok ? 'teal' : 'red'}
      icon={result.ok ? <IconCheck size={18} /> : <IconX size={18} />}
      title={result.ok ? texts.acceptedByTheProvider : texts.notSent}
    >
      <Facts facts={facts} />
    </Alert>
  );
}
