/** Retries all deliveries that failed for one cause: shows the predicted outcome first, and what was queued afterwards. */
import { Stack, Text } from '@mantine/core';
import { api, take } from '../api.ts';
import { showSuccess, showWarning, useAction } from '../components/actions.tsx';
import { confirm } from '../components/confirm.tsx';
import { count } from '../components/counts.tsx';
import { useOrg } from '../paths.ts';
import { texts } from '../texts/replay.ts';
import { Forecast, sendsNothing } from './forecast.tsx';

interface CauseTarget {
  cause: string;
  /** Whether the messages may have arrived. */
  isUnknown: boolean;
}

export function useRetryCause() {
  const org = useOrg();
  const params = { path: { org } };
  const retry = useAction({
    run: ({ cause }: CauseTarget) => take(api.POST('/api/o/{org}/failures/retry/', { params, body: { cause } })),
    refresh: ['/api/o/{org}/failures/', '/api/o/{org}/stats/', '/api/o/{org}/activity/'],
    onDone: ({ retried, unchanged, remaining }) => {
      const parts = [
        texts.queued(retried),
        ...(unchanged > 0 ? [texts.notQueued(count(unchanged))] : []),
        ...(remaining > 0 ? [texts.beyondLimit(count(remaining))] : []),
      ];
      (unchanged + remaining > 0 ? showWarning : showSuccess)(parts.join(' '));
    },
  });
  const ask = useAction({
    run: ({ cause }: CauseTarget) =>
      take(api.POST('/api/o/{org}/failures/retry/preview/', { params, body: { cause } })),
    onDone: async (preview, target) => {
      const { deliveries, remaining } = preview;
      if (deliveries === 0) {
        showWarning(texts.noneLeft);
        return;
      }
      const confirmed = await confirm({
        title: texts.retryDeliveries(deliveries),
        children: (
          <Stack gap="xs">
            <Forecast preview={preview} mayDuplicate={target.isUnknown} />
            <Text size="sm" c="dimmed">
              {preview.send > 0 && texts.areQueued}
              {remaining > 0 && ` ${texts.oldestOnly(count(deliveries), count(remaining))}`}
            </Text>
          </Stack>
        ),
        action: sendsNothing(preview) ? texts.retryAnyway : texts.retry,
      });
      if (confirmed) retry.mutate(target);
    },
  });
  return { ask: ask.mutate, isPending: ask.isPending || retry.isPending };
}
