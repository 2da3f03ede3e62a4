/** Occurrences as people and the engine look at them, and what stops or repeats them. */
import { type RawBuilder, sql } from 'kysely';
import type pg from 'pg';
import { lowestUuidAt, uuidRange } from '../core/ids.ts';
import type { JsonObject } from '../core/json.ts';
import { type DeliveryStatus, type EndedStatus, endedStatuses, type OccurrenceStatus } from '../core/statuses.ts';
import { countText } from './counts.ts';
import { occurrenceInOnce } from './deliveries.ts';
import { cancelDigestItems, carriedDueAt } from './digest-items.ts';
import type { Db } from './pool.ts';
import type { Deliveries } from './types.ts';

/** What sending needs to know of an occurrence, as it is now. */
export interface OccurrenceFacts {
  organization_id: number;
  id: string;
  event_id: number;
  context: JsonObject;
  correlation_id: string | null;
  due_at: Date;
  expires_at: Date | null;
  cancelled_at: Date | null;
  created_at: Date;
}

const findOccurrences = {
  name: 'find_occurrences',
  text: `
    select o.organization_id, o.id, o.event_id, o.context, o.correlation_id, o.due_at, o.expires_at, o.cancelled_at,
      o.created_at
    from unnest($1::bigint[], $2::uuid[]) as wanted (organization_id, id)
    join occurrences o on o.organization_id = wanted.organization_id and o.id = wanted.id`,
};

export async function findOccurrencesAcrossTenants(
  pool: pg.Pool,
  wanted: { organizationId: number; id: string }[],
): Promise<OccurrenceFacts[]> {
  const values = [wanted.map(one => one.organizationId), wanted.map(one => one.id)];
  const { rows } = await pool.query<OccurrenceFacts>({ ...findOccurrences, values });
  return rows;
}

export interface Occurrence {
  identifier: string;
  /** prj/app/evt; null when the event has been deleted. */
  event: string | null;
  status: OccurrenceStatus;
  reason: string | null;
  /** Null where it waits for a pause to end. */
  due_at: Date | null;
  /** Whether it, or what is left of it, waits for something that is paused. */
  is_held: boolean;
  created_at: Date;
  completed_at: Date | null;
  correlation_id: string | null;
  counts: Counts;
}

/** By delivery status; `pending` is all that is not ended. */
export type Counts = Record<'pending' | 'sent' | 'failed' | 'suppressed' | 'cancelled' | 'expired' | 'unknown', number>;

const columns = sql`
  o.id as identifier, p.slug || '/' || a.slug || '/' || e.slug as event, o.status, o.reason, o.created_at, o.completed_at,
  o.correlation_id, nullif(o.due_at, 'infinity') as due_at,
  case when o.status in ('accepted', 'expanding') then o.due_at = 'infinity'
    when o.status = 'sending' then e.paused_at is not null or a.paused_at is not null or exists (
      -- The last of a fan-out are those that a pause finds waiting.
      select from (
        select d.status, d.due_at from deliveries d
        where d.organization_id = o.organization_id and d.occurrence_id = o.id order by d.id desc limit 100
      ) last where last.status = 'pending' and last.due_at = 'infinity')
    else false end as is_held,
  jsonb_build_object(
    'pending', o.deliveries - o.sent - o.failed - o.suppressed - o.cancelled - o.expired - o.unknown,
    'sent', o.sent, 'failed', o.failed, 'suppressed', o.suppressed, 'cancelled', o.cancelled, 'expired', o.expired,
    'unknown', o.unknown) as counts`;

export const places = sql`
  left join events e on e.organization_id = o.organization_id and e.id = o.event_id
  left join applications a on a.organization_id = o.organization_id and a.id = o.application_id
  left join projects p on p.organization_id = o.organization_id and p.id = o.project_id`;

export interface OccurrenceFilter {
  project?: string;
  application?: string;
  event?: string;
  status?: string;
  correlation_id?: string;
  /** What the identifier begins with, or the whole correlation id. */
  search?: string;
  since?: Date;
  until?: Date;
}

