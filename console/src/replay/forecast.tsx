/** What sending again would do, in the service's own words. */
import { List, Stack, Text } from '@mantine/core';
import type { ReplayPreview } from '../api-types.ts';
import { count } from '../components/counts.tsx';
import { texts } from '../texts/replay.ts';

export function Forecast({ preview, mayDouble }: { preview: ReplayPreview; mayDouble: boolean }) {
  const { deliveries, checked, send, reasons, expands } = preview;
  return (
    <Stack gap="xs">
      <List size="sm" spacing={4} aria-label={texts.whatWillHappen}>
        {send > 0 && <List.Item fw={500}>{texts.willBeSent(count(send))}</List.Item>}
        {reasons.map(({ prospect, reason, explanation, count: n }) => (
          <List.Item key={reason}>
            {prospect === 'wait' ? texts.willWait(count(n), explanation) : texts.willNotBeSent(count(n), explanation)}
          </List.Item>
        ))}
        {expands && <List.Item>{texts.recipientsAreLookedUpAgain}</List.Item>}
      </List>
      {isInVain(preview) && <Text size="sm">{texts.nothingWouldBeSent}</Text>}
      {checked < deliveries && (
        <Text size="xs" c="dimmed">
          {texts.ofTheFirst(count(checked), count(deliveries))}
        </Text>
      )}
      {mayDouble && send > 0 && (
        <Text size="xs" c="dimmed">
          {texts.mayArriveTwice}
        </Text>
      )}
    </Stack>
  );
}

/** Whether none of them would ever be sent. */
export function isInVain({ send, wait, skip, expands }: ReplayPreview): boolean {
  return send + wait === 0 && skip > 0 && !expands;
}
