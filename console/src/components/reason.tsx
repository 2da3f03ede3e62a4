/** A reason's code in words; the code stays at hand, for programs and for searching. */
import { Code, Text, Tooltip } from '@mantine/core';
import { reasons } from '../api-types.ts';

export function reasonText(reason: string): string {
  const words = reasons[reason] ?? reason;
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function Reason({ reason, detail }: { reason: string | null; detail?: string | null }) {
  if (!reason && !detail)
    return (
      <Text size="sm" c="dimmed">
        –
      </Text>
    );
  return (
    <>
      {reason && (
        <Tooltip label={<Code>{reason}</Code>}>
          <Text component="span" size="sm" display="block">
            {reasonText(reason)}
          </Text>
        </Tooltip>
      )}
      {detail && (
        <Text component="span" size="xs" c="dimmed" display="block" lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
          {detail}
        </Text>
      )}
    </>
  );
}
