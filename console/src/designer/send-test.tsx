/** Sends the saved message to one address and shows the provider's response. */

import { Alert, Select, Text, TextInput } from '@mantine/core';
import { api, take } from '../api.ts';
import type { TestResult } from '../api-types.ts';
import { getChannelType } from '../channel-types.ts';
import { FormModal, useApiForm } from '../components/api-form.tsx';
import { milliseconds } from '../components/time.tsx';
import type { EventPath } from '../events/sample.ts';
import { useCan, useSession } from '../session.tsx';
import { isProviderAnswer } from '../test-result.ts';
import { texts } from '../texts/designer.ts';
import { dotted } from '../texts/isolated.ts';
import type { UsableChannel } from './use-channels.ts';

interface SendTestProps {
  path: EventPath;
  notification: number;
  /** The notification's own channels come first. */
  channels: UsableChannel[];
  context: Record<string, unknown>;
  user: string | undefined;
  isDirty: boolean;
  close: () => void;
}

const addressHints: Record<string, string> = {
  email: texts.emailAddressHint,
  sms: texts.phoneNumberHint,
  whatsapp: texts.phoneNumberHint,
  voice: texts.phoneNumberHint,
  webhook: texts.urlHint,
};

export function SendTest({ path, notification, channels, context, user, isDirty, close }: SendTestProps) {
  const { account } = useSession();
  const can = useCan();
  const sending = useApiForm({
    initialValues: {
      channel: channels[0]?.slug ?? '',
      to: channels[0]?.type === 'email' ? account.email : '',
    },
    run: body =>
      take(
        api.POST('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/test/', {
          params: { path: { ...path, notification } },
          body: { ...body, context, ...(user && { user }) },
        }),
      ),
  });
  const { form, action } = sending;
  const typeOf = (slug: string) => channels.find(one => one.slug === slug)?.type ?? '';
  const type = typeOf(form.values.channel);
  const restriction = type === 'email' ? texts.ownOrTeamAddressHint : texts.addressNeedsPermission;
  const hint = [addressHints[type], !can('channel:write') && restriction].filter(Boolean).join(' ');
  return (
    <FormModal
      of={sending}
      title={texts.sendTest}
      submit={texts.sendTest}
      isDisabled={form.values.to.trim() === ''}
      close={close}
    >
      {isDirty && (
        <Alert color="yellow" variant="light" p="xs">
          <Text size="sm" c="var(--mantine-color-text)">
            {texts.testUnsavedHint}
          </Text>
        </Alert>
      )}
      <Select
        label={texts.channel}
        data={channels.map(one => ({ value: one.slug, label: `${one.name} · ${getChannelType(one.type).name}` }))}
        allowDeselect={false}
        {...form.getInputProps('channel')}
        onChange={value => {
          const channel = value ?? '';
          const address = typeOf(channel) === 'email' ? account.email : '';
          form.setValues({ channel, ...(typeOf(channel) !== type && { to: address }) });
        }}
      />
      <TextInput label={texts.to} description={hint} data-autofocus {...form.getInputProps('to')} />
      <Text size="xs" c="dimmed">
        {texts.testHint}
      </Text>
      {action.data && <Answer result={action.data} />}
    </FormModal>
  );
}

function titleOf(result: TestResult): string {
  if (result.ok) return texts.acceptedByTheProvider;
  return isProviderAnswer(result) ? texts.rejectedByTheProvider : texts.testNotSent;
}

function Answer({ result }: { result: TestResult }) {
  const { ok, provider, reason, detail, message_id, ms } = result;
  return (
    <Alert color={ok ? 'teal' : 'red'} variant="light" p="xs" role="status" title={titleOf(result)}>
      <Text size="sm" c="var(--mantine-color-text)" style={{ overflowWrap: 'anywhere' }}>
        {dotted(provider, milliseconds(ms), message_id)}
        {(reason || detail) && <br />}
        {[reason, detail].filter(Boolean).join(': ')}
      </Text>
    </Alert>
  );
}
