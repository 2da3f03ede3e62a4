/** How often keys, events and applications trigger, and the pause that follows when it is far more often than ever. */
import { CompiledQuery, sql } from 'kysely';
import { type PauseCause, rateDefaults } from '../../../core/decision/guards/rate-guard.ts';
import type { GuardedKind } from '../../configuration/pauses.ts';
import type { Db } from '../../connection/pool.ts';
import { guardMailsText } from '../../ledger/guard-mails.ts';
import { rateEventsText } from '../../ledger/webhooks/events.ts';

/** What one process has counted since it last stored it. */
export interface RateChange {
  organization_id: number;
  /** Of the key, event or application. */
  id: string;
  /** Triggers of the current minute: negative if they turn out to count elsewhere. */
  normal: number;
  urgent: number;
  /** Triggers of the current hour. */
  learned: number;
}

export interface StoredRate {
  organization_id: number;
  id: string;
  /** Of the current minute, by all processes. */
  normal: number;
  urgent: number;
  busiest: number | null;
  is_new: boolean;
  paused: boolean;
  cause: PauseCause | null;
}

const idOf = (kind: GuardedKind, value: string) => (kind === 'key' ? value : `${value}::bigint`);

const today = `date_trunc('day', now(), 'UTC')`;

// What is paused is not learned: it is no measure of what is usual.
const storeText = (kind: GuardedKind) => `
    with changes as materialized (
      select c.*, r.created_at, r.paused_at is not null as paused, case when r.paused_at is not null then r.pause_cause end as cause
      from json_to_recordset($1::json) as c (organization_id bigint, id text, normal integer, urgent integer, learned integer)
      join ${kind}s r on r.organization_id = c.organization_id and r.id = ${idOf(kind, 'c.id')}
    ), stored as (
      insert into trigger_rates as r (organization_id, kind, subject, day, hour, hour_count, minute, normal, urgent)
      select organization_id, '${kind}', id, ${today}, date_trunc('hour', now(), 'UTC'),
        case when paused then 0 else learned end, date_trunc('minute', now()), normal, urgent
      from changes order by 1, 3
      on conflict (organization_id, kind, subject, day) do update set
        busiest = case when r.hour = excluded.hour then r.busiest else greatest(r.busiest, r.hour_count) end,
        hour_count = case when r.hour = excluded.hour then r.hour_count else 0 end + excluded.hour_count,
        hour = excluded.hour,
        normal = case when r.minute = excluded.minute then r.normal else 0 end + excluded.normal,
        urgent = case when r.minute = excluded.minute then r.urgent else 0 end + excluded.urgent,
        minute = excluded.minute
      returning organization_id, subject, normal, urgent
    )
    select c.organization_id, c.id, s.normal, s.urgent, c.paused, c.cause,
      c.created_at > now() - interval '${rateDefaults.newHours} hours' as is_new,
      (select max(greatest(r.busiest, case when r.hour < date_trunc('hour', now(), 'UTC') then r.hour_count else 0 end))
        from trigger_rates r
        where r.organization_id = c.organization_id and r.kind = '${kind}' and r.subject = c.id
          and r.day > now() - interval '${rateDefaults.days} days') as busiest
    from changes c join stored s on s.organization_id = c.organization_id and s.subject = c.id`;

/** Adds to the rates of keys, events or applications of any organizations. Those that have been deleted are left out. */
export async function storeRatesAcrossTenants(
  db: Db,
  kind: GuardedKind,
  changes: readonly RateChange[],
): Promise<StoredRate[]> {
  const statement = CompiledQuery.raw(storeText(kind), [JSON.stringify(changes)]);
  return (await db.executeQuery<StoredRate>(statement)).rows;
}

interface GuardedPause {
  cause: PauseCause;
  reason: string;
  triggers: number;
  limit: number;
  /** Slugs; null: a key, which has a name. */
  path: string | null;
}

