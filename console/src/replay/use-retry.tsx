/** Retries one delivery: shows the predicted outcome first and the actual one afterwards. */
import { useQueryClient } from '@tanstack/react-query';
import { api, take } from '../api.ts';
import { type Delivery, reasons } from '../api-types.ts';
import { showError, showSuccess, showWarning, useAction } from '../components/actions.tsx';
import { confirm } from '../components/confirm.tsx';
import { useOrg } from '../paths.ts';
import { type PathPrefix, refreshAll } from '../queries.ts';
import { texts } from '../texts/replay.ts';
import { Forecast, sendsNothing } from './forecast.tsx';

const pollIntervalMs = 500;
/** Most messages are sent by then; the page shows the rest. */
const maxPolls = 30;

export interface RetryTarget {
  occurrence: string;
  id: number;
  status: Delivery['status'];
}

export function useRetry() {
  const org = useOrg();
  const queries = useQueryClient();
  const refresh: PathPrefix[] = [
    '/api/o/{org}/occurrence/',
    '/api/o/{org}/failures/',
    '/api/o/{org}/stats/',
    '/api/o/{org}/activity/',
  ];
  const retry = useAction({
    run: ({ occurrence, id }: RetryTarget) =>
      take(
        api.POST('/api/o/{org}/occurrence/{identifier}/deliveries/{delivery}/retry/', {
          params: pathOf(org, occurrence, id),
        }),
      ),
    refresh,
    onDone: (_, { occurrence, id }) => {
      void pollDelivery(org, occurrence, id)
        .then(showOutcome)
        .catch(showError)
        .then(() => refreshAll(queries, refresh));
    },
  });
  const ask = useAction({
    run: (target: RetryTarget) =>
      take(
        api.GET('/api/o/{org}/occurrence/{identifier}/deliveries/{delivery}/retry/', {
          params: pathOf(org, target.occurrence, target.id),
        }),
      ),
    onDone: async (preview, target) => {
      const confirmed = await confirm({
        title: texts.retryQuestion,
        children: <Forecast preview={preview} mayDuplicate={target.status === 'unknown'} />,
        action: sendsNothing(preview) ? texts.retryAnyway : texts.retry,
      });
      if (confirmed) retry.mutate(target);
    },
  });
  return { ask: ask.mutate, isPending: ask.isPending || retry.isPending };
}

const pathOf = (org: string, identifier: string, delivery: number) => ({ path: { org, identifier, delivery } });

/** Polls until the delivery has an outcome or waits for something. */
async function pollDelivery(org: string, occurrence: string, id: number): Promise<Delivery> {
  for (let poll = 1; ; poll++) {
    const delivery = await take(
      api.GET('/api/o/{org}/occurrence/{identifier}/deliveries/{delivery}/', { params: pathOf(org, occurrence, id) }),
    );
    const isMoving = delivery.status === 'sending' || (delivery.status === 'pending' && !delivery.reason);
    if (!isMoving || poll >= maxPolls) return delivery;
    await new Promise(resolve => setTimeout(resolve, pollIntervalMs));
  }
}

function showOutcome(delivery: Delivery): void {
  if (delivery.status === 'sent') showSuccess(texts.sentTo(delivery.user ?? delivery.address ?? texts.deletedUser));
  else showWarning(describe(delivery));
}

function describe({ status, reason, detail }: Delivery): string {
  const why = detail && status === 'failed' ? detail : ((reason && (reasons[reason] ?? reason)) ?? texts.noReason);
  switch (status) {
    case 'retrying':
      return reason === 'quiet_hours' ? texts.waiting(why) : texts.failedAndWaits;
    case 'failed':
    case 'unknown':
      return texts.failedAgain(why);
    case 'pending':
      return reason ? texts.waiting(why) : texts.stillSending;
    case 'sending':
      return texts.stillSending;
    default:
      return texts.notSent(why);
  }
}
