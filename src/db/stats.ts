/** What the kept counters say. Every statement here reads rows by hour or day, or probes an index; none counts history. */
import { sql } from 'kysely';
import { type EndedStatus, endedStatuses } from '../core/statuses.ts';
import { priorities } from '../core/trigger.ts';
import type { Db } from './pool.ts';
import { countsByStatus, sumsByStatus, zeros } from './stats-sums.ts';
import { queues } from './turns.ts';

export type ByStatus = Record<EndedStatus, number>;

const since = (hours: number) => sql`date_trunc('hour', now()) - make_interval(hours => ${hours - 1})`;

/** Hours up to the present one, and which of them are summed, as hours and as whole days. */
export interface Span {
  from: Date;
  summed_hours: Stretch;
  summed_days: Stretch;
}

/** From the first up to, but not with, the second; the same twice where there is nothing. */
type Stretch = [Date, Date];

export async function findSpan(db: Db, organizationId: number, hours: number): Promise<Span> {
  const { rows } = await sql<{ from: Date; midnight: Date; until: Date }>`
    select s.from, greatest(s.from, u.until) as until,
      date_trunc('day', s.from + interval '24 hours' - interval '1 microsecond', 'UTC') as midnight
    from (select ${since(hours)} as from) s,
      (select max(until) as until from summed_stats where organization_id = ${organizationId}) u`.execute(db);
  const { from, midnight, until } = rows[0]!;
  return { from, summed_hours: [from, until], summed_days: midnight < until ? [midnight, until] : [from, from] };
}

const within = (organizationId: number, key: 'hour' | 'day', [from, until]: Stretch) => sql`
  organization_id = ${organizationId} and ${sql.ref(key)} >= ${from} and ${sql.ref(key)} < ${until}`;

/** Rows of a table by the hour that no sum covers. Two ranges, as an index reads them; an `or` would read all. */
const besides = (table: string, organizationId: number, { from }: Span, [first, end]: Stretch) => sql`(
  select * from ${sql.table(table)} where ${within(organizationId, 'hour', [from, first])}
  union all
  select * from ${sql.table(table)} where organization_id = ${organizationId} and hour >= ${end}
) besides`;

const columns = sql.join(endedStatuses.map(status => sql.ref(status)));

/** Only of hours in which something happened. */
export async function listHourCounts(
  db: Db,
  organizationId: number,
  span: Span,
): Promise<({ hour: Date; triggers: number } & ByStatus)[]> {
  const { rows } = await sql<{ hour: Date; triggers: number } & ByStatus>`
    select hour, triggers, ${columns} from hour_stats where ${within(organizationId, 'hour', span.summed_hours)}
    union all
    select hour, sum(triggers)::bigint, ${sumsByStatus} from (
      select hour, count as triggers, ${zeros} from ${besides('trigger_stats', organizationId, span, span.summed_hours)}
      union all
      select hour, 0, ${countsByStatus} from ${besides('delivery_stats', organizationId, span, span.summed_hours)} group by 1
    ) each (hour, triggers, ${columns}) group by hour`.execute(db);
  return rows;
}

/** Only of channels by which something was to be sent. */
export async function listChannelCounts(
  db: Db,
  organizationId: number,
  span: Span,
): Promise<({ channel_id: number } & ByStatus)[]> {
  const { rows } = await sql<{ channel_id: number } & ByStatus>`
    select channel_id, ${sumsByStatus} from (
      select channel_id, ${columns} from channel_day_stats where ${within(organizationId, 'day', span.summed_days)}
      union all
      select channel_id, ${countsByStatus} from ${besides('delivery_stats', organizationId, span, span.summed_days)} group by 1
    ) each group by channel_id`.execute(db);
  return rows;
}

export interface EventCounts extends ByStatus {
  path: string;
  triggers: number;
}

/**
 * Those with the most triggers, then the most messages; of events that have been deleted, nothing is left to name. All
 * events are ranked by two numbers, and only the busiest are counted in full. The sums are floating-point numbers, which
 * are exact up to 2^53 and cost half of what those of bigint do.
 */
