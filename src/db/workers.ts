/**
 * A worker's lease is a session advisory lock on a connection of its own: gone the moment the process dies, without
 * heartbeats or leases. Whose lock is gone, whoever looks may settle what it left behind.
 */

import { sql } from 'kysely';
import pg from 'pg';
import type { OccurrenceOutcome } from '../core/outcome.ts';
import { mostAttempts } from '../core/retry.ts';
import { countText, endedText } from './counts.ts';
import type { Settled } from './deliveries.ts';
import { carriedColumns, carryText, lockDigestOf, lockDigestsOfAcrossTenants } from './digest-outcomes.ts';
import type { Db } from './pool.ts';
import { outstandingText } from './status-text.ts';
import { inTransaction } from './transaction.ts';
import { completedColumns, completionEventsText } from './webhook-events.ts';

/** The first half of the lock's key: "belf" in ASCII, so that it is not taken for another program's. */
const lockClass = 0x62656c66;

export interface WorkerLease {
  id: number;
  end(): Promise<void>;
}

/** Takes a new identity; `onLost` tells that the database no longer believes in it. */
export async function acquireLease(url: string, onLost: (error: Error) => void): Promise<WorkerLease> {
  const client = new pg.Client({ connectionString: url, application_name: 'belfry worker', keepAlive: true });
  let ended = false;
  const lost = (error: Error) => {
    if (ended) return;
    ended = true;
    onLost(error);
  };
  client.on('error', lost);
  client.on('end', () => lost(new Error('the connection ended')));
  await client.connect();
  const { rows } = await client.query<{ id: number }>(
    `select id::bigint as id from nextval('worker_ids') as id, pg_advisory_lock(${lockClass}, id::integer)`,
  );
  return {
    id: rows[0]!.id,
    end: async () => {
      ended = true;
      await client.end().catch(() => {});
    },
  };
}

/** A worker that lost its lock and took a new identity goes on with what it had: nobody else may take that up. */
export async function inheritAcrossTenants(pool: pg.Pool, former: number[], owner: number): Promise<void> {
  await pool.query(
    `with occurrences_kept as (
      update occurrences set owner = $2 where status = 'expanding' and owner = any($1::bigint[])
    ), steps_kept as (
      update steps set owner = $2 where status = 'waiting' and owner = any($1::bigint[])
    )
    update deliveries set owner = $2 where status = 'sending' and owner = any($1::bigint[])`,
    [former, owner],
  );
}

export async function noteRoundAcrossTenants(db: Db, workerId: number): Promise<void> {
  await sql`
    insert into worker_rounds as r (worker_id, finished_at) values (${workerId}, now())
    on conflict (worker_id) do update set finished_at = excluded.finished_at`.execute(db);
}

/** Of workers that are gone. */
export async function deleteOldRoundsAcrossTenants(db: Db, before: Date): Promise<void> {
  await db.deleteFrom('worker_rounds').where('finished_at', '<', before).execute();
}

export interface LiveWorker {
  id: number;
  /** Since its last finished round; since it began, if it has finished none. */
  sinceRoundMs: number;
}

/** Those whose lock is held, by the database's clock. */
export async function listLiveWorkersAcrossTenants(db: Db): Promise<LiveWorker[]> {
  const { rows } = await sql<LiveWorker>`
    select l.objid::bigint as id, greatest(0, extract(epoch from
      clock_timestamp() - coalesce(r.finished_at, a.backend_start, clock_timestamp())) * 1000)::float8 as "sinceRoundMs"
    from pg_locks l
    left join pg_stat_activity a on a.pid = l.pid
    left join worker_rounds r on r.worker_id = l.objid::bigint
    where l.locktype = 'advisory' and l.classid = ${lockClass} and l.objsubid = 2 and l.granted
      and l.database = (select oid from pg_database where datname = current_database())
    order by 1`.execute(db);
  return rows;
}

// Asked every few seconds by every worker, also an idle one: planned each time, these were most of what one costs.
const listDead = {
  name: 'list_dead_workers',
  text: `
    with recursive owners as (
      (select owner from deliveries where status = 'sending' order by owner limit 1)
      union all
      select (select owner from deliveries where status = 'sending' and owner > owners.owner order by owner limit 1)
      from owners where owners.owner is not null
    )
    select owner from (
      select owner from owners where owner is not null
      union
      select owner from occurrences where status = 'expanding' and owner is not null
      union
      select owner from steps where status = 'waiting' and owner is not null
    ) busy
    where not exists (
      select from pg_locks
      where locktype = 'advisory' and classid = ${lockClass} and objid = busy.owner and objsubid = 2 and granted
        and database = (select oid from pg_database where datname = current_database())
    )`,
};

/** Owners of unfinished work whose lock nobody holds. */
export async function listDeadWorkersAcrossTenants(pool: pg.Pool): Promise<number[]> {
  const { rows } = await pool.query<{ owner: number }>(listDead);
  return rows.map(row => row.owner);
}

