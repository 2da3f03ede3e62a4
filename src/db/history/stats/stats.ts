/**
 * Reads statistics. Every statement reads counters by hour or day, or does a bounded index scan; none counts the
 * history.
 */
import { type RawBuilder, sql } from 'kysely';
import { type EndedStatus, endedStatuses } from '../../../core/history/statuses.ts';
import { lowestUuidAt } from '../../../core/ids.ts';
import { priorities } from '../../../core/trigger.ts';
import type { Db } from '../../connection/pool.ts';
import { queues } from '../../ledger/round-robin.ts';
import { endedList } from '../../ledger/status-text.ts';
import { countsByStatus, sumsByStatus, zeros } from './stats-sums.ts';

export type CountsByStatus = Record<EndedStatus, number>;

const since = (hours: number) => sql`date_trunc('hour', now()) - make_interval(hours => ${hours - 1})`;

/** The hours up to the current one, and the part of them that is covered by hourly and by daily sums. */
interface StatisticsPeriod {
  from: Date;
  summed_hours: TimeRange;
  summed_days: TimeRange;
}

/** A half-open range: includes the first time, excludes the second. Empty when both are the same. */
type TimeRange = [Date, Date];

export async function findPeriod(db: Db, organizationId: number, hours: number): Promise<StatisticsPeriod> {
  const { rows } = await sql<{ from: Date; midnight: Date; until: Date }>`
    select s.from, greatest(s.from, u.until) as until,
      date_trunc('day', s.from + interval '24 hours' - interval '1 microsecond', 'UTC') as midnight
    from (select ${since(hours)} as from) s,
      (select max(until) as until from summed_stats where organization_id = ${organizationId}) u`.execute(db);
  const { from, midnight, until } = rows[0]!;
  return { from, summed_hours: [from, until], summed_days: midnight < until ? [midnight, until] : [from, from] };
}

const within = (organizationId: number, key: 'hour' | 'day', [from, until]: TimeRange) => sql`
  organization_id = ${organizationId} and ${sql.ref(key)} >= ${from} and ${sql.ref(key)} < ${until}`;

/** Rows of an hourly table that no sum covers. Two range scans of the index; an `or` would scan the whole table. */
const unsummedRows = (
  table: string,
  organizationId: number,
  { from }: StatisticsPeriod,
  [first, end]: TimeRange,
) => sql`(
  select * from ${sql.table(table)} where ${within(organizationId, 'hour', [from, first])}
  union all
  select * from ${sql.table(table)} where organization_id = ${organizationId} and hour >= ${end}
) besides`;

const columns = sql.join(endedStatuses.map(status => sql.ref(status)));

/** Lists only hours in which something happened. */
export async function listHourCounts(db: Db, organizationId: number, period: StatisticsPeriod) {
  const { rows } = await sql<{ hour: Date; triggers: number } & CountsByStatus>`
    select hour, triggers, ${columns} from hour_stats where ${within(organizationId, 'hour', period.summed_hours)}
    union all
    select hour, sum(triggers)::bigint, ${sumsByStatus} from (
      select hour, count as triggers, ${zeros} from ${unsummedRows('trigger_stats', organizationId, period, period.summed_hours)}
      union all
      select hour, 0, ${countsByStatus} from ${unsummedRows('delivery_stats', organizationId, period, period.summed_hours)} group by 1
    ) each (hour, triggers, ${columns}) group by hour`.execute(db);
  return rows;
}

/**
 * Lists what was triggered and ended since that time, in steps of minutes; only steps in which something happened. Reads the
 * rows themselves: the caller knows from the hourly counters that they are few.
 */
