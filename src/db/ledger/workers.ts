/**
 * A worker's lease is a session advisory lock on a dedicated connection: it ends with the process. If the worker is frozen,
 * or its machine vanishes, the server ends the session, because no heartbeat arrives; if the server vanishes, the worker's
 * heartbeat notices. When the lock is gone, any other worker may settle what was left behind: see engine/deliver/fence.ts.
 */

import { sql } from 'kysely';
import type pg from 'pg';
import type { OccurrenceOutcome } from '../../core/decision/outcome.ts';
import { currentMoment, type Moment } from '../../lib/time/elapsed.ts';
import { type Db, toOptions, vanishedClients } from '../connection/pool.ts';
import { PrimaryClient, requireWritable } from '../connection/primary.ts';
import { inLedgerTransaction } from '../connection/transaction.ts';
import { countText, endedText } from './counts.ts';
import { addAttemptText, mayHaveArrivedText, type SettleResult } from './deliver/deliveries.ts';
import { carriedColumns, carryText, lockDigestOf, lockDigestsOfAcrossTenants } from './digests/digest-outcomes.ts';
import { firstPageText } from './first-pages.ts';
import { hasStatusText, outstandingText } from './status-text.ts';
import { completedColumns, completionEventsText } from './webhooks/events.ts';

/** The first half of the lock's key, "belf" in ASCII, to avoid conflicts with other programs. */
const lockClass = 0x62656c66;

export interface WorkerLease {
  id: number;
  /** When the last confirmation began: at that time, the lock was held. */
  readonly confirmedAt: Moment;
  /** Confirms the lease now. Rejects if it is lost. */
  confirm(): Promise<void>;
  end(): Promise<void>;
}

/** How long the server waits for the next heartbeat: longer than one heartbeat and the wait for its answer. */
const silenceMs = 12_000;

/** Takes a lease with a new worker id. `onLost` is called when its connection breaks. */
export async function acquireLease(
  url: string,
  onLost: (error: Error) => void,
  heartbeatMs = 5_000,
): Promise<WorkerLease> {
  const client = new PrimaryClient({
    connectionString: url,
    application_name: 'belfry worker',
    options: toOptions({ ...vanishedClients, idle_session_timeout: String(silenceMs) }),
    connectionTimeoutMillis: heartbeatMs,
    query_timeout: heartbeatMs,
    keepAlive: true,
  });
  let ended = false;
  let heartbeat: NodeJS.Timeout | undefined;
  const lost = (error: Error) => {
    if (ended) return;
    ended = true;
    clearInterval(heartbeat);
    client.end().catch(() => {});
    onLost(error);
  };
  client.on('error', lost);
  client.on('end', () => lost(new Error('the connection ended')));
  const end = async () => {
    ended = true;
    clearInterval(heartbeat);
    await client.end().catch(() => {});
  };
  let confirmedAt: Moment;
  let id: number;
  try {
    await client.connect();
    confirmedAt = currentMoment();
    const { rows } = await client.query<{ id: number }>(
      `select id::bigint as id from nextval('worker_ids') as id, pg_advisory_lock(${lockClass}, id::integer)`,
    );
    id = rows[0]!.id;
  } catch (error) {
    // What becomes of this connection later must not count for the next lease.
    end();
    throw error;
  }
  let confirming: Promise<void> | undefined;
  const confirmNow = async () => {
    const beganAt = currentMoment();
    await requireWritable(client).catch(error => {
      lost(error);
      throw error;
    });
    confirmedAt = beganAt;
  };
  const confirm = () => {
    confirming ??= confirmNow().finally(() => {
      confirming = undefined;
    });
    return confirming;
  };
  heartbeat = setInterval(() => confirm().catch(() => {}), heartbeatMs).unref();
  return {
    id,
    get confirmedAt() {
      return confirmedAt;
    },
    confirm,
    end,
  };
}

/**
 * Moves the work of lost leases to the worker's new one, so that recovery does not take it over. Returns the deliveries that
 * recovery has not taken over by now.
 */
export async function inheritAcrossTenants(pool: pg.Pool, former: number[], owner: number): Promise<Set<number>> {
  const { rows } = await pool.query<{ id: number }>(
    `with occurrences_kept as (
      update occurrences set owner = $2 where status = 'expanding' and owner = any($1::bigint[])
    ), steps_kept as (
      update steps set owner = $2 where status = 'waiting' and owner = any($1::bigint[])
    )
    update deliveries set owner = $2 where status = 'sending' and owner = any($1::bigint[]) returning id`,
    [former, owner],
  );
  return new Set(rows.map(({ id }) => id));
}

export async function noteRoundAcrossTenants(db: Db, workerId: number): Promise<void> {
  await sql`
    insert into worker_rounds as r (worker_id, finished_at) values (${workerId}, now())
    on conflict (worker_id) do update set finished_at = excluded.finished_at`.execute(db);
}

/** Deletes the rounds of workers that are gone. */
export async function deleteOldRoundsAcrossTenants(db: Db, before: Date): Promise<void> {
  await db.deleteFrom('worker_rounds').where('finished_at', '<', before).execute();
}

interface LiveWorker {
  id: number;
  /** Milliseconds since its last finished round, or since it started if it has finished none. */
  sinceRoundMs: number;
}

/** Returns the workers whose lock is held, with times by the database's clock. */
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

// Every worker runs this every few seconds, even when idle: it is prepared because planning was most of its cost.
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

/** Returns owners of unfinished work whose lock is not held. */
export async function listDeadWorkersAcrossTenants(pool: pg.Pool): Promise<number[]> {
  const { rows } = await pool.query<{ owner: number }>(listDead);
  return rows.map(row => row.owner);
}

