/** Snoozes an occurrence: for a while, until a time of day in the time zone of this browser, or until a chosen time. */
import { Button, Group, Menu, Modal, Stack, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconAlarmSnooze } from '@tabler/icons-react';
import { useState } from 'react';
import { api, take } from '../api.ts';
import { useOrg } from '../paths.ts';
import { texts as common } from '../texts/common.ts';
import { texts } from '../texts/responses.ts';
import { GuardedButton, useAction } from './actions.tsx';
import { clockAndDay } from './time.tsx';

const morning = '08:00';
const maxDays = 7;

export type SnoozeRequest = { for: string } | { until: string; timezone?: string };

interface Props {
  identifier: string;
  name?: string;
  hotkey?: string;
  /** Snoozes it in another way than by a request that fails without a connection. The button is larger then. */
  choose?: (request: SnoozeRequest) => void;
}

export function SnoozeMenu({ identifier, name, hotkey, choose }: Props) {
  const org = useOrg();
  const [isAsking, asking] = useDisclosure();
  const snooze = useAction({
    run: (body: SnoozeRequest) =>
      take(api.POST('/api/o/{org}/occurrence/{identifier}/snooze/', { params: { path: { org, identifier } }, body })),
    done: ({ changed, acknowledged_until: until }) =>
      changed && until ? texts.snoozedToast(clockAndDay(until)) : texts.notSnoozedToast,
    refresh: ['/api/o/{org}/'],
  });
  const send = choose ?? snooze.mutate;
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return (
    <>
      <Menu position="bottom-end" shadow="md" keepMounted={false}>
        <Menu.Target>
          <GuardedButton
            permission="occurrence:write"
            variant="default"
            size={choose ? 'md' : undefined}
            data-key={hotkey}
            leftSection={<IconAlarmSnooze size={14} stroke={1.6} />}
            loading={snooze.isPending}
            {...(name !== undefined && { 'aria-label': texts.snoozeEvent(name) })}
          >
            {texts.snooze}
          </GuardedButton>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => send({ for: '1h' })}>{texts.forHours(1)}</Menu.Item>
          <Menu.Item onClick={() => send({ for: '4h' })}>{texts.forHours(4)}</Menu.Item>
          <Menu.Item onClick={() => send({ until: morning, timezone: timeZone })}>{texts.untilTime(morning)}</Menu.Item>
          <Menu.Item onClick={asking.open}>{texts.otherTime}</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Modal opened={isAsking} onClose={asking.close} title={texts.snoozeUntil}>
        <UntilForm
          close={asking.close}
          submit={until => {
            asking.close();
            send({ until });
          }}
        />
      </Modal>
    </>
  );
}

function UntilForm({ close, submit }: { close: () => void; submit: (until: string) => void }) {
  const [value, setValue] = useState('');
  const [error, setError] = useState<string>();
  const send = () => {
    const at = Date.parse(value);
    const ahead = at - Date.now();
    if (ahead > 0 && ahead <= maxDays * 86_400_000) submit(new Date(at).toISOString());
    else setError(texts.snoozeLimit(maxDays));
  };
  return (
    <form
      onSubmit={event => {
        event.preventDefault();
        send();
      }}
    >
      <Stack gap="md">
        <TextInput
          data-autofocus
          type="datetime-local"
          label={texts.until}
          description={texts.snoozeHint}
          value={value}
          error={error}
          onChange={event => setValue(event.currentTarget.value)}
        />
        <Group justify="end">
          <Button variant="default" onClick={close}>
            {common.cancel}
          </Button>
          <Button type="submit">{texts.snooze}</Button>
        </Group>
      </Stack>
    </form>
  );
}
