/** A name with an address or path below it. */
import { Text } from '@mantine/core';
import { Breakable } from './breakable.tsx';

export function NameWithAddress({ name, address }: { name: string; address: string }) {
  return (
    <>
      <Text component="span" display="block" size="sm" fw={500}>
        {name}
      </Text>
      <Text component="span" display="block" size="xs" c="dimmed" className="mono">
        <Breakable text={address} />
      </Text>
    </>
  );
}
