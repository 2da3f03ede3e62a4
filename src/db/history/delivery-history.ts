/**
 * Deliveries across occurrences, newest first: those of a user, failed ones, sandboxed ones. Each list has its own
 * partial index, which costs the many successful deliveries little or nothing.
 */
import { type RawBuilder, sql } from 'kysely';
import { lowestUuidAt, timeOfUuid } from '../../core/ids.ts';
import { currentTime } from '../../lib/time/clock.ts';
import type { Db } from '../connection/pool.ts';
import { addressInOnce, occurrenceInOnce } from '../ledger/deliver/deliveries.ts';
import { endedList, waitingList } from '../ledger/status-text.ts';
import { type DeliveryView, deliveryColumns, deliveryNames } from './delivery-list.ts';
import { pathJoins } from './occurrences.ts';

export interface PastDelivery extends DeliveryView {
  /** Identifier of the occurrence. */
  occurrence: string;
  /** prj/app/evt; null when the event has been deleted. */
  event: string | null;
  /** Type of the channel; null when the channel has been deleted. */
  type: string | null;
}

export interface PageBefore {
  /** The last delivery of the previous page, if any. */
  before: { occurrence: string; id: number } | undefined;
  limit: number;
}

export async function listFailedDeliveries(db: Db, organizationId: number, page: PageBefore): Promise<PastDelivery[]> {
  return listDeliveriesWhere(db, organizationId, sql`d.status in ('failed', 'unknown')`, page);
}

export async function listSandboxedDeliveries(db: Db, organizationId: number, page: PageBefore) {
  return listDeliveriesWhere(db, organizationId, sql`d.provider = 'sandbox' and d.status = 'sent'`, page);
}

/** Lists these deliveries, newest first. */
export async function listDeliveriesByKey(
  db: Db,
  organizationId: number,
  keys: { occurrence: string; id: number }[],
): Promise<PastDelivery[]> {
  if (keys.length === 0) return [];
  return listDeliveriesWhere(db, organizationId, isOneOf(keys), { before: undefined, limit: keys.length });
}

/** Returns a condition on deliveries `d`: one of these. */
export function isOneOf(keys: { occurrence: string; id: number }[]): RawBuilder<unknown> {
  return sql`(d.occurrence_id, d.id) in (
    select * from unnest(${keys.map(one => one.occurrence)}::uuid[], ${keys.map(one => one.id)}::bigint[]))`;
}

const ended = sql.raw(endedList);
/** Waiting deliveries are not in the users' index, so at most this many of the queue are scanned. */
const maxScanned = 10_000;

export async function listUserDeliveries(db: Db, organizationId: number, userId: number, page: PageBefore) {
  return listUserDeliveriesWhere(db, organizationId, userId, page, sql``);
}

/** Lists the deliveries of one occurrence to one user. */
export async function listUserDeliveriesOfOccurrence(
  db: Db,
  organizationId: number,
  userId: number,
  occurrenceId: string,
  page: PageBefore,
): Promise<PastDelivery[]> {
  const of = sql`and d.occurrence_id = ${occurrenceId}::uuid`;
  const endedDeliveries = await listDeliveriesWhere(
    db,
    organizationId,
    sql`${endedDeliveriesOf(userId)} ${of} offset 0`,
    page,
  );
  return addOpenDeliveries(db, organizationId, userId, page, of, endedDeliveries);
}

/** Reads ended deliveries from the users' index, and finds open ones by a bounded scan of the queue. */
export async function listUserDeliveriesWhere(
  db: Db,
  organizationId: number,
  userId: number,
  page: PageBefore,
  /** Starts with `and`, or is empty. */
  condition: RawBuilder<unknown>,
): Promise<PastDelivery[]> {
  const endedDeliveries = await listByMonth(db, organizationId, sql`${endedDeliveriesOf(userId)} ${condition}`, page);
  return addOpenDeliveries(db, organizationId, userId, page, condition, endedDeliveries);
}

const endedDeliveriesOf = (userId: number) => sql`d.user_id = ${userId} and d.status in ${ended}`;

async function addOpenDeliveries(
  db: Db,
  organizationId: number,
  userId: number,
  page: PageBefore,
  condition: RawBuilder<unknown>,
  endedDeliveries: PastDelivery[],
): Promise<PastDelivery[]> {
  const waiting = sql`d.user_id = ${userId} ${condition} and ${openInQueue(organizationId, userId)}`;
  const open = await listDeliveriesWhere(db, organizationId, waiting, page);
  return [...endedDeliveries, ...open].sort(newestFirst).slice(0, page.limit);
}

/** Returns a condition on deliveries `d`: open, and among the first in the organization's queue. */
export function openInQueue(organizationId: number, userId?: number): RawBuilder<unknown> {
  const own = userId === undefined ? sql`` : sql`where user_id = ${userId}`;
  return sql`(d.occurrence_id, d.id) in (
    select occurrence_id, id from (
      (select occurrence_id, id, user_id from deliveries
        where status in ${sql.raw(waitingList)} and priority in (0, 1, 2) and organization_id = ${organizationId}
        limit ${maxScanned})
      union all
      (select occurrence_id, id, user_id from deliveries
        where status = 'sending' and owner is not null and organization_id = ${organizationId} limit ${maxScanned})
    ) queue ${own})`;
}