export async function listRecentCounts(db: Db, organizationId: number, from: Date, minutes: number) {
  const first = sql`${lowestUuidAt(from.getTime())}::uuid`;
  const step = (time: RawBuilder<unknown>) => sql`date_bin(make_interval(mins => ${minutes}), ${time}, ${from})`;
  const ended = sql`coalesce(d.sent_at, (d.failed_attempts -> -1 ->> 'at')::timestamptz, d.created_at)`;
  const counted = sql`o.organization_id = ${organizationId} and o.id >= ${first}
    and o.options ->> 'dry_run' is distinct from 'true'`;
  const { rows } = await sql<{ at: Date; triggers: number } & CountsByStatus>`
    select at, sum(triggers)::bigint as triggers, ${sumsByStatus} from (
      select ${step(sql`o.created_at`)}, o.triggers, ${zeros} from occurrences o where ${counted}
      union all
      select at, 0, ${countsByStatus} from (
        select ${step(ended)} as at, d.status, 1 as count from occurrences o
        join deliveries d on d.organization_id = o.organization_id and d.occurrence_id = o.id
        where ${counted} and d.status in ${sql.raw(endedList)}
      ) ended group by 1
    ) each (at, triggers, ${columns}) group by at`.execute(db);
  return rows;
}

/** Lists only channels with deliveries in the period. */
export async function listChannelCounts(db: Db, organizationId: number, period: StatisticsPeriod) {
  const { rows } = await sql<{ channel_id: number } & CountsByStatus>`
    select channel_id, ${sumsByStatus} from (
      select channel_id, ${columns} from channel_day_stats where ${within(organizationId, 'day', period.summed_days)}
      union all
      select channel_id, ${countsByStatus} from ${unsummedRows('delivery_stats', organizationId, period, period.summed_days)} group by 1
    ) each group by channel_id`.execute(db);
  return rows;
}

interface EventCounts extends CountsByStatus {
  path: string;
  triggers: number;
}

/**
 * Lists the events with the most triggers, then the most sent messages. Deleted events are left out. All events are
 * ranked by these two numbers, and only the busiest are counted in full. Sums use float8, which is exact up to 2^53 and
 * costs half as much as bigint.
 */
export async function listBusiestEvents(
  db: Db,
  organizationId: number,
  period: StatisticsPeriod,
  max: number,
): Promise<EventCounts[]> {
  const { rows } = await sql<{ id: number; path: string; triggers: number }>`
    select e.id, p.slug || '/' || a.slug || '/' || e.slug as path, ranked.triggers from (
      select event_id, sum(triggers::float8) as triggers, sum(sent::float8) as sent from (
        select event_id, triggers, sent from event_day_stats where ${within(organizationId, 'day', period.summed_days)}
        union all
        select event_id, count, 0 from ${unsummedRows('trigger_stats', organizationId, period, period.summed_days)}
        union all
        select event_id, 0, case when status = 'sent' then count else 0 end
        from ${unsummedRows('delivery_stats', organizationId, period, period.summed_days)}
      ) each group by event_id order by triggers desc, sent desc, event_id
    ) ranked
    join events e on e.organization_id = ${organizationId} and e.id = ranked.event_id
    join applications a on a.organization_id = e.organization_id and a.id = e.application_id
    join projects p on p.organization_id = a.organization_id and p.id = a.project_id
    order by ranked.triggers desc, ranked.sent desc, ranked.event_id limit ${max}`.execute(db);
  const ids = rows.map(row => row.id);
  const { rows: counted } = await sql<{ event_id: number } & CountsByStatus>`
    select event_id, ${sumsByStatus} from (
      select event_id, ${columns} from event_day_stats
      where ${within(organizationId, 'day', period.summed_days)} and event_id = any(${ids}::bigint[])
      union all
      select event_id, ${countsByStatus} from ${unsummedRows('delivery_stats', organizationId, period, period.summed_days)}
      where event_id = any(${ids}::bigint[]) group by 1
    ) each group by event_id`.execute(db);
  const none = Object.fromEntries(endedStatuses.map(status => [status, 0])) as CountsByStatus;
  const counts = new Map(counted.map(row => [row.event_id, row]));
  return rows.map(({ id, path, triggers }) => ({ ...none, ...counts.get(id), path, triggers }));
}

