/** What happened when, as far as it has happened. */
import { Text, Timeline } from '@mantine/core';
import type { Occurrence } from '../../api-types.ts';
import { milliseconds, TimeAgo } from '../../components/time.tsx';

const order = ['accepted', 'expanding', 'sending', 'completed'];

export function Course({ occurrence }: { occurrence: Occurrence }) {
  const { status, created_at, completed_at, options } = occurrence;
  const reached = order.indexOf(status);
  const due = typeof options.send_at === 'string' ? options.send_at : undefined;
  const took = completed_at ? Date.parse(completed_at) - Date.parse(created_at) : undefined;
  const steps = [
    { title: 'Accepted', body: <TimeAgo at={created_at} /> },
    ...(due ? [{ title: 'Due', body: <TimeAgo at={due} /> }] : []),
    { title: 'Recipients worked out', body: reached === 1 ? 'Under way' : null },
    { title: 'Messages sent', body: reached === 2 ? 'Under way' : null },
    {
      title: 'Completed',
      body: completed_at && (
        <>
          <TimeAgo at={completed_at} /> · took {milliseconds(took)}
        </>
      ),
    },
  ];
  const active = reached === 3 ? steps.length - 1 : steps.length - 4 + reached;
  return (
    <Timeline active={active} bulletSize={12} lineWidth={2}>
      {steps.map(({ title, body }) => (
        <Timeline.Item
          key={title}
          title={
            <Text component="span" size="sm" fw={500}>
              {title}
            </Text>
          }
        >
          {body && (
            <Text component="div" size="xs" c="dimmed">
              {body}
            </Text>
          )}
        </Timeline.Item>
      ))}
    </Timeline>
  );
}
