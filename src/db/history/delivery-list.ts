/** Lists, filters and counts the deliveries of one occurrence, which may have a million of them. */
import { type RawBuilder, sql } from 'kysely';
import type { ExplainedDelivery } from '../../core/decision/explain.ts';
import type { VariantName } from '../../core/decision/guards/variants.ts';
import { runText } from '../../core/decision/steps.ts';
import { retryIntervalText } from '../../core/history/retries.ts';
import { type RefinedState, refinedStates } from '../../core/history/states.ts';
import { type EndedStatus, endedStatuses } from '../../core/history/statuses.ts';
import { pauseReasonText } from '../configuration/pauses.ts';
import type { Db } from '../connection/pool.ts';
import type { Deliveries } from '../connection/types.ts';
import { occurrenceInOnce } from '../ledger/deliver/deliveries.ts';
import { carriedDueAt } from '../ledger/digests/digest-items.ts';
import { endedList, openList, outstandingText, waitingList } from '../ledger/status-text.ts';
import { conditionOfState, isComplained, isRetracted } from './delivery-states.ts';
import type { Counts } from './occurrences.ts';

export interface DeliveryView extends ExplainedDelivery {
  id: number;
  user: string | null;
  notification: string | null;
  provider: string | null;
  /** Number of the step's run; null when the delivery belongs to no step. */
  step: number | null;
  /** Whether this is a notification that the occurrence was resolved. */
  resolved: boolean;
  /** Whether it was reported as spam, or removed, after it was sent. */
  is_complained: boolean;
  is_retracted: boolean;
  created_at: Date;
}

/** A held delivery has the reason of its pause; what a provider answered before is in its attempts. */
const detail = sql`
  case when d.status <> 'pending' or d.due_at <> 'infinity' then d.detail
    when d.reason = 'channel.paused' then c.paused_reason
    when d.reason = 'channel.bulk_paused' then c.bulk_paused_reason
    when d.reason in ('event.paused', 'guard.rate') then (
      select ${sql.raw(pauseReasonText('ho'))} from occurrences ho where ho.organization_id = d.organization_id and ho.id = d.occurrence_id)
  end`;

/** Columns of `deliveries d` and of the joins in `deliveryNames`; names of deleted resources are null. */
export const deliveryColumns = sql`
  d.id, u.username as user, d.address, c.slug as channel, n.name as notification, d.status, d.reason, ${detail} as detail,
  d.attempts, d.provider, case when d.step > 0 then ${sql.raw(runText('d.step'))} end as step, d.step < 0 as resolved, d.variant, d.created_at, d.sent_at,
  d.digest_id as digest, ${isComplained} as is_complained, ${isRetracted} as is_retracted,
  -- A digest item is due when its digest closes.
  case when d.status not in ${sql.raw(waitingList)} or d.due_at = 'infinity' then null
    when d.digest_id is null or d.due_at < timestamptz '9999-01-01' then d.due_at
    else (select nullif(g.closes_at, 'infinity') from digests g
      where g.organization_id = d.organization_id and g.id = d.digest_id) end as next_attempt_at,
  -- The expiry of the occurrence ends the retries, too.
  case when d.status = 'retrying' and d.retry_since is not null then least(
    d.retry_since + ${sql.raw(retryIntervalText)},
    (select o.expires_at from occurrences o where o.organization_id = d.organization_id and o.id = d.occurrence_id)
  ) end as retry_until`;

export const deliveryNames = sql`
  left join users u on u.organization_id = d.organization_id and u.id = d.user_id
  left join channels c on c.organization_id = d.organization_id and c.id = d.channel_id
  left join notifications n on n.organization_id = d.organization_id and n.id = d.notification_id`;

export type DeliveryRenderInput = Pick<
  Deliveries,
  'notification_id' | 'version' | 'channel_id' | 'user_id' | 'address' | 'snapshot_id' | 'user_version' | 'digest_id'
> & { step: number; created_at: Date; variant: VariantName | null };

const renderInputColumns = [
  ...(['notification_id', 'version', 'channel_id', 'user_id', 'address', 'snapshot_id', 'user_version'] as const),
  ...(['step', 'digest_id', 'created_at', 'variant'] as const),
] as const;