const releaseOccurrences = {
  name: 'release_occurrences',
  text: `update occurrences set owner = null where status = 'expanding' and owner = $1`,
};

/** Their occurrences are taken up where the last committed page left them. */
export async function releaseOccurrencesAcrossTenants(pool: pg.Pool, owner: number): Promise<number> {
  const { rowCount } = await pool.query({ ...releaseOccurrences, values: [owner] });
  return rowCount!;
}

/**
 * Their messages may or may not have left. Where the receiver can tell twins apart, or the channel says so, they are
 * sent again under the same identity; else they are kept as `unknown` for a person to decide. So is what has been tried
 * as often as anything is: a message that ends every worker must not go on for ever.
 */
export async function settleUnknownAcrossTenants(pool: pg.Pool, owner: number, dedupe: string[]): Promise<Settled> {
  return settleUnknown(pool, [owner, dedupe, mostAttempts]);
}

/** All of them are kept as `unknown`: of a restored database, where whatever followed is not on record. */
export async function holdUnknownAcrossTenants(pool: pg.Pool, owner: number): Promise<Settled> {
  return settleUnknown(pool, [owner, [], 0]);
}

async function settleUnknown(pool: pg.Pool, values: [owner: number, dedupe: string[], most: number]): Promise<Settled> {
  return inTransaction(pool, async client => {
    await lockDigestsOfAcrossTenants(client, values[0]);
    const { rows } = await client.query<Settled>(settleUnknownText, values);
    return rows[0]!;
  });
}

const settleUnknownText = `
    with settled as (
      update deliveries d set
        status = case when d.provider_attempts >= $3 or exists (
            select from channels c where c.organization_id = d.organization_id and c.id = d.channel_id
              and c.on_unknown = 'hold' and (c.providers -> d.provider_index ->> 'use') <> all($2::text[]))
          then 'unknown' else 'retrying' end,
        reason = 'unknown', detail = 'the worker ended before the answer came', owner = null, due_at = now()
      from occurrences o
      where d.owner = $1 and d.status = 'sending' and o.organization_id = d.organization_id and o.id = d.occurrence_id
      returning ${carriedColumns}, o.event_id, o.due_at as since
    ), ${carryText('settled')}, ${countText('all_changed')}
    select count(*)::int as settled, ${endedText} as ended from settled`;

export interface CountedCrash {
  /** It was the last time. */
  isSetAside: boolean;
  /** Outcomes of occurrences that came to their end with it. */
  ended: OccurrenceOutcome[];
}

/** Counts that expanding an occurrence has ended a worker; the last time, it is set aside. */
export async function countOccurrenceCrash(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  most: number,
): Promise<CountedCrash> {
  const outstanding = `o.escalating + ${outstandingText('o')}`;
  const { rows } = await pool.query<CountedCrash>(
    `with crashed as (
      update occurrences o set crashes = o.crashes + 1, owner = null,
        status = case when o.crashes + 1 < $3 then o.status when ${outstanding} > 0 then 'sending' else 'completed' end,
        reason = case when o.crashes + 1 < $3 then o.reason else 'crashed' end,
        completed_at = case when o.crashes + 1 >= $3 and ${outstanding} = 0 then now() end
      where o.organization_id = $1 and o.id = $2 and o.status in ('accepted', 'expanding')
      returning ${completedColumns}, case when o.status = 'completed' then o.outcome end as outcome,
        o.crashes >= $3 as is_set_aside
    ), ${completionEventsText('crashed')}
    select is_set_aside as "isSetAside", array_remove(array[outcome], null) as ended from crashed`,
    [organizationId, id, most],
  );
  return rows[0] ?? { isSetAside: false, ended: [] };
}

/** The same of sending a delivery. Below the limit it stays as it was, and is recovered like everything that the worker was sending. */
export async function countDeliveryCrash(
  pool: pg.Pool,
  organizationId: number,
  occurrenceId: string,
  id: number,
  most: number,
): Promise<CountedCrash> {
  return inTransaction(pool, async client => {
    await lockDigestOf(client, organizationId, occurrenceId, id);
    const values = [organizationId, occurrenceId, id, most];
    const { rows } = await client.query<CountedCrash>(countCrashText, values);
    return rows[0]!;
  });
}

const countCrashText = `
    with changed as (
      update deliveries d set crashes = d.crashes + 1,
        status = case when d.crashes + 1 >= $4 then 'failed' else d.status end,
        reason = case when d.crashes + 1 >= $4 then 'crashed' else d.reason end,
        owner = case when d.crashes + 1 >= $4 then null else d.owner end
      from occurrences o
      where d.organization_id = $1 and d.occurrence_id = $2 and d.id = $3 and d.status = 'sending'
        and o.organization_id = $1 and o.id = $2
      returning ${carriedColumns}, o.event_id, o.due_at as since
    ), ${carryText('changed')}, ${countText('all_changed')}
    select coalesce(bool_or(status = 'failed'), false) as "isSetAside", ${endedText} as ended from changed`;
