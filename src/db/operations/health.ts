/** The state of the database server and the backlog of all tenants. */
import { type RawBuilder, sql } from 'kysely';
import { priorities } from '../../core/trigger.ts';
import { type Db, sqlState } from '../connection/pool.ts';
import { type Queue, queues } from '../ledger/round-robin.ts';

export async function describeServerAcrossTenants(db: Db): Promise<{ version: string; now: Date }> {
  const { rows } = await sql<{ version: string; now: Date }>`
    select current_setting('server_version') as version, clock_timestamp() as now`.execute(db);
  return rows[0]!;
}

/** How long the oldest due work of a priority class has been waiting. */
export interface OldestDue {
  priority: number;
  ms: number;
}

/** Counts due work per priority class, up to `max` per queue, so that a backlog of millions stays cheap to count. */
export async function countDueAcrossTenants(db: Db, max: number): Promise<{ priority: number; count: number }[]> {
  const counts = Object.values(queues).flatMap(({ table, waiting }) =>
    [...priorities.keys()].map(
      priority => sql`
        select ${priority}::int as priority, count(*)::int as count from (
          select due_at from ${sql.table(table)} where ${sql.raw(waiting)} and priority = ${priority} limit ${max}
        ) waiting where due_at <= now()`,
    ),
  );
  return db.transaction().execute(async trx => {
    await forceIndexes(trx);
    const { rows } = await sql<{ priority: number; count: number }>`
      select priority, sum(count)::int as count from (${sql.join(counts, sql` union all `)}) counted
      group by priority order by priority`.execute(trx);
    return rows;
  });
}

/** Leaves the planner nothing but ordered index scans, for this transaction. */
async function forceIndexes(trx: Db): Promise<void> {
  await sql`
    select set_config(name, 'off', true)
    from unnest(array['enable_seqscan', 'enable_bitmapscan', 'enable_sort', 'enable_hashagg', 'jit']) as name`.execute(
    trx,
  );
}

/**
 * Returns the age of the oldest due work of each priority class that has any. A loose index scan reads one row per
 * organization with waiting work, whatever the size of the backlog. The planner underestimates the number of waiting rows,
 * so index scans are forced: see `indexScansOnly`.
 */
export async function listOldestDueAcrossTenants(db: Db): Promise<OldestDue[]> {
  const heads = (queue: Queue) => {
    const { table, waiting } = queues[queue];
    const head = (after: RawBuilder<unknown>) => sql`
      select priority, organization_id, due_at from ${sql.table(table)} where ${sql.raw(waiting)} ${after}
      order by priority, organization_id, due_at limit 1`;
    const next = sql`and (priority, organization_id) > (walked.priority, walked.organization_id)`;
    return sql`
      with recursive walked as (
        (${head(sql``)}) union all select following.* from walked, lateral (${head(next)}) following
      )
      select priority, due_at from walked where due_at <= now()`;
  };
  return db.transaction().execute(async trx => {
    await forceIndexes(trx);
    const { rows } = await sql<OldestDue>`
      select priority, (extract(epoch from now() - min(due_at)) * 1000)::float8 as ms from (
        (${heads('accepted')}) union all (${heads('expanding')}) union all (${heads('deliveries')})
      ) due group by priority order by priority`.execute(trx);
    return rows;
  });
}

/**
 * Returns whether PostgreSQL cannot write a file for want of room. It sorts more than fits into its memory, which writes a
 * temporary file of about 300 kB, and leaves nothing behind.
 */
export async function isDiskFullAcrossTenants(db: Db): Promise<boolean> {
  try {
    await db.transaction().execute(async trx => {
      await sql`set local work_mem = '64kB'`.execute(trx);
      await sql`select max(n) from (select n, md5(n::text) as text from generate_series(1, 5000) n order by 2 offset 0) sorted`.execute(
        trx,
      );
    });
    return false;
  } catch (error) {
    if (sqlState(error) === '53100') return true;
    throw error;
  }
}
