/** Summary of a notification: recipients, channels and message. */
import { Badge, Box, Group, Text } from '@mantine/core';
import { IconArrowRight } from '@tabler/icons-react';
import { Link } from 'react-router';
import type { Notification } from '../api-types.ts';
import { fill } from '../components/fill.tsx';
import { toDraft } from '../designer/draft.ts';
import { explainSending } from '../designer/explain-sending.ts';
import { to } from '../paths.ts';
import { texts } from '../texts/events.ts';
import type { EventPath } from './sample.ts';

export function describeRecipients({ list, users, schedule, trigger }: Notification['recipients']): string {
  return [
    list !== undefined && texts.list(list),
    users !== undefined && texts.matchingUsers,
    schedule !== undefined && texts.onCall(schedule),
    trigger && texts.recipientsInTheTrigger,
  ]
    .filter(Boolean)
    .join(' + ');
}

export function NotificationCard({ path, notification }: { path: EventPath; notification: Notification }) {
  const { id, name, active, recipients, channels, filter, message } = notification;
  const summary = message.subject || message.body.split('\n')[0] || texts.noMessageYet;
  return (
    <Box
      component={Link}
      to={to.notification(path.org, path.prj, path.app, path.evt, id)}
      className="card linkcard"
      p="md"
    >
      <Group justify="space-between" gap="xs" mb={6}>
        <Text fw={600} size="sm">
          {name}
        </Text>
        {!active && (
          <Badge variant="default" tt="none">
            {texts.inactive}
          </Badge>
        )}
      </Group>
      <Group gap={6} mb={8} c="dimmed">
        <Text size="xs" c="var(--mantine-color-text)">
          {describeRecipients(recipients)}
        </Text>
        <IconArrowRight size={13} stroke={1.6} aria-label={texts.via} />
        {channels.map(channel => (
          <Badge key={channel} variant="default" tt="none" fw={400}>
            {channel}
          </Badge>
        ))}
      </Group>
      <Text size="sm" className="mono" lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
        {summary}
      </Text>
      {explainSending(toDraft(notification)).map(sentence => (
        <Text key={sentence} size="xs" c="dimmed" mt={6}>
          {sentence}
        </Text>
      ))}
      {filter && (
        <Text size="xs" c="dimmed" mt={6} truncate>
          {fill(texts.onlyIf, { condition: <span className="mono">{filter}</span> })}
        </Text>
      )}
    </Box>
  );
}
