/** Deliveries across all occurrences, and bulk actions on them. */

import type { RefinedState } from '../../core/history/states.ts';
import type { DeliveryStatus } from '../../core/history/statuses.ts';
import { listActivity as list } from '../../db/history/activity.ts';
import type { PageBefore } from '../../db/history/delivery-history.ts';
import {
  cancelDeliveries,
  type DeliveryKey,
  findFailedDeliveriesByKey,
  replayDeliveries,
} from '../../db/history/replays.ts';
import type { Deps } from '../deps.ts';
import { record } from '../operations/audit.ts';
import { countEnded } from './occurrences.ts';
import { previewDeliveries, type ReplayPreview } from './replays.ts';
import { findUserByNameOrAddress } from './why.ts';

/** Deliveries per bulk action: more than one page of the console. */
export const maxPerBulkAction = 500;

interface ActivityQuery {
  /** Username, or any address. */
  user?: string;
  status?: DeliveryStatus;
  state?: RefinedState;
  /** Slug; matches the channels of all projects that have it. */
  channel?: string;
  type?: string;
  since?: Date;
  until?: Date;
  /** Only these deliveries. */
  keys?: DeliveryKey[];
}

export async function listActivity(deps: Deps, organizationId: number, query: ActivityQuery, page: PageBefore) {
  const { user, channel, type, ...rest } = query;
  const none = { rows: [], next: undefined };
  const found = user === undefined ? undefined : await findUserByNameOrAddress(deps, organizationId, user);
  if (user !== undefined && !found) return none;
  const channelIds =
    channel === undefined && type === undefined
      ? undefined
      : (await deps.plans.listChannels(organizationId))
          .filter(one => (channel === undefined || one.slug === channel) && (type === undefined || one.type === type))
          .map(one => one.id);
  if (channelIds?.length === 0) return none;
  return list(deps.db, organizationId, { ...rest, userId: found?.user_id, channelIds }, page);
}

export async function previewRetries(deps: Deps, organizationId: number, keys: DeliveryKey[]): Promise<ReplayPreview> {
  const failed = await findFailedDeliveriesByKey(deps.db, organizationId, keys);
  const preview = await previewDeliveries(deps, organizationId, failed);
  return { ...preview, deliveries: failed.length, expands: false };
}

/** Retries failed and unknown deliveries; the others are left unchanged. */
export async function retryDeliveries(deps: Deps, organizationId: number, keys: DeliveryKey[]): Promise<number> {
  const retried = await replayDeliveries(deps.pool, organizationId, keys);
  await recordChange(deps, organizationId, 'retry', keys, { retried });
  return retried;
}

/** Cancels waiting deliveries; those that have ended or are in flight are left unchanged. */
export async function stopDeliveries(deps: Deps, organizationId: number, keys: DeliveryKey[]): Promise<number> {
  const { stopped, ended } = await cancelDeliveries(deps.pool, organizationId, keys);
  countEnded(deps, ended);
  await recordChange(deps, organizationId, 'cancel', keys, { cancelled: stopped });
  return stopped;
}

/** Records the change after it is committed, because a worker may see its effect immediately. */
async function recordChange(
  deps: Deps,
  organizationId: number,
  action: 'retry' | 'cancel',
  keys: DeliveryKey[],
  result: Record<string, number>,
): Promise<void> {
  const deliveries = keys.map(({ occurrence, id }) => `${occurrence}/${id}`);
  const path = deliveries.length === 1 ? deliveries[0]! : '';
  await record(deps, deps.db, organizationId, { action, noun: 'delivery', path, after: { ...result, deliveries } });
}
