/** Warns about variables that were missing in recently sent messages. */
import { Alert, Text } from '@mantine/core';
import type { Notification } from '../api-types.ts';
import { fill } from '../components/fill.tsx';
import { TimeAgo } from '../components/time.tsx';
import { texts } from '../texts/designer.ts';

export function MissingVariables({ missing }: { missing: Notification['missing_variables'] }) {
  if (missing.length === 0) return null;
  return (
    <Alert color="yellow" variant="light" p="xs" title={texts.missingVariables}>
      {missing.map(({ name, count: messages, last_at }) => (
        <Text key={name} size="sm" c="var(--mantine-color-text)">
          {fill(texts.missingVariable(messages), {
            name: <span className="mono">{name}</span>,
            time: <TimeAgo at={last_at} />,
          })}
        </Text>
      ))}
    </Alert>
  );
}
