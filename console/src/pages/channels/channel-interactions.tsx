/** Where services post pressed buttons and replies. */
import { Alert, Stack, Text } from '@mantine/core';
import type { ChannelDetails } from '../../api-types.ts';
import { CopyText } from '../../components/copy.tsx';
import { Section } from '../../components/page.tsx';
import { texts } from '../../texts/channels.ts';

export function ChannelInteractions({ interactions }: Pick<ChannelDetails, 'interactions'>) {
  if (interactions.length === 0) return null;
  return (
    <Section title={texts.buttonsAndReplies}>
      <Stack gap="md">
        {interactions.map(({ provider, url, setup, ready }) => (
          <Stack key={provider} gap={4}>
            <Text size="sm" fw={500}>
              {provider}
            </Text>
            {url ? <CopyText value={url} label={texts.copyTheAddress} /> : <Text size="sm">{texts.addressHidden}</Text>}
            <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
              {setup}
            </Text>
            {!ready && (
              <Alert color="yellow" p="xs">
                {texts.interactionSecretMissing}
              </Alert>
            )}
          </Stack>
        ))}
      </Stack>
    </Section>
  );
}
