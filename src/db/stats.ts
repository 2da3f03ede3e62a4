/** What the kept counters say. Every statement here reads rows by hour, or probes an index; none counts history. */
import { sql } from 'kysely';
import { priorities } from '../core/trigger.ts';
import type { Db } from './pool.ts';

/** Of one hour, one channel or one event: the others are null. */
export interface StatusCount {
  hour: Date | null;
  channel_id: number | null;
  event_id: number | null;
  status: string;
  count: number;
}

const since = (hours: number) => sql`date_trunc('hour', now()) - make_interval(hours => ${hours - 1})`;

export async function listStatusCounts(db: Db, organizationId: number, hours: number): Promise<StatusCount[]> {
  const { rows } = await sql<StatusCount>`
    select hour, channel_id, event_id, status, sum(count)::bigint as count from delivery_stats
    where organization_id = ${organizationId} and hour >= ${since(hours)}
    group by grouping sets ((hour, status), (channel_id, status), (event_id, status))`.execute(db);
  return rows;
}

export interface TriggerCount {
  hour: Date | null;
  event_id: number | null;
  count: number;
}

export async function listTriggerCounts(db: Db, organizationId: number, hours: number): Promise<TriggerCount[]> {
  const { rows } = await sql<TriggerCount>`
    select hour, event_id, sum(count)::bigint as count from trigger_stats
    where organization_id = ${organizationId} and hour >= ${since(hours)}
    group by grouping sets ((hour), (event_id))`.execute(db);
  return rows;
}

/** By bucket, as src/core/latency.ts numbers them. */
export async function listLatencyCounts(
  db: Db,
  organizationId: number,
  hours: number,
): Promise<{ bucket: number; count: number }[]> {
  const { rows } = await sql<{ bucket: number; count: number }>`
    select bucket, sum(count)::bigint as count from latency_stats
    where organization_id = ${organizationId} and hour >= ${since(hours)} group by bucket`.execute(db);
  return rows;
}

/** The oldest first, the present one last; as the database cuts the hours. */
export async function listHours(db: Db, organizationId: number, hours: number): Promise<Date[]> {
  const { rows } = await sql<{ hour: Date }>`
    select hour from generate_series(${since(hours)}, date_trunc('hour', now()), interval '1 hour') as hour
    where ${organizationId}::bigint is not null`.execute(db);
  return rows.map(row => row.hour);
}

/** Those of the ids that are still there. */
export async function listEventPaths(
  db: Db,
  organizationId: number,
  ids: number[],
): Promise<{ id: number; path: string }[]> {
  const { rows } = await sql<{ id: number; path: string }>`
    select e.id, p.slug || '/' || a.slug || '/' || e.slug as path
    from events e
    join applications a on a.organization_id = e.organization_id and a.id = e.application_id
    join projects p on p.organization_id = a.organization_id and p.id = a.project_id
    where e.organization_id = ${organizationId} and e.id = any(${ids}::bigint[])`.execute(db);
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
  /** When the first of those that are due was due. */
  oldest: Date | null;
}

/** By the indexes that claims use, a class of priority at a time. */
export async function describeQueue(db: Db, organizationId: number, most: number): Promise<Queue> {
  const waits = sql`status in ('pending', 'retrying') and organization_id = ${organizationId}`;
  const accepted = sql`status = 'accepted' and organization_id = ${organizationId} and due_at <= now()`;
  const { rows } = await sql<Queue>`
    with classes as (select unnest(${priorities.map((_, i) => i)}::smallint[]) as priority)
    select
      (select count(*)::int from (
        select from classes c, lateral (
          (select from deliveries where ${waits} and priority = c.priority and due_at < 'infinity' limit ${most})
          union all
          (select from occurrences where ${accepted} and priority = c.priority limit ${most})
        ) each limit ${most}) counted) as pending,
      (select min(first.due_at) from classes c, lateral (
        (select due_at from deliveries where ${waits} and priority = c.priority and due_at <= now()
          order by due_at limit 1)
        union all
        (select due_at from occurrences where ${accepted} and priority = c.priority order by due_at limit 1)
      ) first) as oldest`.execute(db);
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

export interface Paused {
  kind: 'channel' | 'application' | 'event';
  path: string;
  since: Date;
}

/** The longest paused first. */
export async function listPaused(db: Db, organizationId: number): Promise<Paused[]> {
  const { rows } = await sql<Paused>`
    select 'channel' as kind, concat_ws('/', p.slug, c.slug) as path, c.paused_at as since from channels c
    left join projects p on p.organization_id = c.organization_id and p.id = c.project_id
    where c.organization_id = ${organizationId} and c.paused_at is not null
    union all
    select 'application', p.slug || '/' || a.slug, a.paused_at from applications a
    join projects p on p.organization_id = a.organization_id and p.id = a.project_id
    where a.organization_id = ${organizationId} and a.paused_at is not null
    union all
    select 'event', p.slug || '/' || a.slug || '/' || e.slug, e.paused_at from events e
    join applications a on a.organization_id = e.organization_id and a.id = e.application_id
    join projects p on p.organization_id = a.organization_id and p.id = a.project_id
    where e.organization_id = ${organizationId} and e.paused_at is not null
    order by since, path`.execute(db);
  return rows;
}
