/** A name, and below it the address that it is known by. */
import { Text } from '@mantine/core';

export function Named({ name, address }: { name: string; address: string }) {
  return (
    <>
      <Text component="span" display="block" size="sm" fw={500}>
        {name}
      </Text>
      <Text component="span" display="block" size="xs" c="dimmed" className="mono" style={{ overflowWrap: 'anywhere' }}>
        {address}
      </Text>
    </>
  );
}
