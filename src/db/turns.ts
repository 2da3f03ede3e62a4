/**
 * Organizations take turns: each claim walks from one organization with work to the next by a loose scan of the partial
 * index (priority, organization, due), so that one tenant's blast cannot hold up another's one-time code. The walk looks
 * at one row of each organization, due or not, and never at what waits for later.
 */
import type pg from 'pg';
import { waitingList } from './status-text.ts';

export interface Turn {
  priority: number;
  /** The organization served last; 0 to begin anew. */
  after: number;
  /** How many rows at the most, shared evenly. */
  most: number;
  owner: number;
  /** How many rows of an organization at the most: of those named here their own number, of any other `usual`. */
  shares: Shares;
}

export interface Shares {
  usual: number;
  byOrganization: Map<number, number>;
}

const mostOrganizations = 64;

/** The kinds of work that wait in the ledger: which table, and the predicate of the partial index that finds them. */
export const queues = {
  /** Occurrences of which nothing has been expanded yet. */
  accepted: { table: 'occurrences', waiting: "status = 'accepted'" },
  /** Occurrences with more pages of recipients to come, which no worker has at the moment. */
  expanding: { table: 'occurrences', waiting: "status = 'expanding' and owner is null" },
  /** Runs of steps. */
  steps: { table: 'steps', waiting: "status = 'waiting' and owner is null" },
  deliveries: { table: 'deliveries', waiting: `status in ${waitingList}` },
} as const;

export type Queue = keyof typeof queues;

/** SQL text of `due(organization_id)`: who has something due, in turns, but for the `excluded`. */
function dueText(queue: Queue, priority: string, after: string, excluded: string): string {
  const { table, waiting } = queues[queue];
  const next = (last: string) => `
      select organization_id, due_at from ${table}
      where ${waiting} and priority = ${priority} and organization_id > ${last}
      order by organization_id, due_at limit 1`;
  return `
    recursive turns as (
      (${next(after)})
      union all
      select following.* from turns, lateral (${next('turns.organization_id')}) following
    ), due as (
      select organization_id from turns
      where due_at <= now() and organization_id <> all(${excluded}) limit ${mostOrganizations}
    )`;
}

/** SQL text of `picked(…columns)`: rows locked for this claim. Its parameters are `turnValues`. */
export function pickByTurns(queue: Queue, columns: string): string {
  const { table, waiting } = queues[queue];
  return `
    ${dueText(queue, '$1::smallint', '$2::bigint', '$4::bigint[]')}, share as materialized (
      select ceil($3::numeric / greatest(count(*), 1))::integer as rows from due
    ), picked as (
      select chosen.* from due, lateral (
        select ${columns} from ${table}
        where ${waiting} and priority = $1::smallint and organization_id = due.organization_id and due_at <= now()
        order by due_at
        limit least((select rows from share),
          coalesce(($6::integer[])[array_position($5::bigint[], due.organization_id)], $7::integer))
        for update skip locked
      ) chosen
      limit $3
    )`;
}

/** The first seven parameters of a claim. */
export function turnValues({ priority, after, most, shares }: Turn): unknown[] {
  const some = [...shares.byOrganization];
  const full = some.filter(([, share]) => share <= 0).map(([organization]) => organization);
  return [
    priority,
    after,
    most,
    full,
    some.map(([organization]) => organization),
    some.map(([, share]) => share),
    shares.usual,
  ];
}

const kinds = Object.keys(queues) as Queue[];

const findDue = {
  name: 'find_due',
  text: kinds
    .map(
      queue => `
      select '${queue}' as queue, p.priority::int as priority from unnest($1::smallint[]) as p (priority)
      where exists (with ${dueText(queue, 'p.priority', '0', "'{}'")} select from due)`,
    )
    .join('\n union all '),
};

/** Where something is due: one statement, also when nothing is, instead of a claim for each queue and class. */
export async function findDueAcrossTenants(
  pool: pg.Pool,
  priorities: number[],
): Promise<{ queue: Queue; priority: number }[]> {
  const { rows } = await pool.query<{ queue: Queue; priority: number }>({ ...findDue, values: [priorities] });
  return rows;
}

/** How turns go on after a claim: after which organization, and whether it has taken all that was due. */
export function nextTurn(
  { after, most }: Pick<Turn, 'after' | 'most'>,
  claimed: { organization_id: number }[],
): { after: number; isAll: boolean } {
  const organizations = new Set(claimed.map(one => one.organization_id));
  const isEnd = claimed.length < most && organizations.size < mostOrganizations;
  return {
    after: isEnd ? 0 : Math.max(...organizations),
    // Fewer than the smallest share: nobody can have had more.
    isAll: isEnd && after === 0 && claimed.length < Math.ceil(most / mostOrganizations),
  };
}