/** Lists counts by latency bucket, as numbered in src/core/history/latency.ts. */
export async function listLatencyCounts(db: Db, organizationId: number, period: StatisticsPeriod) {
  const { rows } = await sql<{ bucket: number; count: number }>`
    select bucket, sum(count)::bigint as count from (
      select bucket, count from latency_day_stats where ${within(organizationId, 'day', period.summed_days)}
      union all
      select bucket, count from ${unsummedRows('latency_stats', organizationId, period, period.summed_days)}
    ) each group by bucket`.execute(db);
  return rows;
}

interface ChannelName {
  id: number;
  slug: string;
  type: string;
  /** Slug of the project; null for a channel of the organization itself. */
  project: string | null;
}

export async function listChannelNames(db: Db, organizationId: number): Promise<ChannelName[]> {
  const { rows } = await sql<ChannelName>`
    select c.id, c.slug, c.type, p.slug as project from channels c
    left join projects p on p.organization_id = c.organization_id and p.id = c.project_id
    where c.organization_id = ${organizationId} order by c.id`.execute(db);
  return rows;
}

interface QueueSummary {
  /** Waiting deliveries, due or scheduled, plus due occurrences. All counts stop at `max`. */
  pending: number;
  /** Deliveries and occurrences that are due now. */
  due: number;
  /** Deliveries and occurrences that are due later. */
  scheduled: number;
  /** Due time of the oldest that is due. */
  oldest: Date | null;
}

/** Uses the indexes that claims use, one priority at a time, and reads each queue once: planning is the main cost. */
export async function summarizeQueue(db: Db, organizationId: number, max: number): Promise<QueueSummary> {
  const read = (queue: keyof typeof queues, isDue: boolean) => sql`(
    select ${isDue}::boolean as is_due, ${queue === 'deliveries'}::boolean as is_message, due_at
    from ${sql.table(queues[queue].table)}
    where ${sql.raw(queues[queue].waiting)} and organization_id = ${organizationId} and priority = c.priority
      and ${isDue ? sql`due_at <= now()` : sql`due_at > now() and due_at < 'infinity'`}
    order by due_at limit ${max})`;
  const due = [read('deliveries', true), read('accepted', true), read('expanding', true)];
  const later = [read('deliveries', false), read('accepted', false)];
  const { rows } = await sql<QueueSummary>`
    select least(count(*) filter (where is_due or is_message), ${max})::int as pending,
      least(count(*) filter (where is_due), ${max})::int as due,
      least(count(*) filter (where not is_due), ${max})::int as scheduled,
      min(due_at) filter (where is_due) as oldest
    from unnest(${priorities.map((_, i) => i)}::smallint[]) as c (priority),
      lateral (${sql.join([...due, ...later], sql` union all `)}) waiting`.execute(db);
  return rows[0]!;
}

/** Counts failed and unknown deliveries that have not been replayed. Stops at `max` in total. */
export async function countUnresolved(db: Db, organizationId: number, max: number) {
  const { rows } = await sql<{ failed: number; unknown: number }>`
    select count(*) filter (where status = 'failed')::int as failed,
      count(*) filter (where status = 'unknown')::int as unknown
    from (
      select status from deliveries where organization_id = ${organizationId} and status in ('failed', 'unknown')
      limit ${max}
    ) counted`.execute(db);
  return rows[0]!;
}

/** Stops counting at `max`. */
export async function countDisabledAddresses(db: Db, organizationId: number, max: number): Promise<number> {
  const { rows } = await sql<{ disabled: number }>`
    select count(*)::int as disabled from (
      select from addresses where organization_id = ${organizationId} and disabled_at is not null limit ${max}
    ) counted`.execute(db);
  return rows[0]!.disabled;
}