const releaseOccurrences = {
  name: 'release_occurrences',
  text: `update occurrences set owner = null where status = 'expanding' and owner = $1`,
};

/** Releases the occurrences of a dead worker, to continue after the last committed page. */
export async function releaseOccurrencesAcrossTenants(pool: pg.Pool, owner: number): Promise<number> {
  const { rowCount } = await pool.query({ ...releaseOccurrences, values: [owner] });
  return rowCount!;
}

/**
 * Settles the deliveries of a dead worker, which may or may not have been sent. If the provider deduplicates, or the
 * channel says so, they are sent again under the same id; otherwise they become `unknown` for an operator to decide. So
 * do those that `maxDeaths` workers died with, however long they may be retried: a message that crashes every worker must not
 * be sent forever.
 */
export async function settleUnknownAcrossTenants(
  pool: pg.Pool,
  owner: number,
  dedupe: string[],
  maxDeaths: number,
): Promise<SettleResult> {
  return settleUnknown(pool, [owner, dedupe, maxDeaths]);
}

/** Marks all deliveries of a dead worker as `unknown`: after a restore, it is not on record what was sent. */
export async function holdUnknownAcrossTenants(pool: pg.Pool, owner: number): Promise<SettleResult> {
  return settleUnknown(pool, [owner, [], 0]);
}

async function settleUnknown(
  pool: pg.Pool,
  values: [owner: number, dedupe: string[], max: number],
): Promise<SettleResult> {
  return inLedgerTransaction(pool, async client => {
    await lockDigestsOfAcrossTenants(client, values[0]);
    const { rows } = await client.query<SettleResult>(settleUnknownText, values);
    return rows[0]!;
  });
}

const workerEnded = `'the worker ended before the answer came'`;

// A message that crashed its worker did so before it was handed over, so that is not an unknown attempt.
const settleUnknownText = `
    with settled as (
      update deliveries d set
        status = case when coalesce(d.worker_deaths, 0) + 1 >= $3 or exists (
            select from channels c where c.organization_id = d.organization_id and c.id = d.channel_id
              and c.on_unknown = 'hold' and (c.providers -> d.provider_index ->> 'use') <> all($2::text[]))
          then 'unknown' else 'retrying' end,
        reason = 'unknown', detail = ${workerEnded}, owner = null, due_at = now(),
        worker_deaths = coalesce(d.worker_deaths, 0) + 1,
        failed_attempts = case when d.crashes > 0 then d.failed_attempts
          else ${addAttemptText('now()', 'd.provider', `'unknown'`, workerEnded, 'null')} end
      from occurrences o
      where d.owner = $1 and d.status = 'sending' and o.organization_id = d.organization_id and o.id = d.occurrence_id
      returning ${carriedColumns}, o.event_id, o.due_at as since
    ), ${carryText('settled')}, ${countText('all_changed')}
    select count(*)::int as settled, ${endedText} as ended from settled`;

export interface CountedCrash {
  /** Whether the limit was reached. */
  isSetAside: boolean;
  /** Outcomes of occurrences that ended with it. */
  ended: OccurrenceOutcome[];
}

/** Counts a crash caused by expanding an occurrence. At the limit, it is set aside. */
export async function countOccurrenceCrash(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  max: number,
): Promise<CountedCrash> {
  const outstanding = `o.escalating + ${outstandingText('o')}`;
  const { rows } = await pool.query<CountedCrash>(
    `with crashed as (
      update occurrences o set crashes = o.crashes + 1, owner = null,
        status = case when o.crashes + 1 < $3 then o.status when ${outstanding} > 0 then 'sending' else 'completed' end,
        reason = case when o.crashes + 1 < $3 then o.reason else 'crashed' end,
        completed_at = case when o.crashes + 1 >= $3 and ${outstanding} = 0 then now() end,
        ${firstPageText({ isEnding: `o.crashes + 1 >= $3 and ${outstanding} = 0`, added: false })}
      where o.organization_id = $1 and o.id = $2 and o.status in ('accepted', 'expanding')
      returning ${completedColumns}, case when o.status = 'completed' then o.outcome end as outcome,
        o.crashes >= $3 as is_set_aside
    ), ${completionEventsText('crashed')}
    select is_set_aside as "isSetAside", array_remove(array[outcome], null) as ended from crashed`,
    [organizationId, id, max],
  );
  return rows[0] ?? { isSetAside: false, ended: [] };
}

/**
 * Counts a crash caused by sending a delivery. Below the limit its state does not change, and it is recovered like
 * everything else that the worker was sending.
 */
export async function countDeliveryCrash(
  pool: pg.Pool,
  organizationId: number,
  occurrenceId: string,
  id: number,
  max: number,
): Promise<CountedCrash> {
  return inLedgerTransaction(pool, async client => {
    await lockDigestOf(client, organizationId, occurrenceId, id);
    const values = [organizationId, occurrenceId, id, max];
    const { rows } = await client.query<CountedCrash>(countCrashText, values);
    return rows[0]!;
  });
}

const countCrashText = `
    with changed as (
      update deliveries d set crashes = d.crashes + 1,
        status = case when d.crashes + 1 < $4 then d.status when ${mayHaveArrivedText} then 'unknown' else 'failed' end,
        reason = case when d.crashes + 1 >= $4 then 'crashed' else d.reason end,
        owner = case when d.crashes + 1 >= $4 then null else d.owner end
      from occurrences o
      where d.organization_id = $1 and d.occurrence_id = $2 and d.id = $3 and ${hasStatusText('d', 'sending')}
        and o.organization_id = $1 and o.id = $2
      returning ${carriedColumns}, o.event_id, o.due_at as since
    ), ${carryText('changed')}, ${countText('all_changed')}
    select coalesce(bool_or(status <> 'sending'), false) as "isSetAside", ${endedText} as ended from changed`;