/** The newest first; `before` is the identifier of the last one seen, or empty. */
export async function listOccurrences(
  db: Db,
  organizationId: number,
  filter: OccurrenceFilter,
  page: { before: string; limit: number },
): Promise<Occurrence[]> {
  const place = await findPlace(db, organizationId, filter);
  if (place?.ids.length === 0) return [];
  const conditions = [
    sql`o.organization_id = ${organizationId}`,
    ...(page.before ? [sql`o.id < ${page.before}::uuid`] : []),
    ...(filter.since ? [sql`o.id >= ${lowestUuidAt(filter.since.getTime())}::uuid`] : []),
    ...(filter.until ? [sql`o.id < ${lowestUuidAt(filter.until.getTime())}::uuid`] : []),
    ...(place ? [sql`o.${sql.ref(`${place.noun}_id`)} = any(${place.ids}::bigint[])`] : []),
    ...(filter.status ? [sql`o.status = ${filter.status}`] : []),
    ...(filter.correlation_id ? [sql`o.correlation_id = ${filter.correlation_id}`] : []),
  ];
  // Each way of being found by an index of its own. Names are joined to the page alone.
  const ways = filter.search === undefined ? [sql`true`] : searchWays(filter.search);
  const found = ways.map(
    way => sql`(
      select * from occurrences o where ${sql.join([...conditions, way], sql` and `)}
      order by o.id desc limit ${page.limit})`,
  );
  const { rows } = await sql<Occurrence>`
    select ${columns} from (
      select * from (${sql.join(found, sql` union all `)}) found order by id desc limit ${page.limit}
    ) o ${places} order by o.id desc`.execute(db);
  return rows;
}

/** What the slugs of a filter name, as narrow as they tell; of the same slug there may be several. */
async function findPlace(
  db: Db,
  organizationId: number,
  { project, application, event }: OccurrenceFilter,
): Promise<{ noun: 'project' | 'application' | 'event'; ids: number[] } | undefined> {
  const noun = event ? 'event' : application ? 'application' : project ? 'project' : undefined;
  if (!noun) return undefined;
  const { rows } = await sql<{ id: number }>`
    select ${sql.ref(`${noun}s.id`)} from projects
    ${
      noun === 'project'
        ? sql``
        : sql`join applications on applications.organization_id = projects.organization_id
      and applications.project_id = projects.id`
    }
    ${
      noun === 'event'
        ? sql`join events on events.organization_id = applications.organization_id
      and events.application_id = applications.id`
        : sql``
    }
    where projects.organization_id = ${organizationId}
      ${project ? sql`and projects.slug = ${project}` : sql``}
      ${application ? sql`and applications.slug = ${application}` : sql``}
      ${event ? sql`and events.slug = ${event}` : sql``}`.execute(db);
  return { noun, ids: rows.map(row => row.id) };
}

function searchWays(search: string) {
  const correlated = sql`o.correlation_id = ${search}`;
  const range = uuidRange(search);
  if (!range) return [correlated];
  const identified = sql`o.id between ${range.from}::uuid and ${range.to}::uuid`;
  return [identified, sql`${correlated} and not (${identified})`];
}

export async function findOccurrence(
  db: Db,
  organizationId: number,
  id: string,
): Promise<(Occurrence & { context: JsonObject; options: JsonObject }) | undefined> {
  const { rows } = await sql<Occurrence & { context: JsonObject; options: JsonObject }>`
    select ${columns}, o.context, o.options from occurrences o ${places}
    where o.organization_id = ${organizationId} and o.id = ${id}`.execute(db);
  return rows[0];
}

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
  created_at: Date;
  sent_at: Date | null;
  next_attempt_at: Date | null;
  /** The digest that carries it; all of one digest went out as one message. */
  digest: string | null;
}

