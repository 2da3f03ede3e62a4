/** Lists deliveries across occurrences and their attempts, and retries single ones. */
import { AppError } from '../../core/errors.ts';
import * as history from '../../db/history/delivery-history.ts';
import { listDeliveries } from '../../db/history/delivery-list.ts';
import type { Deps } from '../deps.ts';
import { listMessageUpdates } from './message-updates.ts';
import { retryDelivery } from './occurrences.ts';

export type { PageBefore, PastDelivery } from '../../db/history/delivery-history.ts';
export type { DeliveryView } from '../../db/history/delivery-list.ts';

export async function retry(deps: Deps, organizationId: number, identifier: string, id: number) {
  await retryDelivery(deps, organizationId, identifier, id);
  return getDelivery(deps, organizationId, identifier, id);
}

export async function getDelivery(deps: Deps, organizationId: number, identifier: string, id: number) {
  const [delivery] = await listDeliveries(deps.db, organizationId, identifier, {}, { after: id - 1, limit: 1 });
  if (delivery?.id !== id) throw new AppError('delivery.not_found', 'the delivery has been deleted');
  return delivery;
}

export async function listUpdates(deps: Deps, organizationId: number, identifier: string, id: number) {
  const delivery = await getDelivery(deps, organizationId, identifier, id);
  return (await listMessageUpdates(deps, organizationId, identifier, [delivery]))(delivery);
}

export async function listAttempts({ db }: Deps, organizationId: number, identifier: string, id: number) {
  const attempts = await history.findAttempts(db, organizationId, identifier, id);
  if (!attempts) throw new AppError('delivery.not_found', 'the delivery has been deleted');
  return attempts;
}