export async function listBusiestEvents(
  db: Db,
  organizationId: number,
  span: Span,
  most: number,
): Promise<EventCounts[]> {
  const { rows } = await sql<{ id: number; path: string; triggers: number }>`
    select e.id, p.slug || '/' || a.slug || '/' || e.slug as path, ranked.triggers from (
      select event_id, sum(triggers::float8) as triggers, sum(sent::float8) as sent from (
        select event_id, triggers, sent from event_day_stats where ${within(organizationId, 'day', span.summed_days)}
        union all
        select event_id, count, 0 from ${besides('trigger_stats', organizationId, span, span.summed_days)}
        union all
        select event_id, 0, case when status = 'sent' then count else 0 end
        from ${besides('delivery_stats', organizationId, span, span.summed_days)}
      ) each group by event_id order by triggers desc, sent desc, event_id
    ) ranked
    join events e on e.organization_id = ${organizationId} and e.id = ranked.event_id
    join applications a on a.organization_id = e.organization_id and a.id = e.application_id
    join projects p on p.organization_id = a.organization_id and p.id = a.project_id
    order by ranked.triggers desc, ranked.sent desc, ranked.event_id limit ${most}`.execute(db);
  const ids = rows.map(row => row.id);
  const { rows: counted } = await sql<{ event_id: number } & ByStatus>`
    select event_id, ${sumsByStatus} from (
      select event_id, ${columns} from event_day_stats
      where ${within(organizationId, 'day', span.summed_days)} and event_id = any(${ids}::bigint[])
      union all
      select event_id, ${countsByStatus} from ${besides('delivery_stats', organizationId, span, span.summed_days)}
      where event_id = any(${ids}::bigint[]) group by 1
    ) each group by event_id`.execute(db);
  const none = Object.fromEntries(endedStatuses.map(status => [status, 0])) as ByStatus;
  const counts = new Map(counted.map(row => [row.event_id, row]));
  return rows.map(({ id, path, triggers }) => ({ ...none, ...counts.get(id), path, triggers }));
}

/** By bucket, as src/core/latency.ts numbers them. */
export async function listLatencyCounts(
  db: Db,
  organizationId: number,
  span: Span,
): Promise<{ bucket: number; count: number }[]> {
  const { rows } = await sql<{ bucket: number; count: number }>`
    select bucket, sum(count)::bigint as count from (
      select bucket, count from latency_day_stats where ${within(organizationId, 'day', span.summed_days)}
      union all
      select bucket, count from ${besides('latency_stats', organizationId, span, span.summed_days)}
    ) each group by bucket`.execute(db);
  return rows;
}

export interface ChannelName {
  id: number;
  slug: string;
  type: string;
  /** Slug; null for one of the organization itself. */
  project: string | null;
}

export async function listChannelNames(db: Db, organizationId: number): Promise<ChannelName[]> {
  const { rows } = await sql<ChannelName>`
    select c.id, c.slug, c.type, p.slug as project from channels c
    left join projects p on p.organization_id = c.organization_id and p.id = c.project_id
    where c.organization_id = ${organizationId} order by c.id`.execute(db);
  return rows;
}

export interface Queue {
  /** Messages that wait, for whatever time, and triggers that are due; counted no further than `most`. */
  pending: number;
  /** Of messages and triggers, those whose time has come, and those whose time is still to come; each no further than `most`. */
  due: number;
  scheduled: number;
  /** When the first of those that are due was due. */
  oldest: Date | null;
}

/** By the indexes that claims use, a class of priority at a time, each queue read once: planning is what this costs. */
export async function describeQueue(db: Db, organizationId: number, most: number): Promise<Queue> {
  const read = (queue: keyof typeof queues, isDue: boolean) => sql`(
    select ${isDue}::boolean as is_due, ${queue === 'deliveries'}::boolean as is_message, due_at
    from ${sql.table(queues[queue].table)}
    where ${sql.raw(queues[queue].waiting)} and organization_id = ${organizationId} and priority = c.priority
      and ${isDue ? sql`due_at <= now()` : sql`due_at > now() and due_at < 'infinity'`}
    order by due_at limit ${most})`;
  const due = [read('deliveries', true), read('accepted', true), read('expanding', true)];
  const later = [read('deliveries', false), read('accepted', false)];
  const { rows } = await sql<Queue>`
    select least(count(*) filter (where is_due or is_message), ${most})::int as pending,
      least(count(*) filter (where is_due), ${most})::int as due,
      least(count(*) filter (where not is_due), ${most})::int as scheduled,
      min(due_at) filter (where is_due) as oldest
    from unnest(${priorities.map((_, i) => i)}::smallint[]) as c (priority),
      lateral (${sql.join([...due, ...later], sql` union all `)}) waiting`.execute(db);
  return rows[0]!;
}

/** Deliveries that failed or whose outcome is unknown and that nobody has sent again since; no further than `most` of both. */
export async function countUnresolved(
  db: Db,
  organizationId: number,
  most: number,
): Promise<{ failed: number; unknown: number }> {
  const { rows } = await sql<{ failed: number; unknown: number }>`
    select count(*) filter (where status = 'failed')::int as failed,
      count(*) filter (where status = 'unknown')::int as unknown
    from (
      select status from deliveries where organization_id = ${organizationId} and status in ('failed', 'unknown')
      limit ${most}
    ) counted`.execute(db);
  return rows[0]!;
}

/** No further than `most`. */
export async function countDisabledAddresses(db: Db, organizationId: number, most: number): Promise<number> {
  const { rows } = await sql<{ disabled: number }>`
    select count(*)::int as disabled from (
      select from addresses where organization_id = ${organizationId} and disabled_at is not null limit ${most}
    ) counted`.execute(db);
  return rows[0]!.disabled;
}
