/** Predicted outcome of a replay or retry. */
import { List, Stack, Text } from '@mantine/core';
import type { ReplayPreview } from '../api-types.ts';
import { count } from '../components/counts.tsx';
import { texts } from '../texts/replay.ts';

export function Forecast({ preview, mayDuplicate }: { preview: ReplayPreview; mayDuplicate: boolean }) {
  const { deliveries, checked, send, reasons, expands } = preview;
  return (
    <Stack gap="xs">
      <List size="sm" spacing={4} aria-label={texts.whatWillHappen}>
        {send > 0 && <List.Item fw={500}>{texts.willBeRetried(count(send))}</List.Item>}
        {reasons.map(({ effect, reason, explanation, count: n }) => (
          <List.Item key={reason}>
            {effect === 'wait' ? texts.willWait(count(n), explanation) : texts.willNotBeSent(count(n), explanation)}
          </List.Item>
        ))}
        {expands && <List.Item>{texts.recipientsResolvedAgain}</List.Item>}
      </List>
      {sendsNothing(preview) && <Text size="sm">{texts.nothingWouldBeSent}</Text>}
      {checked < deliveries && (
        <Text size="xs" c="dimmed">
          {texts.checkedFirst(count(checked), count(deliveries))}
        </Text>
      )}
      {mayDuplicate && send > 0 && (
        <Text size="xs" c="dimmed">
          {texts.mayArriveTwice}
        </Text>
      )}
    </Stack>
  );
}

/** Whether nothing would ever be sent. */
export function sendsNothing({ send, wait, skip, expands }: ReplayPreview): boolean {
  return send + wait === 0 && skip > 0 && !expands;
}
