/** Recipient of a delivery: the user, and the address if it differs. */
import { Text } from '@mantine/core';
import { texts } from '../texts/common.ts';
import { Breakable } from './breakable.tsx';

export function Recipient({ user, address }: { user: string | null; address: string | null }) {
  return (
    <>
      <Text component="span" display="block" size="sm" fw={500}>
        <Breakable text={user ?? texts.deletedUser} />
      </Text>
      {address && address !== user && (
        <Text component="span" display="block" size="xs" c="dimmed">
          <Breakable text={address} />
        </Text>
      )}
    </>
  );
}
