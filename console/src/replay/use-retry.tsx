/** Sends one delivery again: says before what will happen, and afterwards what did. */
import { useQueryClient } from '@tanstack/react-query';
import { api, take } from '../api.ts';
import { type Delivery, reasons } from '../api-types.ts';
import { tellFailure, tellSuccess, tellWarning, useAction } from '../components/actions.tsx';
import { confirm } from '../components/confirm.tsx';
import { useOrg } from '../places.ts';
import { texts } from '../texts/replay.ts';
import { Forecast, isInVain } from './forecast.tsx';

const lookEveryMs = 500;
/** Most messages are gone by then; the page itself shows the others. */
const looks = 30;

export interface Retried {
  occurrence: string;
  id: number;
  status: Delivery['status'];
}

export function useRetry() {
  const org = useOrg();
  const queries = useQueryClient();
  const refresh = [
    [org, 'failures'],
    [org, 'stats'],
    [org, 'deliveries'],
    [org, 'occurrence'],
    [org, 'activity'],
  ];
  const retry = useAction({
    run: ({ occurrence, id }: Retried) =>
      take(
        api.POST('/api/o/{org}/occurrence/{identifier}/deliveries/{delivery}/retry/', {
          params: pathOf(org, occurrence, id),
        }),
      ),
    refresh,
    onDone: (_, { occurrence, id }) => {
      void watch(org, occurrence, id)
        .then(tellOutcome)
        .catch(tellFailure)
        .then(() => Promise.all(refresh.map(queryKey => queries.invalidateQueries({ queryKey }))));
    },
  });
  const ask = useAction({
    run: (wanted: Retried) =>
      take(
        api.GET('/api/o/{org}/occurrence/{identifier}/deliveries/{delivery}/retry/', {
          params: pathOf(org, wanted.occurrence, wanted.id),
        }),
      ),
    onDone: async (preview, wanted) => {
      const isSure = await confirm({
        title: texts.retryThisDelivery,
        children: <Forecast preview={preview} mayDouble={wanted.status === 'unknown'} />,
        action: isInVain(preview) ? texts.retryAnyway : texts.retry,
      });
      if (isSure) retry.mutate(wanted);
    },
  });
  return { ask: ask.mutate, isPending: ask.isPending || retry.isPending };
}

const pathOf = (org: string, identifier: string, delivery: number) => ({ path: { org, identifier, delivery } });

/** Until it has an outcome, or waits for something. */
async function watch(org: string, occurrence: string, id: number): Promise<Delivery> {
  for (let look = 1; ; look++) {
    const delivery = await take(
      api.GET('/api/o/{org}/occurrence/{identifier}/deliveries/{delivery}/', { params: pathOf(org, occurrence, id) }),
    );
    const isMoving = delivery.status === 'sending' || (delivery.status === 'pending' && !delivery.reason);
    if (!isMoving || look >= looks) return delivery;
    await new Promise(resolve => setTimeout(resolve, lookEveryMs));
  }
}

function tellOutcome(delivery: Delivery): void {
  if (delivery.status === 'sent') tellSuccess(texts.sentTo(delivery.user ?? delivery.address ?? texts.deletedUser));
  else tellWarning(describe(delivery));
}

function describe({ status, reason, detail }: Delivery): string {
  const why = detail && status === 'failed' ? detail : ((reason && (reasons[reason] ?? reason)) ?? texts.noReason);
  switch (status) {
    case 'retrying':
      return reason === 'quiet_hours' ? texts.waits(why) : texts.willBeTriedAgain;
    case 'failed':
    case 'unknown':
      return texts.failedAgain(why);
    case 'pending':
      return reason ? texts.waits(why) : texts.stillOnItsWay;
    case 'sending':
      return texts.stillOnItsWay;
    default:
      return texts.notSent(why);
  }
}