const pauseText = (kind: GuardedKind) => `
    with held as (
      update ${kind}s set paused_at = coalesce(paused_at, now()), paused_reason = $3, pause_cause = $4
      where organization_id = $1 and id = ${idOf(kind, '$2::text')}
        and (paused_at is null or pause_cause = 'guard.rate' and $4 = 'guard.rate_all')
      returning organization_id, name
    ), paused as (
      select organization_id, '${kind}' as kind, coalesce($5::text, name) as path from held
    ), ${rateEventsText('paused', `'urgent', $4::text = 'guard.rate_all', 'triggers', $6::int, 'limit', $7::bigint`)}, reported as (
      select organization_id, jsonb_build_object('kind', 'rate', 'noun', kind, 'path', path, 'reason', $3::text,
        'urgent', $4::text = 'guard.rate_all') as item from paused
    ), ${guardMailsText('reported', 'rates')}
    select path from paused`;

/** Pauses, queues `trigger.rate_high`, and mails owners. Returns the path; undefined if it is paused already. */
export async function pauseForRate(
  db: Db,
  organizationId: number,
  { kind, id }: { kind: GuardedKind; id: string },
  { cause, reason, triggers, limit, path }: GuardedPause,
): Promise<string | undefined> {
  const values = [organizationId, id, reason, cause, path, triggers, limit];
  const { rows } = await db.executeQuery<{ path: string }>(CompiledQuery.raw(pauseText(kind), values));
  return rows[0]?.path;
}

/**
 * Makes a rate that someone releases usual, as if an hour had been that busy: for what was paused, and for the events and applications
 * of what it holds, which would be paused next. Call it before anything is released.
 */
export async function acceptRate(db: Db, organizationId: number, kind: GuardedKind, id: string): Promise<void> {
  await sql`
    with rate as (
      select 60 * greatest(normal, urgent)::bigint as busiest from trigger_rates
      where organization_id = ${organizationId} and kind = ${kind} and subject = ${id} order by day desc limit 1
    ), held as (
      select distinct event_id, application_id from occurrences
      where organization_id = ${organizationId} and status in ('accepted', 'expanding') and due_at = 'infinity'
        and ${sql.ref(`${kind}_id`)} = ${id}
    ), subjects as (
      select ${kind}::text as kind, ${id}::text as subject
      union select 'event', event_id::text from held where ${kind} = 'key'
      union select 'application', application_id::text from held
    )
    insert into trigger_rates as r (organization_id, kind, subject, day, hour, minute, busiest)
    select ${organizationId}, kind, subject, ${sql.raw(today)}, date_trunc('hour', now(), 'UTC'), date_trunc('minute', now()), busiest
    from subjects, rate order by kind, subject
    on conflict (organization_id, kind, subject, day) do update set busiest = greatest(r.busiest, excluded.busiest)`.execute(
    db,
  );
}

/** Forgets a rate that someone drops: it is no measure of what is usual. */
export async function forgetRate(db: Db, organizationId: number, kind: GuardedKind, id: string): Promise<void> {
  await sql`
    update trigger_rates set normal = 0, urgent = 0, hour_count = 0
    where organization_id = ${organizationId} and kind = ${kind} and subject = ${id} and day >= ${sql.raw(today)} - interval '1 day'`.execute(
    db,
  );
}

/** Returns how many keys, events and applications of the whole installation the guard has paused. */
export async function countGuardedAcrossTenants(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select ((select count(*) from keys where pause_cause is not null and paused_at is not null)
      + (select count(*) from events where pause_cause is not null and paused_at is not null)
      + (select count(*) from applications where pause_cause is not null and paused_at is not null))::int as count`.execute(
    db,
  );
  return rows[0]!.count;
}

/** Deletes rates that count no more. */
export async function deleteOldRatesAcrossTenants(db: Db, before: Date): Promise<void> {
  await sql`delete from trigger_rates where day < ${before}`.execute(db);
}
