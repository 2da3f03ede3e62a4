/**
 * Claims work round robin over organizations: each claim walks from one organization with work to the next by a loose
 * scan of the partial index (priority, organization, due), so that one tenant's large fan-out cannot delay another's
 * one-time code. The scan reads one row per organization, due or not, and never the rows that wait behind it.
 */
import type pg from 'pg';
import { columnsText } from './columns.ts';
import { stoppedText } from './moving-text.ts';
import { waitingList } from './status-text.ts';

export interface ClaimRequest {
  priority: number;
  /** The organization served last; 0: start from the beginning. */
  after: number;
  /** The maximum number of rows, shared evenly between organizations. */
  max: number;
  owner: number;
  /** The maximum number of rows per organization. */
  shares: Shares;
}

export interface Shares {
  defaultShare: number;
  byOrganization: Map<number, number>;
}

const maxOrganizations = 64;

/** The queues of the ledger: the table, and the predicate of the partial index for its waiting rows. */
export const queues = {
  /** Occurrences without any expanded page. */
  accepted: { table: 'occurrences', waiting: "status = 'accepted'" },
  /** Occurrences with further pages to expand, not claimed by a worker. */
  expanding: { table: 'occurrences', waiting: "status = 'expanding' and owner is null" },
  /** Runs of steps. */
  steps: { table: 'steps', waiting: "status = 'waiting' and owner is null" },
  deliveries: { table: 'deliveries', waiting: `status in ${waitingList}` },
} as const;

export type Queue = keyof typeof queues;

/** SQL text of `due(organization_id)`: the organizations with due work, in order, without `excluded` and moving ones. */
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
      where due_at <= now() and organization_id <> all(${excluded}) and organization_id <> all(${stoppedText})
      limit ${maxOrganizations}
    )`;
}

/** SQL text of `picked(…columns)`: the rows locked by this claim. Its parameters are those of `lockValues`. */
function pickText(queue: Queue, columns: readonly string[]): string {
  const { table, waiting } = queues[queue];
  return `with ${dueText(queue, '$1::smallint', '$2::bigint', '$4::bigint[]')}, share as materialized (
      select ceil($3::numeric / greatest(count(*), 1))::integer as rows from due
    ), picked as (
      select chosen.* from due, lateral (
        select ${columns.join(', ')} from ${table}
        where ${waiting} and priority = $1::smallint and organization_id = due.organization_id and due_at <= now()
        order by due_at
        limit least((select rows from share),
          coalesce(($6::integer[])[array_position($5::bigint[], due.organization_id)], $7::integer))
        for update skip locked
      ) chosen
      limit $3
    )`;
}

/** Returns SQL text: locks due rows until the transaction ends. */
export function lockText(queue: Queue, columns: readonly string[]): string {
  return `${pickText(queue, columns)} select * from picked`;
}

/** Rows of a queue to claim. */
interface Claim {
  queue: Queue;
  /** The alias of its table in `set` and `returning`. */
  alias: string;
  /** The primary key. */
  key: readonly string[];
  /** SQL text: what changes besides `owner`. */
  set?: string;
  /** SQL text. */
  returning: string;
  /** Whether the commit does not wait for the disk: for claims that are harmless to lose in a power cut. */
  isAsynchronous?: boolean;
}

/** Returns SQL text: claims due rows for their owner. Its parameters are those of `claimValues`. */
export function claimText({ queue, alias, key, set, returning, isAsynchronous }: Claim): string {
  const asynchronous = `asynchronous as materialized (select set_config('synchronous_commit', 'off', true))`;
  return `
    ${pickText(queue, key)}${isAsynchronous ? `, ${asynchronous}` : ''}
    update ${queues[queue].table} ${alias} set owner = $8${set ? `, ${set}` : ''}
    from picked${isAsynchronous ? ', asynchronous' : ''}
    where (${columnsText(alias, key)}) = (${columnsText('picked', key)})
    returning ${returning}`;
}

/** Returns the parameters of `claimText`. */
export function claimValues(request: ClaimRequest): unknown[] {
  return [...lockValues(request), request.owner];
}

/** Returns the parameters of `lockText`. */
export function lockValues({ priority, after, max, shares }: ClaimRequest): unknown[] {
  const listed = [...shares.byOrganization];
  const excluded = listed.filter(([, share]) => share <= 0).map(([organization]) => organization);
  return [
    priority,
    after,
    max,
    excluded,
    listed.map(([organization]) => organization),
    listed.map(([, share]) => share),
    shares.defaultShare,
  ];
}

const queueNames = Object.keys(queues) as Queue[];

const findDue = {
  name: 'find_due',
  text: queueNames
    .map(
      queue => `
      select '${queue}' as queue, p.priority::int as priority from unnest($1::smallint[]) as p (priority)
      where exists (with ${dueText(queue, 'p.priority', '0', "'{}'")} select from due)`,
    )
    .join('\n union all '),
};

/** Returns the queues and priority classes with due work, in one statement instead of a claim for each. */
export async function findDueAcrossTenants(
  pool: pg.Pool,
  priorities: number[],
): Promise<{ queue: Queue; priority: number }[]> {
  const { rows } = await pool.query<{ queue: Queue; priority: number }>({ ...findDue, values: [priorities] });
  return rows;
}

/** Returns which organization the next claim starts after, and whether this one took everything that was due. */
export function claimProgress(
  { after, max }: Pick<ClaimRequest, 'after' | 'max'>,
  claimed: { organization_id: number }[],
): { after: number; isDrained: boolean } {
  const organizations = new Set(claimed.map(one => one.organization_id));
  const isEnd = claimed.length < max && organizations.size < maxOrganizations;
  return {
    after: isEnd ? 0 : Math.max(...organizations),
    // Fewer rows than the smallest share, so no organization can have more.
    isDrained: isEnd && after === 0 && claimed.length < Math.ceil(max / maxOrganizations),
  };
}
