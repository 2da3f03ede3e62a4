/** Shows or replaces the address by which the calendars of other programs subscribe to shifts. */
import { Group, Stack, Text } from '@mantine/core';
import { IconCalendarShare } from '@tabler/icons-react';
import { texts as commonTexts } from '../texts/common.ts';
import { texts } from '../texts/schedules.ts';
import { GuardedButton, useAction } from './actions.tsx';
import { confirm } from './confirm.tsx';
import { CopyText } from './copy.tsx';

interface Props {
  read: () => Promise<{ url: string }>;
  rotate: () => Promise<{ url: string }>;
  /** Needed to replace the address. */
  permission: string;
}

export function Subscribe({ read, rotate, permission }: Props) {
  const show = useAction({ run: read });
  const replace = useAction({ run: rotate, done: commonTexts.addressReplaced });
  const url = (replace.data ?? show.data)?.url;
  const ask = async () => {
    const title = texts.replaceQuestion;
    if (await confirm({ title, children: texts.replaceHint, action: commonTexts.replaceAddress, danger: true }))
      replace.mutate(undefined);
  };
  if (url === undefined)
    return (
      <div>
        <GuardedButton
          permission="schedule:read"
          variant="default"
          size="compact-sm"
          leftSection={<IconCalendarShare size={14} stroke={1.6} />}
          loading={show.isPending}
          onClick={() => show.mutate(undefined)}
        >
          {texts.subscribe}
        </GuardedButton>
      </div>
    );
  return (
    <Stack gap={6}>
      <CopyText value={url} label={texts.copyAddress} />
      <Group gap="xs">
        <Text size="xs" c="dimmed">
          {texts.addressHint}
        </Text>
        <GuardedButton
          permission={permission}
          variant="default"
          size="compact-xs"
          c="var(--mantine-color-error)"
          loading={replace.isPending}
          onClick={() => void ask()}
        >
          {commonTexts.replaceAddress}
        </GuardedButton>
      </Group>
    </Stack>
  );
}
