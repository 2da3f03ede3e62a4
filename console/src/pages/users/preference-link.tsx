/** Copies or revokes the link to a user's preference page. */
import { Anchor, Group, Stack, Text } from '@mantine/core';
import { IconLink, IconLinkOff } from '@tabler/icons-react';
import { api, take } from '../../api.ts';
import { GuardedButton, showSuccess, useAction } from '../../components/actions.tsx';
import { useConfirmedAction } from '../../components/confirm.tsx';
import { CopyIcon } from '../../components/copy.tsx';
import { Section } from '../../components/page.tsx';
import { useOrg } from '../../paths.ts';
import { texts } from '../../texts/preferences.ts';

const icon = { size: 15, stroke: 1.6 };

export function PreferenceLink({ username }: { username: string }) {
  const org = useOrg();
  const path = { org, username };
  const copy = useAction({
    run: () => take(api.POST('/api/o/{org}/u/{username}/preferences/link/', { params: { path } })),
    onDone: ({ url }) => {
      // If the browser blocks the clipboard, the link below has its own copy button.
      void navigator.clipboard?.writeText(url).then(
        () => showSuccess(texts.linkCopied),
        () => {},
      );
    },
  });
  const revoke = useConfirmedAction({
    question: {
      title: texts.revokeQuestion(username),
      children: texts.revokeHint,
      action: texts.revokeLinks,
      danger: true,
    },
    run: () => take(api.DELETE('/api/o/{org}/u/{username}/token/', { params: { path } })),
    done: texts.revoked,
    onDone: () => copy.reset(),
  });
  return (
    <Section title={texts.link}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {texts.linkHint}
        </Text>
        <Group gap="xs">
          <GuardedButton
            permission="token:write"
            variant="default"
            leftSection={<IconLink {...icon} />}
            loading={copy.isPending}
            onClick={() => copy.mutate(undefined)}
          >
            {texts.copyLink}
          </GuardedButton>
          <GuardedButton
            permission="token:write"
            variant="default"
            c="var(--mantine-color-error)"
            leftSection={<IconLinkOff {...icon} />}
            loading={revoke.isPending}
            onClick={() => revoke.ask(undefined)}
          >
            {texts.revokeLinks}
          </GuardedButton>
        </Group>
        {copy.data && (
          <Group gap={4} wrap="nowrap">
            <Anchor href={copy.data.url} target="_blank" rel="noreferrer" size="xs" className="mono" truncate>
              {copy.data.url}
            </Anchor>
            <CopyIcon value={copy.data.url} label={texts.copyLink} />
          </Group>
        )}
      </Stack>
    </Section>
  );
}
