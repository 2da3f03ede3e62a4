/**
 * All deliveries of an organization, those of the newest occurrences first. What an index has in this order is read from
 * it: everything, what failed, what is in the queue, and all of one user. Other filters look through a bounded number of
 * rows at a time, and say where the next look goes on: a year of messages costs no single request more than a day of them.
 */
import { type RawBuilder, sql } from 'kysely';
import { lowestUuidAt } from '../core/ids.ts';
import type { DeliveryStatus } from '../core/statuses.ts';
import { openStatuses } from '../core/statuses.ts';
import { listOfUser, listPast, openInQueue, type PageBefore, type PastDelivery } from './delivery-history.ts';
import type { Db } from './pool.ts';
import type { DeliveryKey } from './replays.ts';

export interface ActivityFilter {
  userId?: number;
  status?: DeliveryStatus;
  /** Any of these; none: nothing is found. */
  channelIds?: number[];
  since?: Date;
  until?: Date;
}

export interface Activity {
  rows: PastDelivery[];
  /** Where to look on, although there may be nothing more; undefined where the rows themselves tell. */
  next: DeliveryKey | undefined;
}

/** About 30 ms. */
const lookedAtOnce = 20_000;
const failed = new Set<string>(['failed', 'unknown']);
const open = new Set<string>(openStatuses);

export async function listActivity(
  db: Db,
  organizationId: number,
  filter: ActivityFilter,
  page: PageBefore,
): Promise<Activity> {
  const { userId, status, channelIds, since, until } = filter;
  const span = sql`
    ${since ? sql`and d.occurrence_id >= ${lowestUuidAt(since.getTime())}::uuid` : sql``}
    ${until ? sql`and d.occurrence_id < ${lowestUuidAt(until.getTime())}::uuid` : sql``}`;
  const channel = channelIds ? sql`and d.channel_id = any(${channelIds}::bigint[])` : sql``;
  const state = status ? sql`and d.status = ${status}` : sql``;
  const known = (rows: PastDelivery[]): Activity => ({ rows, next: undefined });
  if (userId !== undefined) {
    return known(await listOfUser(db, organizationId, userId, page, sql`${span} ${channel} ${state}`));
  }
  if (status && open.has(status)) {
    const condition = sql`${openInQueue(organizationId)} ${state} ${span} ${channel}`;
    return known(await listPast(db, organizationId, condition, page));
  }
  if (!status && !channelIds) return known(await listPast(db, organizationId, sql`true ${span}`, page));
  const indexed = status && failed.has(status) ? sql`and d.status in ('failed', 'unknown')` : sql``;
  return look(db, organizationId, { within: sql`${indexed} ${span}`, wanted: sql`true ${channel} ${state}` }, page);
}

/** So many in the order of the primary key, or of the partial index that `within` names, and those of them that are wanted. */
async function look(
  db: Db,
  organizationId: number,
  { within, wanted }: { within: RawBuilder<unknown>; wanted: RawBuilder<unknown> },
  { before, limit }: PageBefore,
): Promise<Activity> {
  const earlier = before
    ? sql`and (d.occurrence_id, d.id) < (${before.occurrence}::uuid, ${before.id}::bigint)`
    : sql``;
  const { rows: looks } = await sql<Look>`
    with looked as materialized (
      select d.occurrence_id as occurrence, d.id, d.status, d.channel_id from deliveries d
      where d.organization_id = ${organizationId} ${earlier} ${within}
      order by d.occurrence_id desc, d.id desc limit ${lookedAtOnce}
    )
    select count(*)::int as looked,
      (select json_build_object('occurrence', occurrence, 'id', id) from looked order by occurrence, id limit 1) as last,
      (select coalesce(json_agg(json_build_object('occurrence', occurrence, 'id', id)), '[]') from (
        select occurrence, id from looked d where ${wanted} order by occurrence desc, id desc limit ${limit}
      ) found) as found
    from looked`.execute(db);
  const { looked, last, found } = looks[0]!;
  const keys = sql`select * from unnest(
    ${found.map(one => one.occurrence)}::uuid[], ${found.map(one => one.id)}::bigint[])`;
  const whole = { before: undefined, limit };
  const rows =
    found.length > 0 ? await listPast(db, organizationId, sql`(d.occurrence_id, d.id) in (${keys})`, whole) : [];
  const isOver = looked < lookedAtOnce || found.length >= limit;
  return { rows, next: isOver ? undefined : last! };
}

interface Look {
  looked: number;
  /** The oldest of them. */
  last: DeliveryKey | null;
  found: DeliveryKey[];
}
