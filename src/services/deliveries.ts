/** Deliveries across occurrences: what failed, what a user was sent, and trying one again. */
import { AppError } from '../core/errors.ts';
import { listDeliveries } from '../db/occurrences.ts';
import type { Deps } from './deps.ts';
import { retryDelivery } from './occurrences.ts';

export {
  listFailedDeliveries,
  listSandboxedDeliveries,
  listUserDeliveries,
  type PageBefore,
  type PastDelivery,
} from '../db/delivery-history.ts';
export type { DeliveryView } from '../db/occurrences.ts';

export async function retry(deps: Deps, organizationId: number, identifier: string, id: number) {
  await retryDelivery(deps, organizationId, identifier, id);
  const [delivery] = await listDeliveries(deps.db, organizationId, identifier, {}, { after: id - 1, limit: 1 });
  if (delivery?.id !== id) throw new AppError('delivery.not_found', 'the delivery has been deleted meanwhile');
  return delivery;
}
