/**
 * Deliveries of any occurrence, the newest first: of a user, those that failed, those that the sandbox took. Each list has
 * a partial index of its own, so that what the many successful deliveries pay for it is little or nothing.
 */
import { type RawBuilder, sql } from 'kysely';
import { lowestUuidAt, timeOfUuid } from '../core/ids.ts';
import { addressInOnce, occurrenceInOnce } from './deliveries.ts';
import { type DeliveryView, deliveryColumns, deliveryNames } from './delivery-list.ts';
import { places } from './occurrences.ts';
import type { Db } from './pool.ts';
import { endedList, waitingList } from './status-text.ts';

export interface PastDelivery extends DeliveryView {
  /** Identifier of the occurrence. */
  occurrence: string;
  /** prj/app/evt; null when it has been deleted. */
  event: string | null;
  /** Of the channel; null when it has been deleted. */
  type: string | null;
}

export interface PageBefore {
  /** The last one seen, if any. */
  before: { occurrence: string; id: number } | undefined;
  limit: number;
}

export async function listFailedDeliveries(db: Db, organizationId: number, page: PageBefore): Promise<PastDelivery[]> {
  return listPast(db, organizationId, sql`d.status in ('failed', 'unknown')`, page);
}

export async function listSandboxedDeliveries(
  db: Db,
  organizationId: number,
  page: PageBefore,
): Promise<PastDelivery[]> {
  return listPast(db, organizationId, sql`d.provider = 'sandbox' and d.status = 'sent'`, page);
}

const ended = sql.raw(endedList);
/** What waits is in no index of users: as many of it are looked through. */
const mostWaiting = 10_000;

export async function listUserDeliveries(
  db: Db,
  organizationId: number,
  userId: number,
  page: PageBefore,
): Promise<PastDelivery[]> {
  return listOfUser(db, organizationId, userId, page, sql``);
}

/** Those of one occurrence. */
export async function listUserDeliveriesOf(
  db: Db,
  organizationId: number,
  userId: number,
  occurrenceId: string,
  page: PageBefore,
): Promise<PastDelivery[]> {
  const of = sql`and d.occurrence_id = ${occurrenceId}::uuid`;
  const done = await listPast(db, organizationId, sql`${endedOf(userId)} ${of} offset 0`, page);
  return withOpen(db, organizationId, userId, page, of, done);
}

/** What has ended, by the user's index; and of what waits or is being sent, what a look into the queue finds. */
export async function listOfUser(
  db: Db,
  organizationId: number,
  userId: number,
  page: PageBefore,
  /** Begins with `and`, or is empty. */
  condition: RawBuilder<unknown>,
): Promise<PastDelivery[]> {
  const done = await listByMonths(db, organizationId, sql`${endedOf(userId)} ${condition}`, page);
  return withOpen(db, organizationId, userId, page, condition, done);
}

const endedOf = (userId: number) => sql`d.user_id = ${userId} and d.status in ${ended}`;

async function withOpen(
  db: Db,
  organizationId: number,
  userId: number,
  page: PageBefore,
  condition: RawBuilder<unknown>,
  done: PastDelivery[],
): Promise<PastDelivery[]> {
  const waiting = sql`d.user_id = ${userId} ${condition} and ${openInQueue(organizationId, userId)}`;
  const open = await listPast(db, organizationId, waiting, page);
  return [...done, ...open].sort(newestFirst).slice(0, page.limit);
}

/** A condition on deliveries `d`: they wait or are being sent, and are among the first that the queue has of the organization. */
export function openInQueue(organizationId: number, userId?: number): RawBuilder<unknown> {
  const own = userId === undefined ? sql`` : sql`where user_id = ${userId}`;
  return sql`(d.occurrence_id, d.id) in (
    select occurrence_id, id from (
      (select occurrence_id, id, user_id from deliveries
        where status in ${sql.raw(waitingList)} and priority in (0, 1, 2) and organization_id = ${organizationId}
        limit ${mostWaiting})
      union all
      (select occurrence_id, id, user_id from deliveries
        where status = 'sending' and owner is not null and organization_id = ${organizationId} limit ${mostWaiting})
    ) queue ${own})`;
}

/**
 * What the condition's own index finds, of the last month first, and of twice as many months before that until there is
 * enough: so much is sorted, not all. `offset 0` keeps the planner from walking through everybody's deliveries in the order
 * that is wanted, which it takes for the shorter way where there are many: for a user who had 8,500 of 5,000,000, all of
 * them long ago, that took 1,300 ms.
 */
async function listByMonths(
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
  const last = new Date(page.before ? timeOfUuid(page.before.occurrence) : Date.now());
  for (let months = 1; found.length < page.limit && (to === undefined || to > oldest); months *= 2) {
    const from = Date.UTC(last.getUTCFullYear(), last.getUTCMonth() - (months - 1));
    const span = sql`d.occurrence_id >= ${lowestUuidAt(from)}::uuid
      ${to === undefined ? sql`` : sql`and d.occurrence_id < ${lowestUuidAt(to)}::uuid`}`;
    const limit = page.limit - found.length;
    found.push(...(await listPast(db, organizationId, sql`${condition} and ${span} offset 0`, { ...page, limit })));
    to = from;
  }
  return found;
}

function newestFirst(a: PastDelivery, b: PastDelivery): number {
  if (a.occurrence !== b.occurrence) return a.occurrence < b.occurrence ? 1 : -1;
  return b.id - a.id;
}

/** Those of one occurrence to this address, by these notifications and channels: a probe of the index that keeps them unique. */
export async function findDeliveriesTo(
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

/** Names are joined to the page alone, whatever the planner thinks of the rest. */
export async function listPast(
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
    left join occurrences o on o.organization_id = d.organization_id and o.id = d.occurrence_id ${places}
    order by d.occurrence_id desc, d.id desc`.execute(db);
  return rows;
}

export interface Attempt {
  at: Date;
  provider: string | null;
  outcome: 'sent' | 'failed' | 'unknown';
  /** The provider's own words. */
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

/** The calls of providers for one delivery, the oldest first; undefined when there is no such delivery. */
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
