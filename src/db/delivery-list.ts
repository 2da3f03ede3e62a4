/** The deliveries of one occurrence, of which there may be a million: listed, narrowed down, counted by reason. */
import { type RawBuilder, sql } from 'kysely';
import { type DeliveryStatus, type EndedStatus, endedStatuses } from '../core/statuses.ts';
import { occurrenceInOnce } from './deliveries.ts';
import { carriedDueAt } from './digest-items.ts';
import type { Counts } from './occurrences.ts';
import type { Db } from './pool.ts';
import { endedList, openList, outstandingText, waitingList } from './status-text.ts';
import type { Deliveries } from './types.ts';

export interface DeliveryView {
  id: number;
  user: string | null;
  address: string | null;
  channel: string | null;
  notification: string | null;
  status: DeliveryStatus;
  reason: string | null;
  detail: string | null;
  attempts: number;
  provider: string | null;
  /** The run of a step; null: it belongs to none. */
  step: number | null;
  /** Whether it tells that the occurrence is resolved. */
  resolved: boolean;
  created_at: Date;
  sent_at: Date | null;
  next_attempt_at: Date | null;
  /** The digest that carries it; all of one digest went out as one message. */
  digest: string | null;
}

/** Of `deliveries d`, with the names that `deliveryNames` joins to it: null for what has been deleted. */
export const deliveryColumns = sql`
  d.id, u.username as user, d.address, c.slug as channel, n.name as notification, d.status, d.reason, d.detail,
  d.attempts, d.provider, case when d.step > 0 then d.step end as step, d.step < 0 as resolved, d.created_at, d.sent_at,
  d.digest_id as digest,
  -- An item of a digest is due with it.
  case when d.status not in ${sql.raw(waitingList)} or d.due_at = 'infinity' then null
    when d.digest_id is null or d.due_at < timestamptz '9999-01-01' then d.due_at
    else (select nullif(g.closes_at, 'infinity') from digests g
      where g.organization_id = d.organization_id and g.id = d.digest_id) end as next_attempt_at`;

export const deliveryNames = sql`
  left join users u on u.organization_id = d.organization_id and u.id = d.user_id
  left join channels c on c.organization_id = d.organization_id and c.id = d.channel_id
  left join notifications n on n.organization_id = d.organization_id and n.id = d.notification_id`;

export type DeliveryParts = Pick<
  Deliveries,
  'notification_id' | 'version' | 'channel_id' | 'user_id' | 'address' | 'wording' | 'user_version' | 'digest_id'
> & { step: number };

const deliveryParts = [
  ...(['notification_id', 'version', 'channel_id', 'user_id', 'address', 'wording', 'user_version'] as const),
  ...(['step', 'digest_id'] as const),
] as const;

