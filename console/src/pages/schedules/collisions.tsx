/** Users who are on call although they are away. */
import { Alert, Text } from '@mantine/core';
import type { Shift } from '../../api-types.ts';
import { clockAndDay } from '../../components/time.tsx';
import { texts } from '../../texts/absences.ts';
import { nameOf } from './people.ts';

export function Collisions({ shifts }: { shifts: readonly Pick<Shift, 'users' | 'absences'>[] }) {
  const names = new Map(shifts.flatMap(({ users }) => users.map(user => [user.username, nameOf(user)])));
  const lines = shifts
    .flatMap(({ absences }) => absences)
    .map(({ username, from, until, reason }) => {
      const times = [clockAndDay(String(from)), clockAndDay(String(until))] as const;
      const collision = texts.collision(names.get(username) ?? username, ...times);
      return reason ? texts.because(collision, reason) : collision;
    });
  if (lines.length === 0) return null;
  return (
    <Alert color="yellow" mt="sm" title={texts.collisions}>
      {[...new Set(lines)].map(line => (
        <Text key={line} size="sm" style={{ overflowWrap: 'anywhere' }}>
          {line}
        </Text>
      ))}
    </Alert>
  );
}
