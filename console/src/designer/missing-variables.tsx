/** Warns about variables that were missing in recently sent messages. */
import { Alert, Text } from '@mantine/core';
import type { Notification } from '../api-types.ts';
import { TimeAgo } from '../components/time.tsx';
import { countOf } from '../texts/count-of.ts';
import { texts } from '../texts/designer.ts';

export function MissingVariables({ missing }: { missing: Notification['missing_variables'] }) {
  if (missing.length === 0) return null;
  return (
    <Alert color="yellow" variant="light" p="xs" title={texts.missingVariables}>
      {missing.map(({ name, count: messages, last_at }) => (
        <Text key={name} size="sm" c="var(--mantine-color-text)">
          <span className="mono">{name}</span>: {countOf(messages, 'message')}
          {texts.last} <TimeAgo at={last_at} />
        </Text>
      ))}
    </Alert>
  );
}
