/** Deliveries across occurrences: what failed, what a user was sent, and trying one again. */
import { AppError } from '../core/errors.ts';
import * as history from '../db/delivery-history.ts';
import { listDeliveries } from '../db/delivery-list.ts';
import type { Deps } from './deps.ts';
import { retryDelivery } from './occurrences.ts';

export type { PageBefore, PastDelivery } from '../db/delivery-history.ts';
export type { DeliveryView } from '../db/delivery-list.ts';

export async function retry(deps: Deps, organizationId: number, identifier: string, id: number) {
  await retryDelivery(deps, organizationId, identifier, id);
  return getDelivery(deps, organizationId, identifier, id);
}

export async function getDelivery(deps: Deps, organizationId: number, identifier: string, id: number) {
  const [delivery] = await listDeliveries(deps.db, organizationId, identifier, {}, { after: id - 1, limit: 1 });
  if (delivery?.id !== id) throw new AppError('delivery.not_found', 'the delivery has been deleted meanwhile');
  return delivery;
}

export async function listAttempts({ db }: Deps, organizationId: number, identifier: string, id: number) {
  const attempts = await history.findAttempts(db, organizationId, identifier, id);
  if (!attempts) throw new AppError('delivery.not_found', 'the delivery has been deleted meanwhile');
  return attempts;
}

/** What failed, or whose outcome is unknown. */
export async function listFailedDeliveries({ db }: Deps, organizationId: number, page: history.PageBefore) {
  return history.listFailedDeliveries(db, organizationId, page);
}

export async function listSandboxedDeliveries({ db }: Deps, organizationId: number, page: history.PageBefore) {
  return history.listSandboxedDeliveries(db, organizationId, page);
}

export async function listUserDeliveries(
  { db }: Deps,
  organizationId: number,
  userId: number,
  page: history.PageBefore,
) {
  return history.listUserDeliveries(db, organizationId, userId, page);
}
