/** State and recent health of a channel. */
import { Group, Text } from '@mantine/core';
import type { ChannelDetails } from '../../api-types.ts';
import { Mark } from '../../components/mark.tsx';
import { texts } from '../../texts/channels.ts';
import { channelMarks } from './channel-marks.ts';

export function ChannelState({ channel }: { channel: Parameters<typeof channelMarks>[0] }) {
  return (
    <Group gap={6}>
      {channelMarks(channel).map(({ name, color, meaning }) => (
        <Mark key={name} color={color} meaning={meaning}>
          {name}
        </Mark>
      ))}
    </Group>
  );
}

/** Delivery counts of the last day. */
export function ChannelHealth({ health }: { health: ChannelDetails['health'] }) {
  const { sent, failed, unknown } = health;
  if (sent + failed + unknown === 0) {
    return (
      <Text component="span" inherit c="dimmed">
        {texts.nothingSent}
      </Text>
    );
  }
  const parts = [
    { count: sent, word: 'sent', color: undefined },
    { count: failed, word: 'failed', color: 'var(--mantine-color-error)' },
    { count: unknown, word: 'unknown', color: 'light-dark(#9a4a00, #ffb066)' },
  ].filter(({ count, word }) => count > 0 || word === 'sent');
  return (
    <Group gap={8} wrap="wrap" className="numbers" component="span">
      {parts.map(({ count, word, color }) => (
        <Text key={word} component="span" inherit c={color}>
          {count.toLocaleString('en')} {word}
        </Text>
      ))}
    </Group>
  );
}