/**
 * Reads the condition's own index for the last month, then for twice as many months each time, until the page is full.
 * Only that much is sorted. `offset 0` keeps the planner from scanning the deliveries of all users in the requested
 * order, which took 1,300 ms for a user with only old deliveries.
 */
async function listByMonth(
  db: Db,
  organizationId: number,
  condition: RawBuilder<unknown>,
  page: PageBefore,
): Promise<PastDelivery[]> {
  const { rows: first } = await sql<{ id: string }>`
    select id from occurrences where organization_id = ${organizationId} order by id limit 1`.execute(db);
  const found: PastDelivery[] = [];
  if (!first[0]) return found;
  const oldest = timeOfUuid(first[0].id);
  let to: number | undefined;
  const last = new Date(page.before ? timeOfUuid(page.before.occurrence) : currentTime());
  for (let months = 1; found.length < page.limit && (to === undefined || to > oldest); months *= 2) {
    const from = Date.UTC(last.getUTCFullYear(), last.getUTCMonth() - (months - 1));
    const span = sql`d.occurrence_id >= ${lowestUuidAt(from)}::uuid
      ${to === undefined ? sql`` : sql`and d.occurrence_id < ${lowestUuidAt(to)}::uuid`}`;
    const limit = page.limit - found.length;
    found.push(
      ...(await listDeliveriesWhere(db, organizationId, sql`${condition} and ${span} offset 0`, { ...page, limit })),
    );
    to = from;
  }
  return found;
}

function newestFirst(a: PastDelivery, b: PastDelivery): number {
  if (a.occurrence !== b.occurrence) return a.occurrence < b.occurrence ? 1 : -1;
  return b.id - a.id;
}

/** Finds deliveries of one occurrence by address, with one probe of the unique index per combination. */
export async function findDeliveriesToAddresses(
  db: Db,
  organizationId: number,
  occurrenceId: string,
  { notifications, channels, addresses }: { notifications: number[]; channels: number[]; addresses: string[] },
): Promise<DeliveryView[]> {
  const { rows } = await sql<DeliveryView>`
    select ${deliveryColumns} from deliveries d ${deliveryNames}
    where d.organization_id = ${organizationId} and d.occurrence_id = ${occurrenceId}
      and ${sql.raw(occurrenceInOnce)} = ${occurrenceId}
      and d.notification_id = any(${notifications}::bigint[]) and d.channel_id = any(${channels}::bigint[])
      and ${sql.raw(addressInOnce)} = any(${addresses}::text[])
    order by d.id`.execute(db);
  return rows;
}

/** Lists matching deliveries. The subquery keeps the planner from joining names to more rows than the page. */
export async function listDeliveriesWhere(
  db: Db,
  organizationId: number,
  condition: RawBuilder<unknown>,
  { before, limit }: PageBefore,
): Promise<PastDelivery[]> {
  const earlier = before
    ? sql`and (d.occurrence_id, d.id) < (${before.occurrence}::uuid, ${before.id}::bigint)`
    : sql``;
  const { rows } = await sql<PastDelivery>`
    select ${deliveryColumns}, d.occurrence_id as occurrence, c.type, p.slug || '/' || a.slug || '/' || e.slug as event
    from (
      select * from (select * from deliveries d where d.organization_id = ${organizationId} ${earlier} and ${condition}) d
      order by d.occurrence_id desc, d.id desc limit ${limit}
    ) d ${deliveryNames}
    left join occurrences o on o.organization_id = d.organization_id and o.id = d.occurrence_id ${pathJoins}
    order by d.occurrence_id desc, d.id desc`.execute(db);
  return rows;
}

interface Attempt {
  at: Date;
  provider: string | null;
  outcome: 'sent' | 'failed' | 'unknown';
  /** The provider's response or error message. */
  detail: string | null;
  ms: number | null;
}

interface AttemptRow {
  status: string;
  provider: string | null;
  sent_at: Date | null;
  attempt_ms: number | null;
  failed_attempts: (Omit<Attempt, 'at'> & { at: string })[] | null;
}

/** Lists the attempts of one delivery, oldest first. Returns undefined when there is no such delivery. */
export async function findAttempts(
  db: Db,
  organizationId: number,
  occurrenceId: string,
  id: number,
): Promise<Attempt[] | undefined> {
  const { rows } = await sql<AttemptRow>`
    select status, provider, sent_at, attempt_ms, failed_attempts from deliveries
    where organization_id = ${organizationId} and occurrence_id = ${occurrenceId} and id = ${id}`.execute(db);
  const [row] = rows;
  if (!row) return undefined;
  const failed = (row.failed_attempts ?? []).map(one => ({ ...one, at: new Date(one.at) }));
  if (!row.sent_at) return failed;
  const at = new Date(row.sent_at.getTime() - (row.attempt_ms ?? 0));
  const sent: Attempt = { at, provider: row.provider, outcome: 'sent', detail: null, ms: row.attempt_ms };
  return [...failed, sent].sort((a, b) => a.at.getTime() - b.at.getTime());
}
