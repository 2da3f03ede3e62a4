/** Feedback: what became of messages after a provider accepted them. Every function handles a whole request at once. */
import { sql } from 'kysely';
import type { FeedbackReason, FeedbackType } from '../../../core/feedback/event.ts';
import type { DeliveryReference } from '../../../core/feedback/identify.ts';
import { lowestUuidAt } from '../../../core/ids.ts';
import type { Db } from '../../connection/pool.ts';
import { endedList } from '../../ledger/status-text.ts';

/** An event as it is stored. */
export interface FeedbackFields {
  key: string;
  id: string;
  source: string;
  type: FeedbackType;
  permanent: boolean | null;
  reason: FeedbackReason | null;
  detail: string | null;
  recipient: string | null;
  at: Date;
}

export interface MatchedFeedback extends FeedbackFields {
  occurrence_id: string;
  delivery_id: number;
  address: string | null;
}

export interface UnmatchedFeedback extends FeedbackFields {
  message_id: string | null;
  delivery_ref: string | null;
  /** The channels whose deliveries the event may be about; null if a signature has named the delivery. */
  channels: number[] | null;
}

export interface FoundDelivery {
  occurrence_id: string;
  id: number;
  address: string | null;
  channel_id: number;
  sent_at: Date | null;
  /** Type of the channel; null when the channel has been deleted. */
  channel_type: string | null;
  /** The project that the channel belongs to; null if it is the organization's. */
  channel_project_id: number | null;
  provider_message_id: string | null;
}

const foundColumns = sql`d.occurrence_id, d.id, d.address, d.channel_id, d.sent_at, d.provider_message_id,
  c.type as channel_type, c.project_id as channel_project_id`;
const channel = sql`left join channels c on c.organization_id = d.organization_id and c.id = d.channel_id`;
const ended = sql.raw(endedList);
/** Deliveries with the same id of a service that are looked at. */
const maxPerProviderId = 20;

/**
 * Finds ended deliveries by their keys. One that is still being sent has no outcome that an event could change: its events
 * are matched later.
 */
export async function findDeliveriesByReference(
  db: Db,
  organizationId: number,
  references: readonly DeliveryReference[],
): Promise<FoundDelivery[]> {
  const { rows } = await sql<FoundDelivery>`
    select ${foundColumns}
    from unnest(${references.map(one => one.occurrence)}::uuid[], ${references.map(one => one.id)}::bigint[])
      as wanted (occurrence_id, id)
    join deliveries d on d.organization_id = ${organizationId} and d.occurrence_id = wanted.occurrence_id
      and d.id = wanted.id
    ${channel}
    where d.status in ${ended}`.execute(db);
  return rows;
}

/**
 * Finds ended deliveries by the ids that these services gave them; see the index `deliveries_by_provider_id`. Several have the
 * same id if a service of one channel gives the ids of another's.
 */
export async function findDeliveriesByProviderId(
  db: Db,
  organizationId: number,
  ids: readonly string[],
): Promise<FoundDelivery[]> {
  const { rows } = await sql<FoundDelivery>`
    select found.* from unnest(${[...ids]}::text[]) as wanted (id), lateral (
      select ${foundColumns} from deliveries d ${channel}
      where d.organization_id = ${organizationId} and d.provider_message_id = wanted.id
        and d.provider in ('mailersend', 'resend', 'ses', 'twilio') and d.status in ${ended}
      limit ${maxPerProviderId}
    ) found`.execute(db);
  return rows;
}

const commonColumns = sql`key, id, source, type, permanent, reason, detail, recipient, at`;
const commonTypes = sql`key uuid, id uuid, source text, type text, permanent boolean, reason text, detail text,
  recipient text, at timestamptz`;

/** Stores events about deliveries, and returns the ids of those that were not stored before. */
export async function addFeedback(
  db: Db,
  organizationId: number,
  events: readonly MatchedFeedback[],
): Promise<Set<string>> {
  const { rows } = await sql<{ id: string }>`
    insert into feedback (organization_id, occurrence_id, delivery_id, address, ${commonColumns})
    select ${organizationId}, occurrence_id, delivery_id, address, ${commonColumns}
    from json_to_recordset(${JSON.stringify(events)}::json)
      as given (occurrence_id uuid, delivery_id bigint, address text, ${commonTypes})
    order by occurrence_id, delivery_id, key
    on conflict do nothing returning id`.execute(db);
  return new Set(rows.map(({ id }) => id));
}

/** Stores events about unknown messages, and returns the ids of those that were not stored before. */
export async function addUnmatchedFeedback(
  db: Db,
  organizationId: number,
  events: readonly UnmatchedFeedback[],
): Promise<Set<string>> {
  const { rows } = await sql<{ id: string }>`
    insert into feedback_unmatched (organization_id, message_id, delivery_ref, channels, ${commonColumns})
    select ${organizationId}, message_id, delivery_ref, channels, ${commonColumns}
    from json_to_recordset(${JSON.stringify(events)}::json)
      as given (message_id text, delivery_ref text, channels bigint[], ${commonTypes})
    order by key
    on conflict do nothing returning id`.execute(db);
  return new Set(rows.map(({ id }) => id));
}

