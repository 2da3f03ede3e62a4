/** State and recent health of a channel. */
import { Group, Text, Tooltip } from '@mantine/core';
import type { ChannelDetails } from '../../api-types.ts';
import { count } from '../../components/counts.tsx';
import { Mark } from '../../components/mark.tsx';
import { deliveryStates, dotColor, type State } from '../../components/statuses.ts';
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
  const parts = (['sent', 'failed', 'unknown'] as const).filter(status => status === 'sent' || health[status] > 0);
  return (
    <Group gap={8} wrap="wrap" className="numbers" component="span">
      {parts.map(status => (
        <Outcome key={status} state={deliveryStates[status]!} count={health[status]} />
      ))}
    </Group>
  );
}

function Outcome({ state, count: n }: { state: State; count: number }) {
  return (
    <Tooltip label={state.meaning}>
      <Group component="span" gap={6} wrap="nowrap" className="tip">
        <span className="dot" style={{ '--dot': dotColor(state) } as React.CSSProperties} />
        {count(n)} {state.name.toLowerCase()}
      </Group>
    </Tooltip>
  );
}
