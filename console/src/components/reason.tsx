/** Text of a reason code, with the code itself in a tooltip. */
import { Code, Text, Tooltip } from '@mantine/core';
import { texts } from '../texts/common.ts';
import { reasonText } from './statuses.ts';
import { clockAndDay, exactTime } from './time.tsx';

interface ReasonProps {
  reason: string | null;
  detail?: string | null;
  /** When the delivery is due. */
  until?: string | null;
}

/** Returns when a waiting delivery is due, such as at the end of quiet hours; null if it is not waiting. */
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
          <Text component="span" className="tip" size="sm" display="block">
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
