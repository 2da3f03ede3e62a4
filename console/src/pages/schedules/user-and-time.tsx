/** Who takes or gives a shift and when, with its state. */
import { Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { clockAndDays } from '../../components/time.tsx';

interface UserAndTimeProps {
  of: { user: string; starts_at: unknown; ends_at: unknown };
  mark: ReactNode;
  details: (string | null)[];
}

export function UserAndTime({ of: { user, starts_at, ends_at }, mark, details }: UserAndTimeProps) {
  return (
    <>
      <Group gap="2px 8px">
        <Text component="span" size="sm" fw={500} style={{ overflowWrap: 'anywhere' }}>
          {user}
        </Text>
        {mark}
      </Group>
      <Text component="span" size="xs" c="dimmed" display="block" style={{ overflowWrap: 'anywhere' }}>
        {details.filter(Boolean).join(' · ')}
      </Text>
      <Text component="span" size="xs" c="dimmed" className="numbers">
        {clockAndDays(String(starts_at), String(ends_at))}
      </Text>
    </>
  );
}