/** Finds what the message of a delivery is rendered from. */
export async function findDelivery(db: Db, organizationId: number, occurrenceId: string, id: number) {
  return db
    .selectFrom('deliveries')
    .select(renderInputColumns)
    .$narrowType<{ variant: VariantName | null }>()
    .where('organization_id', '=', organizationId)
    .where('occurrence_id', '=', occurrenceId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Finds the carrier delivery of a digest: the other deliveries of the digest are never due on their own. */
export async function findDigestCarrier(db: Db, organizationId: number, digestId: string) {
  return db
    .selectFrom('deliveries')
    .select(['occurrence_id', ...renderInputColumns])
    .$narrowType<{ variant: VariantName | null }>()
    .where('organization_id', '=', organizationId)
    .where('digest_id', '=', digestId)
    .where('due_at', '<>', carriedDueAt)
    .limit(1)
    .executeTakeFirst();
}

export interface DeliveryFilter {
  status?: string;
  state?: RefinedState;
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
  const conditions = await findConditions(db, organizationId, occurrenceId, filter);
  if (!conditions) return [];
  const found = conditions.map(
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

/** Groups in order of urgency. Suppressed deliveries are in none of them: `listSuppressedReasons` counts those. */
const attentionGroups: { condition: RawBuilder<unknown>; count: (counts: Counts) => number }[] = [
  { condition: sql`d.status in ('failed', 'unknown')`, count: ({ failed, unknown }) => failed + unknown },
  { condition: sql`d.status in ${sql.raw(openList)}`, count: ({ pending }) => pending },
  {
    condition: sql`d.status in ('sent', 'cancelled', 'expired')`,
    count: ({ sent, cancelled, expired }) => sent + cancelled + expired,
  },
];

interface AttentionDelivery extends DeliveryView {
  /** Index of its group in `attentionGroups`. */
  group: number;
}

/** Lists deliveries that need attention first: failed ones, then open ones, then the rest. */
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
  for (let group = after.group; counted[0] && group < attentionGroups.length && found.length < limit; group++) {
    const { condition, count } = attentionGroups[group]!;
    // Skips empty groups, which would otherwise read all deliveries of the occurrence.
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

interface SuppressedReason {
  reason: string;
  count: number;
}

/** Lists the reasons of suppressed deliveries with a loose index scan. Each count stops at `max`. */
export async function listSuppressedReasons(
  db: Db,
  organizationId: number,
  occurrenceId: string,
  max: number,
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
      select count(*)::int from (select from deliveries where ${own} and reason = r.reason limit ${max}) counted) as count
    from reasons r where r.reason is not null order by count desc, r.reason`.execute(db);
  return rows;
}

const countColumns = sql`
  ${sql.raw(outstandingText('o'))} as pending,
  o.sent, o.failed, o.suppressed, o.cancelled, o.expired, o.unknown`;

/**
 * Turns a filter into one condition per subquery, or undefined when nothing can match. An occurrence may have a million
 * deliveries: names are resolved first, and the stored counts show which statuses are absent, so that a search without
 * results does not read all of them.
 */
async function findConditions(
  db: Db,
  organizationId: number,
  occurrenceId: string,
  { state, status = state && refinedStates[state], reason, user, channel }: DeliveryFilter,
): Promise<RawBuilder<unknown>[] | undefined> {
  if (!status && !reason && !user && !channel) return [sql`true`];
  const { rows } = await sql<Counts & { user_id: number | null }>`
    select ${countColumns},
      (select id from users where organization_id = o.organization_id and username = ${user ?? null}) as user_id
    from occurrences o where o.organization_id = ${organizationId} and o.id = ${occurrenceId}`.execute(db);
  const occurrence = rows[0];
  if (!occurrence) return undefined;
  const conditions: RawBuilder<unknown>[] = [];
  if (status) {
    if (occurrence[isEnded(status) ? status : 'pending'] <= 0) return undefined;
    conditions.push(sql`d.status = ${status}`);
  }
  if (state) conditions.push(conditionOfState(state));
  if (reason) conditions.push(sql`d.reason = ${reason}`);
  if (channel) {
    const used = await listOccurrenceChannels(db, organizationId, occurrenceId);
    const matching = used.flatMap(({ id, slug }) => (slug === channel ? [id] : []));
    if (matching.length === 0) return undefined;
    if (matching.length < used.length) conditions.push(sql`d.channel_id = any(${matching}::bigint[])`);
  }
  if (!user) return [sql.join([sql`true`, ...conditions], sql` and `)];
  if (occurrence.user_id === null) return undefined;
  conditions.push(sql`d.user_id = ${occurrence.user_id}`);
  // Only ended deliveries are in the users' index.
  const open = occurrence.pending > 0 ? [sql`d.status not in ${sql.raw(endedList)}`] : [];
  return [sql`d.status in ${sql.raw(endedList)}`, ...open].map(part => sql.join([part, ...conditions], sql` and `));
}

function isEnded(status: string): status is EndedStatus {
  return (endedStatuses as readonly string[]).includes(status);
}

/** Lists the channels of an occurrence with a loose index scan: one probe per pair of notification and channel. */
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
