/** How a digest ends: with its carrier, whose outcome all items share. One statement, so that none is left behind. */
import type pg from 'pg';
import { digestLimits } from '../core/digest.ts';
import type { OccurrenceOutcome } from '../core/outcome.ts';
import { endedStatuses } from '../core/statuses.ts';
import { countText, endedText } from './counts.ts';
import { type Settled, type Settlement, settlingText, settlingValues } from './deliveries.ts';
import {
  dropStaleItemsAcrossTenants,
  inLockOrder,
  lockDigestsAcrossTenants,
  notEnded,
  passOnDigests,
  theseDigests,
} from './digest-items.ts';
import { inTransaction } from './transaction.ts';
import { deliveryEventsText, toldColumns } from './webhook-events.ts';

const ended = `any('{${endedStatuses.join()}}')`;
const counted = `${toldColumns.replaceAll('d.', '')}, event_id, since`;

/** SQL text: columns of a delivery `d` that `carryText` needs besides `event_id` and `since`. */
export const carriedColumns = `${toldColumns}, d.detail, d.sent_at, d.digest_id`;

/**
 * SQL text of `all_changed`: the rows of `changed`, with the items of those digests whose carrier has ended. Such a digest is
 * done, and webhooks are told of each of them. When items waited is no latency of ours, and is not counted as such.
 */
export function carryText(changed: string): string {
  const named = (column: string) =>
    `any(array(select ${column} from ${changed} where digest_id is not null and status = ${ended}))`;
  // In the order of the index of digests, which no other has: planned while there were few, it took any other.
  return `carried as (
      update deliveries d set status = c.status, reason = c.reason, detail = c.detail, provider = c.provider,
        sent_at = c.sent_at
      from (
        select c.status, c.reason, c.detail, c.provider, c.sent_at, c.event_id, i.*
        from ${changed} c, lateral (
          select d.organization_id, d.occurrence_id, d.id from deliveries d
          where d.organization_id = c.organization_id and d.digest_id = c.digest_id and d.status ${notEnded}
            and d.id <> c.id
          order by d.digest_id, d.occurrence_id, d.id limit ${2 * digestLimits.fullAt}
        ) i where c.digest_id is not null and c.status = ${ended}
      ) c
      where d.organization_id = c.organization_id and d.occurrence_id = c.occurrence_id and d.id = c.id
      returning ${toldColumns}, c.event_id, null::timestamptz as since
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
    with settled as (${settlingText}
      returning ${carriedColumns}, g.event_id, g.since
    ), ${carryText('settled')}, ${countText('all_changed')}
    select count(*)::int as settled, ${endedText} as ended from settled`,
};

// It goes on gathering while it waits for the morning, or for the end of a pause. That it is open, asked in other words, leads
// to the index of all that are, of whichever id.
const postpone = {
  name: 'postpone_digests',
  text: `
    update digests g set closes_at = ($3::timestamptz[])[array_position($2::uuid[], g.id)]
    where ${theseDigests('g')} and num_nulls(g.closed_at) = 1`,
};

const leave = {
  name: 'leave_digest',
  text: `
    update deliveries set digest_id = null
    where organization_id = $1 and occurrence_id = $2 and id = $3 and status = 'sending' and attempts = $4`,
};

/** Whether only the carrier is meant: its occurrence was cancelled or has expired, and the others go out without it. */
function isAlone({ reason }: Settlement): boolean {
  return reason === 'cancelled' || reason === 'expired';
}

/** Outcomes of deliveries that carry a digest; returns those of occurrences that came to their end with it. */
export async function settleDigestsAcrossTenants(
  pool: pg.Pool,
  settlements: Settlement[],
): Promise<OccurrenceOutcome[]> {
  if (settlements.length === 0) return [];
  return inTransaction(pool, async client => {
    const columns = (some: Settlement[]): [number[], string[]] => [
      some.map(one => one.organization_id),
      some.map(one => one.digest_id!),
    ];
    await lockDigestsAcrossTenants(client, ...columns(settlements));
    const alone = settlements.filter(isAlone);
    const whole = settlements.filter(one => !isAlone(one));
    const ended: OccurrenceOutcome[] = [];
    for (const one of alone) ended.push(...(await endAlone(client, one)));
    if (whole.length > 0) ended.push(...(await settleThese(client, whole)));
    const held = whole.filter(({ status, reason }) => status === 'pending' && reason !== null);
    if (held.length > 0) await client.query({ ...postpone, values: [...columns(held), held.map(one => one.due_at)] });
    return ended;
  });
}

async function settleThese(client: pg.PoolClient, settlements: Settlement[]): Promise<OccurrenceOutcome[]> {
  const { rows } = await client.query<Settled>({ ...settle, values: settlingValues(settlements) });
  return rows[0]!.ended;
}

async function endAlone(client: pg.PoolClient, settlement: Settlement): Promise<OccurrenceOutcome[]> {
  const { organization_id, occurrence_id, id, digest_id, attempts } = settlement;
  const left = await client.query({ ...leave, values: [organization_id, occurrence_id, id, attempts] });
  // Somebody else has settled it.
  if (left.rowCount === 0) return [];
  const ended = await settleThese(client, [settlement]);
  const dropped = await dropStaleItemsAcrossTenants(client, [organization_id], [digest_id!]);
  await passOnDigests(client, organization_id, [{ digest_id: digest_id!, removed: 1, is_carrier: true }]);
  return [...ended, ...dropped.ended];
}

/** Of the deliveries that a worker has claimed, before they are settled in the same transaction. */
export async function lockDigestsOfAcrossTenants(client: pg.PoolClient, owner: number): Promise<void> {
  await client.query(
    `select g.id from deliveries d join digests g on g.organization_id = d.organization_id and g.id = d.digest_id
     where d.owner = $1 and d.status = 'sending' and d.digest_id is not null
     order by ${inLockOrder('g')} for update of g`,
    [owner],
  );
}

/** Of one delivery. */
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