/** Of `deliveries d`, with the names that `deliveryNames` joins to it: null for what has been deleted. */
export const deliveryColumns = sql`
  d.id, u.username as user, d.address, c.slug as channel, n.name as notification, d.status, d.reason, d.detail,
  d.attempts, d.provider, d.created_at, d.sent_at,
  d.digest_id as digest,
  -- An item of a digest is due with it.
  case when d.status not in ('pending', 'retrying') or d.due_at = 'infinity' then null
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
>;

const deliveryParts = [
  'notification_id',
  'version',
  'channel_id',
  'user_id',
  'address',
  'wording',
  'user_version',
  'digest_id',
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

const endedList = sql.raw(endedStatuses.map(status => `'${status}'`).join(', '));

/**
 * What to look for, one search after the other; undefined when there is nothing. An occurrence may have a million
 * deliveries: what the filter names is looked up first, and what there is none of is known by the counts that are kept,
 * so that not all of them are read to find that out.
 */
async function narrow(
  db: Db,
  organizationId: number,
  occurrenceId: string,
  { status, user, channel }: DeliveryFilter,
): Promise<RawBuilder<unknown>[] | undefined> {
  if (!status && !user && !channel) return [sql`true`];
  const { rows } = await sql<Counts & { user_id: number | null }>`
    select o.deliveries - o.sent - o.failed - o.suppressed - o.cancelled - o.expired - o.unknown as pending,
      o.sent, o.failed, o.suppressed, o.cancelled, o.expired, o.unknown,
      (select id from users where organization_id = o.organization_id and username = ${user ?? null}) as user_id
    from occurrences o where o.organization_id = ${organizationId} and o.id = ${occurrenceId}`.execute(db);
  const known = rows[0];
  if (!known) return undefined;
  const conditions: RawBuilder<unknown>[] = [];
  if (status) {
    if (known[isEnded(status) ? status : 'pending'] <= 0) return undefined;
    conditions.push(sql`d.status = ${status}`);
  }
  if (channel) {
    const used = await listChannelsOf(db, organizationId, occurrenceId);
    const wanted = used.flatMap(({ id, slug }) => (slug === channel ? [id] : []));
    if (wanted.length === 0) return undefined;
    if (wanted.length < used.length) conditions.push(sql`d.channel_id = any(${wanted}::bigint[])`);
  }
  if (!user) return [sql.join([sql`true`, ...conditions], sql` and `)];
  if (known.user_id === null) return undefined;
  conditions.push(sql`d.user_id = ${known.user_id}`);
  // The index of users has what has ended.
  const open = known.pending > 0 ? [sql`d.status not in (${endedList})`] : [];
  return [sql`d.status in (${endedList})`, ...open].map(part => sql.join([part, ...conditions], sql` and `));
}

function isEnded(status: string): status is EndedStatus {
  return (endedStatuses as readonly string[]).includes(status);
}

/** A probe for each, whatever the number of deliveries: from one pair of notification and channel to the next. */
async function listChannelsOf(db: Db, organizationId: number, occurrenceId: string) {
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

/** Stops what is not sent yet; returns how many deliveries that were, or undefined when it has ended already. */
export async function cancelOccurrence(pool: pg.Pool, organizationId: number, id: string): Promise<number | undefined> {
  const { rows } = await pool.query<{ stopped: number; open: boolean }>(
    `with stopped as (
      update occurrences o set cancelled_at = now(), owner = null,
        status = case when o.status = 'sending' then o.status else 'completed' end,
        reason = case when o.status = 'sending' then o.reason else 'cancelled' end,
        completed_at = case when o.status = 'sending' then o.completed_at else now() end
      where o.organization_id = $1 and o.id = $2 and o.status in ('accepted', 'expanding', 'sending')
        and o.cancelled_at is null
      returning o.id
    ) select count(*) > 0 as open, 0 as stopped from stopped`,
    [organizationId, id],
  );
  if (!rows[0]!.open) return undefined;
  const items = await cancelDigestItems(pool, organizationId, id);
  const result = await pool.query<{ stopped: number }>(
    `with stopped as (
      update deliveries d set status = 'cancelled', reason = 'cancelled', owner = null
      from occurrences o
      where d.organization_id = $1 and d.occurrence_id = $2 and d.status in ('pending', 'retrying')
        and d.digest_id is null and o.organization_id = $1 and o.id = $2
      returning d.organization_id, d.occurrence_id, d.channel_id, d.status, o.event_id, o.due_at as since
    ), ${countText('stopped')}
    select count(*)::int as stopped from stopped`,
    [organizationId, id],
  );
  return items + result.rows[0]!.stopped;
}

/**
 * Failed and unknown deliveries are due again, from the first provider on; returns how many. What a digest carried goes by
 * itself: the others of it belong to other occurrences. An occurrence whose expansion
 * was set aside is expanded again.
 */
export async function replayOccurrence(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  /** Only this one. */
  deliveryId?: number,
): Promise<number> {
  const { rows } = await pool.query<{ replayed: number }>(
    `with before as (
      select id, status from deliveries
      where organization_id = $1 and occurrence_id = $2 and status in ('failed', 'unknown')
        and ($3::bigint is null or id = $3) for update
    ), again as (
      update deliveries d set status = 'pending', reason = null, detail = null, due_at = now(), crashes = 0,
        digest_id = null, provider_index = 0, provider_attempts = 0
      from before b where d.organization_id = $1 and d.occurrence_id = $2 and d.id = b.id
      returning b.status
    ), reopened as (
      update occurrences o set
        status = case
          when o.reason = 'crashed' and $3::bigint is null then case when o.cursor is null then 'accepted' else 'expanding' end
          when o.status = 'completed' then 'sending' else o.status end,
        completed_at = null, crashes = 0,
        reason = case when o.reason = 'crashed' and $3::bigint is null then null else o.reason end,
        due_at = case when o.reason = 'crashed' and $3::bigint is null then now() else o.due_at end,
        failed = o.failed - (select count(*) from again where status = 'failed'),
        unknown = o.unknown - (select count(*) from again where status = 'unknown')
      where o.organization_id = $1 and o.id = $2
        and (exists (select from again) or (o.reason = 'crashed' and $3::bigint is null))
    )
    select count(*)::int as replayed, pg_notify('belfry_work', '') from again`,
    [organizationId, id, deliveryId ?? null],
  );
  return rows[0]!.replayed;
}
