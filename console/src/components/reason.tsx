/** A reason's code in words; the code stays at hand, for programs and for searching. */
import { Code, Text, Tooltip } from '@mantine/core';
import { reasons } from '../api-types.ts';
import { texts } from '../texts/common.ts';
import { clockAndDay, exactTime } from './time.tsx';

export function reasonText(reason: string): string {
  const words = reasons[reason] ?? reason;
  return words.charAt(0).toUpperCase() + words.slice(1);
}

interface ReasonProps {
  reason: string | null;
  detail?: string | null;
  /** Until when it waits. */
  until?: string | null;
}

/** Until when a delivery waits that is decided already, such as for the end of quiet hours. */
export function waitsUntil(delivery: { status: string; reason: string | null; next_attempt_at: string | null }) {
  return delivery.status === 'pending' && delivery.reason ? delivery.next_attempt_at : null;
}

export function Reason({ reason, detail, until }: ReasonProps) {
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
      {until && (
        <Tooltip label={exactTime(until)}>
          <Text component="span" size="xs" c="dimmed" display="block">
            {texts.waitsUntil(clockAndDay(until))}
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
