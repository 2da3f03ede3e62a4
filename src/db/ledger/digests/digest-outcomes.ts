/**
 * Ends a digest with its carrier, whose outcome all items share. One statement does both, so that no item is left
 * behind.
 */
import type pg from 'pg';
import { isBundleId } from '../../../core/decision/bundle.ts';
import { digestLimits } from '../../../core/decision/digest.ts';
import type { OccurrenceOutcome } from '../../../core/decision/outcome.ts';
import { endedStatuses } from '../../../core/history/statuses.ts';
import { inLedgerTransaction } from '../../connection/transaction.ts';
import { countText, endedText } from '../counts.ts';
import { type Settlement, type SettleResult, settlementRows, settlingText } from '../deliver/deliveries.ts';
import { hasStatusText } from '../status-text.ts';
import { deliveryEventColumns, deliveryEventsText, eventColumns } from '../webhooks/events.ts';
import {
  applyRemovals,
  digestsByIdText,
  dropStaleItemsAcrossTenants,
  lockDigestsAcrossTenants,
  lockOrderText,
  notEndedText,
} from './digest-items.ts';

const ended = `any('{${endedStatuses.join()}}')`;
const counted = `${eventColumns.join(', ')}, event_id, since`;

/** SQL text: columns of a delivery `d` that `carryText` needs besides `event_id` and `since`. */
export const carriedColumns = `${deliveryEventColumns}, d.detail, d.sent_at, d.digest_id`;

/**
 * SQL text of `all_changed`: the rows of `changed`, and the items of digests whose carrier has ended. Such a digest is
 * deleted, and webhooks are notified of each item. The time that items waited is not latency and is not counted.
 */
export function carryText(changed: string): string {
  const named = (column: string) =>
    `any(array(select ${column} from ${changed} where digest_id is not null and status = ${ended}))`;
  // The order is that of the index on digests and of no other: planned while there were few rows, it used any index.
  return `carried as (
      update deliveries d set status = c.status, reason = c.reason, detail = c.detail, provider = c.provider,
        sent_at = c.sent_at
      from (
        select c.status, c.reason, c.detail, c.provider, c.sent_at, c.event_id, i.*
        from ${changed} c, lateral (
          select d.organization_id, d.occurrence_id, d.id from deliveries d
          where d.organization_id = c.organization_id and d.digest_id = c.digest_id and d.status ${notEndedText}
            and d.id <> c.id
          order by d.digest_id, d.occurrence_id, d.id limit ${2 * digestLimits.fullAt}
        ) i where c.digest_id is not null and c.status = ${ended}
      ) c
      where d.organization_id = c.organization_id and d.occurrence_id = c.occurrence_id and d.id = c.id
      returning ${deliveryEventColumns}, c.event_id, null::timestamptz as since
    ), done as (
      delete from digests g
      where g.organization_id = ${named('organization_id')} and g.id = ${named('digest_id')}
    ), all_changed as (
      select ${counted} from ${changed} union all select ${counted} from carried
    ), ${deliveryEventsText('all_changed')}`;
}

const settle = {
  name: 'settle_digests',
  text: `
    with settled as (${settlingText({ status: '$1', rows: settlementRows.unnest(2) })}
      returning ${carriedColumns}, g.event_id, g.since
    ), ${carryText('settled')}, ${countText('all_changed')}
    select count(*)::int as settled, ${endedText} as ended from settled`,
};

// A digest keeps collecting while it waits for quiet hours or a pause to end. Written differently, the condition that
// it is open makes the planner use the index of all open digests.
const postpone = {
  name: 'postpone_digests',
  text: `
    update digests g set closes_at = ($3::timestamptz[])[array_position($2::uuid[], g.id)]
    where ${digestsByIdText('g', '$1', '$2')} and num_nulls(g.closed_at) = 1`,
};