/** Returns the organizations with unmatched events, and how long each keeps its history. */
export async function listUnmatchedOwnersAcrossTenants(db: Db): Promise<{ id: number; retention_days: number }[]> {
  const { rows } = await sql<{ id: number; retention_days: number }>`
    select o.id, o.retention_days from organizations o
    where exists (select from feedback_unmatched f where f.organization_id = o.id) order by o.id`.execute(db);
  return rows;
}

/** Returns unmatched events that were received since that time, oldest first. */
export async function listRecentUnmatched(
  db: Db,
  organizationId: number,
  { since, max }: { since: number; max: number },
): Promise<UnmatchedFeedback[]> {
  const { rows } = await sql<UnmatchedFeedback>`
    select message_id, delivery_ref, channels, ${commonColumns} from feedback_unmatched
    where organization_id = ${organizationId} and id >= ${lowestUuidAt(since)}::uuid order by id limit ${max}`.execute(
    db,
  );
  return rows;
}

export async function deleteUnmatched(db: Db, organizationId: number, keys: readonly string[]): Promise<void> {
  await sql`
    delete from feedback_unmatched
    where organization_id = ${organizationId} and key = any(${[...keys]}::uuid[])`.execute(db);
}

/** Deletes unmatched events received before that time, and the oldest ones beyond a number. */
export async function deleteOldUnmatched(
  db: Db,
  organizationId: number,
  { before, max }: { before: number; max: number },
): Promise<void> {
  await sql`
    delete from feedback_unmatched where organization_id = ${organizationId} and (
      id < ${lowestUuidAt(before)}::uuid or id <= (
        select id from feedback_unmatched where organization_id = ${organizationId} order by id desc offset ${max} limit 1
      ))`.execute(db);
}

interface RepeatedBounce {
  address: string;
  count: number;
  first_at: Date;
}

/**
 * Returns the addresses whose messages bounced at least `min` times over at least `days`, without a delivered message in
 * between. Only the last `days` × 5 count.
 */
export async function findRepeatedBounces(
  db: Db,
  organizationId: number,
  addresses: readonly string[],
  { min, days }: { min: number; days: number },
): Promise<RepeatedBounce[]> {
  const { rows } = await sql<RepeatedBounce>`
    select wanted.address, counted.count, counted.first_at
    from unnest(${[...addresses]}::text[]) as wanted (address), lateral (
      select count(*)::int as count, min(at) as first_at, max(at) as last_at from (
        select type, at, max(at) filter (where type = 'delivered') over () as delivered_at from (
          -- Only the index of addresses has this order, which the range keeps from being redundant: planned on an empty
          -- table, a comparison for equality read all bounces.
          select type, at from feedback
          where organization_id = ${organizationId} and address >= wanted.address and address <= wanted.address
            and type in ('bounced', 'delivered') and at > now() - make_interval(days => ${days * 5})
          order by address desc, at desc limit 1000
        ) recent
      ) marked where type = 'bounced' and (delivered_at is null or at > delivered_at)
    ) counted
    where counted.count >= ${min} and counted.last_at - counted.first_at >= make_interval(days => ${days})`.execute(db);
  return rows;
}

export type DeliveryFeedback = Omit<MatchedFeedback, 'key'>;

/** Returns the events of these deliveries of one occurrence, oldest first. */
export async function listDeliveryFeedback(
  db: Db,
  organizationId: number,
  occurrenceId: string,
  deliveryIds: readonly number[],
  max = 1_000,
): Promise<DeliveryFeedback[]> {
  const { rows } = await sql<DeliveryFeedback>`
    select occurrence_id, delivery_id, id, source, type, permanent, reason, detail, address, recipient, at from feedback
    where organization_id = ${organizationId} and occurrence_id = ${occurrenceId}
      and delivery_id = any(${[...deliveryIds]}::bigint[])
    order by at, id limit ${max}`.execute(db);
  return rows;
}

interface Page {
  /** Id of the last event of the previous page, or empty. */
  after: string;
  limit: number;
}

const before = ({ after }: Page) => (after ? sql`and id < ${after}::uuid` : sql``);

/** Returns a page of events about deliveries, newest first. Each type has its own part of the index. */
export async function listFeedback(
  db: Db,
  organizationId: number,
  types: readonly FeedbackType[],
  page: Page,
): Promise<DeliveryFeedback[]> {
  const { rows } = await sql<DeliveryFeedback>`
    select found.* from unnest(${[...types]}::text[]) as wanted (type), lateral (
      select occurrence_id, delivery_id, address, ${commonColumns} from feedback
      where organization_id = ${organizationId} and type = wanted.type ${before(page)}
      order by id desc limit ${page.limit}
    ) found order by id desc limit ${page.limit}`.execute(db);
  return rows;
}

/** Returns a page of events about unknown messages, newest first. */
export async function listUnmatchedFeedback(db: Db, organizationId: number, page: Page): Promise<UnmatchedFeedback[]> {
  const { rows } = await sql<UnmatchedFeedback>`
    select message_id, delivery_ref, channels, ${commonColumns} from feedback_unmatched
    where organization_id = ${organizationId} ${before(page)} order by id desc limit ${page.limit}`.execute(db);
  return rows;
}