/** What its message is made of. */
export async function findDelivery(
  db: Db,
  organizationId: number,
  occurrenceId: string,
  id: number,
): Promise<DeliveryParts | undefined> {
  return db
    .selectFrom('deliveries')
    .select(deliveryParts)
    .where('organization_id', '=', organizationId)
    .where('occurrence_id', '=', occurrenceId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** The one that carries a digest: the others are never due by themselves. */
export async function findCarrier(
  db: Db,
  organizationId: number,
  digestId: string,
): Promise<(DeliveryParts & { occurrence_id: string }) | undefined> {
  return db
    .selectFrom('deliveries')
    .select(['occurrence_id', ...deliveryParts])
    .where('organization_id', '=', organizationId)
    .where('digest_id', '=', digestId)
    .where('due_at', '<>', carriedDueAt)
    .limit(1)
    .executeTakeFirst();
}

export interface DeliveryFilter {
  status?: string;
  reason?: string;
  user?: string;
  channel?: string;
}

export async function listDeliveries(
  db: Db,
  organizationId: number,
  occurrenceId: string,
  filter: DeliveryFilter,
  page: { after: number; limit: number },
): Promise<DeliveryView[]> {
  const narrowed = await narrow(db, organizationId, occurrenceId, filter);
  if (!narrowed) return [];
  const found = narrowed.map(
    condition => sql`(
      select * from deliveries d
      where d.organization_id = ${organizationId} and d.occurrence_id = ${occurrenceId} and d.id > ${page.after}
        and ${condition}
      order by d.id limit ${page.limit})`,
  );
  const { rows } = await sql<DeliveryView>`
    select ${deliveryColumns} from (
      select * from (${sql.join(found, sql` union all `)}) found order by id limit ${page.limit}
    ) d ${deliveryNames} order by d.id`.execute(db);
  return rows;
}

/** In this order, and suppressed ones not at all: `listSuppressedReasons` counts those. */
const attentionOrder: { condition: RawBuilder<unknown>; count: (counts: Counts) => number }[] = [
  { condition: sql`d.status in ('failed', 'unknown')`, count: ({ failed, unknown }) => failed + unknown },
  { condition: sql`d.status in ${sql.raw(openList)}`, count: ({ pending }) => pending },
  {
    condition: sql`d.status in ('sent', 'cancelled', 'expired')`,
    count: ({ sent, cancelled, expired }) => sent + cancelled + expired,
  },
];

export interface AttentionDelivery extends DeliveryView {
  /** Which of the groups it is in. */
  group: number;
}

/** What needs somebody's attention first: what failed, then what is on its way, then the rest. */
export async function listDeliveriesByAttention(
  db: Db,
  organizationId: number,
  occurrenceId: string,
  after: { group: number; id: number },
  limit: number,
): Promise<AttentionDelivery[]> {
  const { rows: counted } = await sql<Counts>`
    select ${countColumns} from occurrences o
    where o.organization_id = ${organizationId} and o.id = ${occurrenceId}`.execute(db);
  const found: AttentionDelivery[] = [];
  for (let group = after.group; counted[0] && group < attentionOrder.length && found.length < limit; group++) {
    const { condition, count } = attentionOrder[group]!;
    // Where there is none, not all of the others are read to find that out.
    if (count(counted[0]) <= 0) continue;
    const { rows } = await sql<DeliveryView>`
      select ${deliveryColumns} from (
        select * from deliveries d
        where d.organization_id = ${organizationId} and d.occurrence_id = ${occurrenceId}
          and d.id > ${group === after.group ? after.id : 0} and ${condition}
        order by d.id limit ${limit - found.length}
      ) d ${deliveryNames} order by d.id`.execute(db);
    found.push(...rows.map(row => ({ ...row, group })));
  }
  return found;
}

export interface SuppressedReason {
  reason: string;
  count: number;
}

/** Why messages were not sent on purpose: from one reason to the next by their index, each counted no further than `most`. */
export async function listSuppressedReasons(
  db: Db,
  organizationId: number,
  occurrenceId: string,
  most: number,
): Promise<SuppressedReason[]> {
  const own = sql`organization_id = ${organizationId} and occurrence_id = ${occurrenceId} and status = 'suppressed'`;
  const { rows } = await sql<SuppressedReason>`
    with recursive reasons as (
      (select reason from deliveries where ${own} order by reason limit 1)
      union all
      select (select reason from deliveries where ${own} and reason > r.reason order by reason limit 1)
      from reasons r where r.reason is not null
    )
    select r.reason, (
      select count(*)::int from (select from deliveries where ${own} and reason = r.reason limit ${most}) counted) as count
    from reasons r where r.reason is not null order by count desc, r.reason`.execute(db);
  return rows;
}

const countColumns = sql`
  ${sql.raw(outstandingText('o'))} as pending,
  o.sent, o.failed, o.suppressed, o.cancelled, o.expired, o.unknown`;

/**
 * What to look for, one search after the other; undefined when there is nothing. An occurrence may have a million
 * deliveries: what the filter names is looked up first, and what there is none of is known by the counts that are kept,
 * so that not all of them are read to find that out.
 */
async function narrow(
  db: Db,
  organizationId: number,
  occurrenceId: string,
  { status, reason, user, channel }: DeliveryFilter,
): Promise<RawBuilder<unknown>[] | undefined> {
  if (!status && !reason && !user && !channel) return [sql`true`];
  const { rows } = await sql<Counts & { user_id: number | null }>`
    select ${countColumns},
      (select id from users where organization_id = o.organization_id and username = ${user ?? null}) as user_id
    from occurrences o where o.organization_id = ${organizationId} and o.id = ${occurrenceId}`.execute(db);
  const known = rows[0];
  if (!known) return undefined;
  const conditions: RawBuilder<unknown>[] = [];
  if (status) {
    if (known[isEnded(status) ? status : 'pending'] <= 0) return undefined;
    conditions.push(sql`d.status = ${status}`);
  }
  if (reason) conditions.push(sql`d.reason = ${reason}`);
  if (channel) {
    const used = await listOccurrenceChannels(db, organizationId, occurrenceId);
    const wanted = used.flatMap(({ id, slug }) => (slug === channel ? [id] : []));
    if (wanted.length === 0) return undefined;
    if (wanted.length < used.length) conditions.push(sql`d.channel_id = any(${wanted}::bigint[])`);
  }
  if (!user) return [sql.join([sql`true`, ...conditions], sql` and `)];
  if (known.user_id === null) return undefined;
  conditions.push(sql`d.user_id = ${known.user_id}`);
  // The index of users has what has ended.
  const open = known.pending > 0 ? [sql`d.status not in ${sql.raw(endedList)}`] : [];
  return [sql`d.status in ${sql.raw(endedList)}`, ...open].map(part => sql.join([part, ...conditions], sql` and `));
}

function isEnded(status: string): status is EndedStatus {
  return (endedStatuses as readonly string[]).includes(status);
}

/** A probe for each, whatever the number of deliveries: from one pair of notification and channel to the next. */
export async function listOccurrenceChannels(db: Db, organizationId: number, occurrenceId: string) {
  const pair = sql`select notification_id, channel_id from deliveries
    where organization_id = ${organizationId} and occurrence_id = ${occurrenceId}
      and ${sql.raw(occurrenceInOnce)} = ${occurrenceId}`;
  const first = sql`order by notification_id, channel_id limit 1`;
  const { rows } = await sql<{ id: number; slug: string | null }>`
    with recursive pairs as (
      (${pair} ${first})
      union all
      select next.* from pairs p, lateral (
        ${pair} and (notification_id, channel_id) > (p.notification_id, p.channel_id) ${first}
      ) next
    )
    select distinct p.channel_id as id, c.slug from pairs p
    left join channels c on c.organization_id = ${organizationId} and c.id = p.channel_id`.execute(db);
  return rows;
}
