/**
 * Organizations take turns: each claim walks from one organization with work to the next by a loose scan of the partial
 * index (priority, organization, due), so that one tenant's blast cannot hold up another's one-time code. The walk looks
 * at one row of each organization, due or not, and never at what waits for later.
 */
export interface Turn {
  priority: number;
  /** The organization served last; 0 to begin anew. */
  after: number;
  /** How many rows at the most, shared evenly. */
  most: number;
  owner: number;
  /** Organizations that have so much under way that they are left out. */
  busy: number[];
}

const mostOrganizations = 64;

/** SQL text of `picked(organization_id, …keys)`: rows locked for this claim. $1 priority, $2 after, $3 most, $5 busy. */
export function pickByTurns(table: string, waiting: string, keys: string): string {
  const next = (after: string) => `
      select organization_id, due_at from ${table}
      where ${waiting} and priority = $1::smallint and organization_id > ${after}
      order by organization_id, due_at limit 1`;
  return `
    recursive turns as (
      (${next('$2::bigint')})
      union all
      select following.* from turns, lateral (${next('turns.organization_id')}) following
    ), due as (
      select organization_id from turns where due_at <= now() and organization_id <> all($5::bigint[]) limit ${mostOrganizations}
    ), picked as (
      select chosen.* from due, lateral (
        select organization_id, ${keys} from ${table}
        where ${waiting} and priority = $1::smallint and organization_id = due.organization_id and due_at <= now()
        order by due_at
        limit (select ceil($3::numeric / greatest(count(*), 1))::bigint from due)
        for update skip locked
      ) chosen
      limit $3
    )`;
}

/** How turns go on after a claim: after which organization, and whether it has taken all that was due. */
export function goOn(
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
