/** Sends one real message, and shows the provider's real answer. */
import { Alert, Button, Drawer, Select, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { IconCheck, IconX } from '@tabler/icons-react';
import { useState } from 'react';
import type { ChannelDetails, TestResult } from '../../api-types.ts';
import { useAction } from '../../components/actions.tsx';
import { CopyText } from '../../components/copy.tsx';
import { Facts } from '../../components/facts.tsx';
import { FormButtons, FormFailure, fieldErrors } from '../../components/form.tsx';
import { milliseconds } from '../../components/time.tsx';
import { useSession } from '../../session.tsx';
import { type ChannelPlace, channelKey, testChannel } from './channel-api.ts';
import { lookOfMedium } from './media.ts';

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
      title={
        <Text component="span" fw={600}>
          Send a test through {props.channel.name}
        </Text>
      }
    >
      <Form {...props} />
    </Drawer>
  );
}

function Form({ place, channel }: TestDrawerProps) {
  const { account } = useSession();
  const [to, setTo] = useState(channel.type === 'email' ? account.email : '');
  const [subject, setSubject] = useState('A test from Belfry');
  const [body, setBody] = useState('If you can read this, the channel works.');
  const [provider, setProvider] = useState('0');
  const look = lookOfMedium(channel.type);
  const test = useAction({
    run: () =>
      testChannel(place, channel.slug, {
        ...(to && { to }),
        ...(subject && { subject }),
        ...(body && { body }),
        ...(channel.providers.length > 1 && { provider: Number(provider) }),
      }),
    refresh: [channelKey(place)],
    quiet: true,
  });
  const errors = fieldErrors(test.error);
  return (
    <form
      noValidate
      onSubmit={event => {
        event.preventDefault();
        test.mutate(undefined);
      }}
    >
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          This really sends one message, past pauses and limits.
        </Text>
        <TextInput
          label="To"
          description={look.example ? undefined : 'Leave empty where the provider knows the place.'}
          placeholder={look.example}
          value={to}
          error={errors.to}
          onChange={event => setTo(event.currentTarget.value)}
          data-autofocus
        />
        <TextInput
          label="Subject"
          value={subject}
          error={errors.subject}
          onChange={event => setSubject(event.currentTarget.value)}
        />
        <Textarea
          label="Body"
          autosize
          minRows={2}
          maxRows={8}
          value={body}
          error={errors.body}
          onChange={event => setBody(event.currentTarget.value)}
        />
        {channel.providers.length > 1 && (
          <Select
            label="Provider"
            data={channel.providers.map(({ use }, i) => ({ value: String(i), label: `${i + 1}. ${use}` }))}
            value={provider}
            onChange={chosen => setProvider(chosen ?? '0')}
            allowDeselect={false}
          />
        )}
        <FormFailure error={test.error} shown={['to', 'subject', 'body']} />
        <FormButtons>
          <Button type="submit" loading={test.isPending}>
            Send
          </Button>
        </FormButtons>
        <div aria-live="polite">{test.data && !test.isPending && <Answer result={test.data} />}</div>
      </Stack>
    </form>
  );
}

function Answer({ result }: { result: TestResult }) {
  const facts: [string, React.ReactNode][] = [
    ['Provider', result.provider ?? '–'],
    ...(result.reason ? [['Reason', result.reason] as [string, string]] : []),
    ...(result.detail ? [['Its words', result.detail] as [string, string]] : []),
    ...(result.message_id
      ? [['Message id', <CopyText key="id" value={result.message_id} />] as [string, React.ReactNode]]
      : []),
    ['Took', milliseconds(result.ms)],
  ];
  return (
    <Alert
      color={result.ok ? 'teal' : 'red'}
      icon={result.ok ? <IconCheck size={18} /> : <IconX size={18} />}
      title={result.ok ? 'The provider took it' : 'It was not sent'}
    >
      <Facts facts={facts} />
    </Alert>
  );
}