const leave = {
  name: 'leave_digest',
  text: `
    update deliveries d set digest_id = null
    where d.organization_id = $1 and d.occurrence_id = $2 and d.id = $3 and ${hasStatusText('d', 'sending')} and d.attempts = $4`,
};

/** Reasons of a carrier that say nothing about the other items of its digest. */
const carrierReasons = /^(cancelled|expired)$/;
/** The same for a bundle, whose items are of other events and escalations. */
const bundleCarrierReasons =
  /^(cancelled|expired|acknowledged|resolved|gave_up|dropped|event\..*|guard\..*|notification\..*|preference\.off|template\.failed)$/;

/** Returns whether only the carrier ends or waits: the other items are sent without it. */
function concernsOnlyCarrier({ reason, digest_id }: Settlement): boolean {
  return (isBundleId(digest_id) ? bundleCarrierReasons : carrierReasons).test(reason ?? '');
}

/** Settles deliveries that carry a digest. Returns the outcomes of occurrences that ended with it. */
export async function settleDigestsAcrossTenants(
  pool: pg.Pool,
  settlements: Settlement[],
): Promise<OccurrenceOutcome[]> {
  if (settlements.length === 0) return [];
  return inLedgerTransaction(pool, async client => {
    const columns = (some: Settlement[]): [number[], string[]] => [
      some.map(one => one.organization_id),
      some.map(one => one.digest_id!),
    ];
    await lockDigestsAcrossTenants(client, ...columns(settlements));
    const carriersOnly = settlements.filter(concernsOnlyCarrier);
    const whole = settlements.filter(one => !concernsOnlyCarrier(one));
    const ended: OccurrenceOutcome[] = [];
    for (const one of carriersOnly) ended.push(...(await endCarrier(client, one)));
    if (whole.length > 0) ended.push(...(await settleAll(client, whole)));
    const held = whole.filter(({ status, reason }) => status === 'pending' && reason !== null);
    if (held.length > 0) await client.query({ ...postpone, values: [...columns(held), held.map(one => one.due_at)] });
    return ended;
  });
}

async function settleAll(client: pg.PoolClient, settlements: Settlement[]): Promise<OccurrenceOutcome[]> {
  const { rows } = await client.query<SettleResult>({
    ...settle,
    values: ['sending', ...settlementRows.values(settlements)],
  });
  return rows[0]!.ended;
}

async function endCarrier(client: pg.PoolClient, settlement: Settlement): Promise<OccurrenceOutcome[]> {
  const { organization_id, occurrence_id, id, digest_id, attempts } = settlement;
  const left = await client.query({ ...leave, values: [organization_id, occurrence_id, id, attempts] });
  // It is already settled.
  if (left.rowCount === 0) return [];
  const ended = await settleAll(client, [settlement]);
  const dropped = await dropStaleItemsAcrossTenants(client, [organization_id], [digest_id!]);
  await applyRemovals(client, organization_id, [{ digest_id: digest_id!, removed: 1, is_carrier: true }]);
  return [...ended, ...dropped.ended];
}

/** Locks the digests of the deliveries that a worker has claimed, to settle them in the same transaction. */
export async function lockDigestsOfAcrossTenants(client: pg.PoolClient, owner: number): Promise<void> {
  await client.query(
    `select g.id from deliveries d join digests g on g.organization_id = d.organization_id and g.id = d.digest_id
     where d.owner = $1 and d.status = 'sending' and d.digest_id is not null
     order by ${lockOrderText('g')} for update of g`,
    [owner],
  );
}

/** Locks the digest of a delivery. */
export async function lockDigestOf(
  client: pg.PoolClient,
  organizationId: number,
  occurrenceId: string,
  id: number,
): Promise<void> {
  await client.query(
    `select g.id from deliveries d join digests g on g.organization_id = d.organization_id and g.id = d.digest_id
     where d.organization_id = $1 and d.occurrence_id = $2 and d.id = $3 for update of g`,
    [organizationId, occurrenceId, id],
  );
}
