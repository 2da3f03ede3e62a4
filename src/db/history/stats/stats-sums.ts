/**
 * Daily sums of the hourly counters. Senders only write the hourly counters; a finished day is summed once, in the same
 * transaction that moves `until` past it, so a reader takes each hour either from the sums or from the counters, never
 * both.
 */
import { sql } from 'kysely';
import { endedStatuses } from '../../../core/history/statuses.ts';
import type { Db } from '../../connection/pool.ts';
import { stoppedText } from '../../ledger/moving-text.ts';

/** All statistics tables, each with its time column. */
export const statisticsTables = [
  ['delivery_stats', 'hour'],
  ['trigger_stats', 'hour'],
  ['latency_stats', 'hour'],
  ['hour_stats', 'hour'],
  ['event_day_stats', 'day'],
  ['channel_day_stats', 'day'],
  ['latency_day_stats', 'day'],
  ['service_levels', 'day'],
  ['summed_stats', null],
] as const;

/** An organization with days to sum. Days start at midnight UTC, whatever the time zone of the connection. */
interface UnsummedOrganization {
  id: number;
  /** The first day to sum; null when nothing was ever counted. */
  from: Date | null;
}

/** Lists the organizations that are not summed up to that time. */
export async function listUnsummedAcrossTenants(db: Db, until: Date): Promise<UnsummedOrganization[]> {
  const first = (table: string) =>
    sql`(select min(hour) from ${sql.table(table)} where organization_id = o.id and hour < ${until})`;
  const { rows } = await sql<UnsummedOrganization>`
    select o.id, coalesce(s.until, date_trunc('day',
      least(${first('delivery_stats')}, ${first('trigger_stats')}, ${first('latency_stats')}), 'UTC')) as from
    from organizations o left join summed_stats s on s.organization_id = o.id
    where (s.until is null or s.until < ${until}) and o.id <> all(${sql.raw(stoppedText)}) order by o.id`.execute(db);
  return rows;
}

/** Moves the end of the summed days from `from` to `until`. Returns false when another process has moved it already. */
export async function advanceSummedUntil(db: Db, organizationId: number, from: Date, until: Date): Promise<boolean> {
  const { rows } = await sql`
    insert into summed_stats (organization_id, until) values (${organizationId}, ${until})
    on conflict (organization_id) do update set until = excluded.until where summed_stats.until = ${from}
    returning until`.execute(db);
  return rows.length > 0;
}

const columns = sql.join(endedStatuses.map(status => sql.ref(status)));
export const zeros = sql.join(endedStatuses.map(() => sql`0::bigint`));
/** Sums by status, for a table with one row per status. */
export const countsByStatus = sql.join(
  endedStatuses.map(
    status => sql`coalesce(sum(count) filter (where status = ${sql.lit(status)}), 0)::bigint as ${sql.ref(status)}`,
  ),
);
/** Sums by status, for a table with one column per status. */
export const sumsByStatus = sql.join(
  endedStatuses.map(status => sql`sum(${sql.ref(status)})::bigint as ${sql.ref(status)}`),
);

export async function sumDay(db: Db, organizationId: number, day: Date, end: Date): Promise<void> {
  const within = sql`organization_id = ${organizationId} and hour >= ${day} and hour < ${end}`;
  const both = (key: string) => sql`(
    select ${sql.ref(key)}, sum(count)::bigint as triggers, ${zeros} from trigger_stats where ${within} group by 1
    union all
    select ${sql.ref(key)}, 0, ${countsByStatus} from delivery_stats where ${within} group by 1
  ) each (${sql.ref(key)}, triggers, ${columns})`;
  await sql`
    insert into hour_stats (organization_id, hour, triggers, ${columns})
    select ${organizationId}, hour, sum(triggers), ${sumsByStatus} from ${both('hour')} group by hour`.execute(db);
  await sql`
    insert into event_day_stats (organization_id, day, event_id, triggers, ${columns})
    select ${organizationId}, ${day}, event_id, sum(triggers), ${sumsByStatus} from ${both('event_id')}
    group by event_id`.execute(db);
  await sql`
    insert into channel_day_stats (organization_id, day, channel_id, ${columns})
    select ${organizationId}, ${day}, channel_id, ${countsByStatus} from delivery_stats
    where ${within} group by channel_id`.execute(db);
  await sql`
    insert into latency_day_stats (organization_id, day, bucket, count)
    select ${organizationId}, ${day}, bucket, sum(count) from latency_stats where ${within} group by bucket`.execute(
    db,
  );
}
