/** Facts about the database itself, whoever's data it holds. */
import { type RawBuilder, sql } from 'kysely';
import { priorities } from '../core/trigger.ts';
import type { Db } from './pool.ts';
import { type Queue, queues } from './turns.ts';

export async function describeServerAcrossTenants(db: Db): Promise<{ version: string; now: Date }> {
  const { rows } = await sql<{ version: string; now: Date }>`
    select current_setting('server_version') as version, clock_timestamp() as now`.execute(db);
  return rows[0]!;
}

/** For each class of priority that has something due, for how long the first of it has been. */
export interface Overdue {
  priority: number;
  ms: number;
}

/** What is due of each class, counted no further than `most` for each queue: a backlog of millions costs no more. */
export async function countDueAcrossTenants(db: Db, most: number): Promise<{ priority: number; count: number }[]> {
  const counts = Object.values(queues).flatMap(({ table, waiting }) =>
    [...priorities.keys()].map(
      priority => sql`
        select ${priority}::int as priority, count(*)::int as count from (
          select due_at from ${sql.table(table)} where ${sql.raw(waiting)} and priority = ${priority} limit ${most}
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

async function forceIndexes(trx: Db): Promise<void> {
  await sql`
    select set_config(name, 'off', true)
    from unnest(array['enable_seqscan', 'enable_bitmapscan', 'enable_sort', 'enable_hashagg', 'jit']) as name`.execute(
    trx,
  );
}

/**
 * By a loose scan of the indexes that claims use: one row of each organization that has something waiting, however much
 * that is. The planner is left no choice, because it underrates what waits: see `byIndexAlone`.
 */
export async function listOverdueAcrossTenants(db: Db): Promise<Overdue[]> {
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
    const { rows } = await sql<Overdue>`
      select priority, (extract(epoch from now() - min(due_at)) * 1000)::float8 as ms from (
        (${heads('accepted')}) union all (${heads('expanding')}) union all (${heads('deliveries')})
      ) due group by priority order by priority`.execute(trx);
    return rows;
  });
}
