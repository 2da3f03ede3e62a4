/** Limits of providers per day, kept in the database so that all workers share them. A day begins at midnight UTC. */
import { sql } from 'kysely';
import type pg from 'pg';
import type { DayLimit } from '../../../core/decision/day-limit.ts';
import { priorities } from '../../../core/trigger.ts';
import type { Db } from '../../connection/pool.ts';
import { waitingList } from '../status-text.ts';

interface DayRequest extends DayLimit {
  channelId: number;
  provider: string;
  requested: number;
}

interface DayGrant {
  granted: number;
  /** Messages that may be sent on this day. */
  limit: number;
  /** When the next day begins, and the time until then. */
  endsAt: Date;
  endsInMs: number;
}

// The growth is capped at 100 days, so that the power never overflows.
const limitText = (day: string, firstDay: string) => `least($5::integer, floor($6::double precision
  * power($7::double precision, least(round(extract(epoch from ${day} - ${firstDay}) / 86400), 100)::double precision)))::integer`;
const usedText = 'case when d.day = excluded.day then d.used else 0 end';
const grantedText = `greatest(0, least($4::integer, ${limitText('excluded.day', 'd.first_day')} - ${usedText}))`;
const endText = `d.day + interval '24 hours'`;
const reserve = {
  name: 'reserve_day',
  text: `
    insert into provider_days as d (organization_id, channel_id, provider, day, used, first_day, granted)
    select $1::bigint, $2::bigint, $3::text, day, granted, day, granted
    from (select date_trunc('day', statement_timestamp(), 'UTC') as day) today,
      lateral (select least($4::integer, ${limitText('day', 'day')}) as granted) first
    on conflict (organization_id, channel_id, provider) do update
      set day = excluded.day, used = ${usedText} + ${grantedText}, granted = ${grantedText}
    returning granted, ${limitText('d.day', 'd.first_day')} as "limit", ${endText} as "endsAt",
      extract(epoch from ${endText} - statement_timestamp())::double precision * 1000 as "endsInMs"`,
};

/** Reserves messages of the current day, as far as the limit allows. Locks one row for a moment. */
export async function reserveMessagesOfDay(
  pool: pg.Pool,
  organizationId: number,
  { channelId, provider, requested, perDay, start, growth }: DayRequest,
): Promise<DayGrant> {
  const values = [organizationId, channelId, provider, requested, perDay, start, growth];
  const { rows } = await pool.query<DayGrant>({ ...reserve, values });
  return rows[0]!;
}

/** The others are due at midnight anyway. */
const maxReleased = 10_000;

/** Makes messages of a channel due that wait for the next day, because the limit may have been raised. */
export async function releaseDayLimited(db: Db, organizationId: number, channelId: number): Promise<void> {
  await sql`
    with waiting as (
      select occurrence_id, id from deliveries
      where organization_id = ${organizationId} and channel_id = ${channelId} and status in ${sql.raw(waitingList)}
        and priority = any(${priorities.map((_, i) => i)}::smallint[]) and reason = 'provider.day_limit'
        and due_at > now() and due_at <= now() + interval '24 hours'
      limit ${maxReleased} for update skip locked
    ), released as (
      update deliveries d set due_at = now() from waiting w
      where d.organization_id = ${organizationId} and d.occurrence_id = w.occurrence_id and d.id = w.id
      returning 1
    )
    select pg_notify('belfry_work', '') from (select from released limit 1) any_released`.execute(db);
}
