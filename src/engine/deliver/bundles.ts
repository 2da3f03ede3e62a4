/**
 * Which alerts join a bundle when they are due, and when a bundle is sent. In a storm, triggers are stored faster than their recipients are resolved; a bundle waits for
 * them, so that each recipient gets one message about the storm and not one for each part of it.
 */
import type pg from 'pg';
import { bundleLimits, isBundled } from '../../core/decision/bundle.ts';
import { recheck } from '../../core/decision/recheck.ts';
import { urgent } from '../../core/trigger.ts';
import { inLedgerTransaction } from '../../db/connection/transaction.ts';
import type { Delivery } from '../../db/ledger/deliver/deliveries.ts';
import {
  findBundleBacklog,
  joinBundlesAcrossTenants,
  leaveBundle,
  listBundleOrigins,
} from '../../db/ledger/digests/bundles.ts';
import { Batcher } from '../../lib/load/batcher.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { applyDigests, planAlerts } from '../../pipeline/digest.ts';
import type { PlannedChannel, Plans } from '../../pipeline/plans.ts';
import type { SendContext } from './message.ts';

/** Alerts that are put into bundles in one transaction. */
const maxPerBatch = 500;

/** An alert that has waited, and is due now. */
export interface LateAlert {
  delivery: Delivery;
  channel: PlannedChannel;
}

/**
 * Returns whether a delivery is an alert that has waited after it was decided: others may be due in the same seconds, which it joins.
 * What was attempted before is sent again alone.
 */
export function isLateAlert(
  { attempts, digest_id, has_waited }: Delivery,
  { occurrence, channel }: Pick<SendContext, 'occurrence' | 'channel'>,
): boolean {
  return has_waited && attempts === 1 && digest_id === null && isBundled(occurrence.is_keyed, channel);
}

class TakenOverError extends Error {}

/** Puts late alerts into bundles, many at once. Resolves with whether the alert is in one; if not, it opened one and is sent now. */
export function createBundleJoiner(pool: pg.Pool): Batcher<LateAlert, boolean> {
  return new Batcher<LateAlert, boolean>(
    alerts =>
      inLedgerTransaction(pool, async client => {
        const now = currentTime();
        const plan = planAlerts(alerts.map(toAlert), now);
        const placements = (await applyDigests(client, [plan], now)).get(plan)!;
        const joined = alerts.flatMap(({ delivery }, position) => {
          const placement = placements.get(position);
          if (typeof placement !== 'object') return [];
          return { ...delivery, digest_id: placement.digest.id, due_at: placement.dueAt };
        });
        if (joined.length > 0 && (await joinBundlesAcrossTenants(client, joined)) < joined.length)
          throw new TakenOverError('another worker has taken over an alert');
        return alerts.map((_, position) => placements.has(position));
      }),
    // Each is then put into its bundle alone.
    { maxPerBatch, isItemError: error => error instanceof TakenOverError },
  );
}

const toAlert = ({ delivery: { organization_id, user_id, address, priority, step }, channel }: LateAlert) => ({
  ...{
    organizationId: organization_id,
    channel,
    userId: user_id,
    address: address!,
    isUrgent: priority === urgent,
    step,
  },
});

/** Returns until when an open bundle waits for alerts that have happened; undefined if it may be sent now. */
export async function findBundleWait(
  pool: pg.Pool,
  { organization_id, digest_id }: Pick<Delivery, 'organization_id' | 'digest_id'>,
): Promise<Date | undefined> {
  const found = await findBundleBacklog(pool, organization_id, digest_id!);
  if (!found?.is_behind) return undefined;
  const now = currentTime();
  const isOverdue = now - found.opened_at.getTime() >= bundleLimits.maxBacklogMs;
  return isOverdue ? undefined : new Date(now + bundleLimits.backlogEveryMs);
}

/**
 * Takes the alerts out of a bundle that may not be sent now, because their event was paused, switched off or deleted since they were
 * decided, or the recipient has opted out: each is decided again alone. The carrier has been checked.
 */
export async function leaveOutStopped(
  { hot, plans }: { hot: pg.Pool; plans: Plans },
  delivery: Delivery,
  { recipient, channel }: Pick<SendContext, 'recipient' | 'channel'>,
): Promise<void> {
  const { organization_id, digest_id } = delivery;
  const now = currentTime();
  const open = {
    cancelled_at: null,
    acknowledged_at: null,
    resolved_at: null,
    expires_at: null,
    round_began_at: null,
    due_at: new Date(now),
  };
  const origins = await listBundleOrigins(hot, organization_id, digest_id!);
  const plansOf = await Promise.all(origins.map(({ event_id }) => plans.findEvent(organization_id, event_id)));
  const stopped = origins.filter(({ notification_id, key_id, priority }, i) => {
    const item = { ...delivery, notification_id };
    return recheck(
      {
        delivery: item,
        occurrence: { ...open, key_id, priority, context: {}, is_keyed: true },
        recipient,
        channel,
        plan: plansOf[i],
      },
      now,
    );
  });
  if (stopped.length > 0) await leaveBundle(hot, organization_id, digest_id!, stopped);
}
