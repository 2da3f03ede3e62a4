/**
 * All deliveries of an organization, newest occurrences first. An index serves the unfiltered list, failed deliveries,
 * open deliveries and those of one user. Other filters scan a bounded number of rows per request and return where the
 * next request continues, so no single request gets slower with a longer history.
 */
import { type RawBuilder, sql } from 'kysely';
import { type RefinedState, refinedStates } from '../../core/history/states.ts';
import type { DeliveryStatus } from '../../core/history/statuses.ts';
import { openStatuses } from '../../core/history/statuses.ts';
import { lowestUuidAt } from '../../core/ids.ts';
import type { Db } from '../connection/pool.ts';
import {
  isOneOf,
  listDeliveriesByKey,
  listDeliveriesWhere,
  listUserDeliveriesWhere,
  openInQueue,
  type PageBefore,
  type PastDelivery,
} from './delivery-history.ts';
import { conditionOfState, keysOfState } from './delivery-states.ts';
import type { DeliveryKey } from './replays.ts';

interface ActivityFilter {
  userId?: number;
  status?: DeliveryStatus;
  /** Refines the status. */
  state?: RefinedState;
  /** Matches any of these channels; an empty array matches nothing. */
  channelIds?: number[];
  since?: Date;
  until?: Date;
  /** Only these deliveries. */
  keys?: DeliveryKey[];
}

interface Activity {
  rows: PastDelivery[];
  /** Where the next scan continues, even if it may find nothing; undefined when the last row is the cursor. */
  next: DeliveryKey | undefined;
}

/** Rows per request; a scan of this size takes about 30 ms. */
const maxScanned = 20_000;
const failedStatuses = new Set<string>(['failed', 'unknown']);
const openStatusSet = new Set<string>(openStatuses);

export async function listActivity(
  db: Db,
  organizationId: number,
  filter: ActivityFilter,
  page: PageBefore,
): Promise<Activity> {
  const { userId, state, status = state && refinedStates[state], channelIds, since, until, keys } = filter;
  const span = sql`
    ${since ? sql`and d.occurrence_id >= ${lowestUuidAt(since.getTime())}::uuid` : sql``}
    ${until ? sql`and d.occurrence_id < ${lowestUuidAt(until.getTime())}::uuid` : sql``}`;
  const channel = channelIds ? sql`and d.channel_id = any(${channelIds}::bigint[])` : sql``;
  const matching = sql`${status ? sql`and d.status = ${status}` : sql``} ${state ? sql`and ${conditionOfState(state)}` : sql``}`;
  const complete = (rows: PastDelivery[]): Activity => ({ rows, next: undefined });
  if (keys) {
    const user = userId === undefined ? sql`` : sql`and d.user_id = ${userId}`;
    const condition = sql`${isOneOf(keys)} ${user} ${matching} ${span} ${channel}`;
    return complete(await listDeliveriesWhere(db, organizationId, condition, page));
  }
  if (userId !== undefined) {
    return complete(
      await listUserDeliveriesWhere(db, organizationId, userId, page, sql`${span} ${channel} ${matching}`),
    );
  }
  const found = state && keysOfState(state, organizationId);
  if (found || (status && openStatusSet.has(status))) {
    const condition = sql`${found ?? openInQueue(organizationId)} ${matching} ${span} ${channel}`;
    return complete(await listDeliveriesWhere(db, organizationId, condition, page));
  }
  if (!status && !channelIds) return complete(await listDeliveriesWhere(db, organizationId, sql`true ${span}`, page));
  const indexed = status && failedStatuses.has(status) ? sql`and d.status in ('failed', 'unknown')` : sql``;
  return scan(db, organizationId, { within: sql`${indexed} ${span}`, filter: sql`true ${channel} ${matching}` }, page);
}

/** Scans a bounded number of rows by the primary key, or by the partial index that `within` names, and filters them. */
async function scan(
  db: Db,
  organizationId: number,
  { within, filter }: { within: RawBuilder<unknown>; filter: RawBuilder<unknown> },
  { before, limit }: PageBefore,
): Promise<Activity> {
  const earlier = before
    ? sql`and (d.occurrence_id, d.id) < (${before.occurrence}::uuid, ${before.id}::bigint)`
    : sql``;
  const { rows: scans } = await sql<ScanResult>`
    with looked as materialized (
      select d.occurrence_id as occurrence, d.id, d.status, d.reason, d.channel_id from deliveries d
      where d.organization_id = ${organizationId} ${earlier} ${within}
      order by d.occurrence_id desc, d.id desc limit ${maxScanned}
    )
    select count(*)::int as looked,
      (select json_build_object('occurrence', occurrence, 'id', id) from looked order by occurrence, id limit 1) as last,
      (select coalesce(json_agg(json_build_object('occurrence', occurrence, 'id', id)), '[]') from (
        select occurrence, id from looked d where ${filter} order by occurrence desc, id desc limit ${limit}
      ) found) as found
    from looked`.execute(db);
  const { looked, last, found } = scans[0]!;
  const rows = await listDeliveriesByKey(db, organizationId, found);
  const isComplete = looked < maxScanned || found.length >= limit;
  return { rows, next: isComplete ? undefined : last! };
}

interface ScanResult {
  looked: number;
  /** The oldest scanned delivery. */
  last: DeliveryKey | null;
  found: DeliveryKey[];
}
