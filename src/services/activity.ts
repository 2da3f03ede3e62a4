/** Deliveries of all occurrences, and what is done with many of them at once. */

import type { DeliveryStatus } from '../core/statuses.ts';
import { listActivity as list } from '../db/activity.ts';
import type { PageBefore } from '../db/delivery-history.ts';
import { cancelDeliveries, type DeliveryKey, findFailedAmong, replayDeliveries } from '../db/replays.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';
import { countEnded } from './occurrences.ts';
import { previewDeliveries, type ReplayPreview } from './replays.ts';
import { findPerson } from './why.ts';

/** At once: a page that somebody has selected, and then some. */
export const mostAtOnce = 500;

export interface ActivityQuery {
  /** Username, or any address. */
  user?: string;
  status?: DeliveryStatus;
  /** Slug; of several projects, all that have it. */
  channel?: string;
  type?: string;
  since?: Date;
  until?: Date;
}

export async function listActivity(deps: Deps, organizationId: number, query: ActivityQuery, page: PageBefore) {
  const { user, channel, type, ...rest } = query;
  const nobody = { rows: [], next: undefined };
  const person = user === undefined ? undefined : await findPerson(deps, organizationId, user);
  if (user !== undefined && !person) return nobody;
  const channelIds =
    channel === undefined && type === undefined
      ? undefined
      : (await deps.plans.listChannels(organizationId))
          .filter(one => (channel === undefined || one.slug === channel) && (type === undefined || one.type === type))
          .map(one => one.id);
  if (channelIds?.length === 0) return nobody;
  return list(deps.db, organizationId, { ...rest, userId: person?.user_id, channelIds }, page);
}

export async function previewRetries(
  deps: Deps,
  organizationId: number,
  wanted: DeliveryKey[],
): Promise<ReplayPreview> {
  const failed = await findFailedAmong(deps.db, organizationId, wanted);
  const preview = await previewDeliveries(deps, organizationId, failed);
  return { ...preview, deliveries: failed.length, expands: false };
}

/** What did not fail stays as it is. */
export async function retryDeliveries(deps: Deps, organizationId: number, wanted: DeliveryKey[]): Promise<number> {
  const retried = await replayDeliveries(deps.pool, organizationId, wanted);
  await note(deps, organizationId, 'retry', wanted, { retried });
  return retried;
}

/** What has ended, or is being sent in this moment, stays as it is. */
export async function stopDeliveries(deps: Deps, organizationId: number, wanted: DeliveryKey[]): Promise<number> {
  const { stopped, ended } = await cancelDeliveries(deps.pool, organizationId, wanted);
  countEnded(deps, ended);
  await note(deps, organizationId, 'cancel', wanted, { cancelled: stopped });
  return stopped;
}

/** After the fact: the statements commit by themselves, and a worker may see their effect at once. */
async function note(
  deps: Deps,
  organizationId: number,
  action: 'retry' | 'cancel',
  wanted: DeliveryKey[],
  result: Record<string, number>,
): Promise<void> {
  const deliveries = wanted.map(({ occurrence, id }) => `${occurrence}/${id}`);
  const path = deliveries.length === 1 ? deliveries[0]! : '';
  await record(deps, deps.db, organizationId, { action, noun: 'delivery', path, after: { ...result, deliveries } });
}
