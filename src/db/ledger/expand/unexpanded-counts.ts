/**
 * The queue of occurrences that stopped before all recipients were expanded, and whose remaining recipients are counted. It is
 * nearly always empty, so that looking for work costs next to nothing.
 */
import type pg from 'pg';
import type { JsonObject } from '../../../core/json.ts';
import type { Cursor } from '../cursor.ts';
import { stoppedText } from '../moving-text.ts';

/** Where an expansion stopped. */
export interface Unexpanded {
  /** The start of the recipients that have yet to be counted; absent: there are none. */
  rest?: { cursor: Cursor | null };
  /** How many deliveries of the last page were left out. */
  count: number;
}

/** The value of `occurrences.unexpanded` for a number that is not known, or not yet. */
export const unknownCount = -1;

/** Records that an expansion stopped, in the transaction that stops it. */
export async function recordUnexpanded(
  client: pg.PoolClient,
  organizationId: number,
  id: string,
  { rest, count }: Unexpanded,
): Promise<void> {
  await client.query('update occurrences set unexpanded = $3 where organization_id = $1 and id = $2', [
    organizationId,
    id,
    rest ? unknownCount : count,
  ]);
  if (!rest) return;
  await client.query(
    `insert into unexpanded_counts (organization_id, occurrence_id, cursor, counted) values ($1, $2, $3, $4)
     on conflict do nothing returning pg_notify('belfry_stop', $1::bigint || ' ' || $2::uuid)`,
    [organizationId, id, rest.cursor && JSON.stringify(rest.cursor), count],
  );
}

/** A claim that a worker has not finished within this time is free again. */
const claimSeconds = 60;
/** Claims without a result, after which the number stays unknown. */
const maxClaims = 3;

export interface ClaimedCount {
  organization_id: number;
  id: string;
  claims: number;
  project_id: number;
  event_id: number;
  context: JsonObject;
  options: JsonObject;
  cursor: Cursor | null;
}

/** Claims one; undefined if there is none. One that was claimed too often without a result is given up. */
export async function claimUnexpandedAcrossTenants(pool: pg.Pool): Promise<ClaimedCount | undefined> {
  const { rows } = await pool.query<ClaimedCount>({
    name: 'claim_unexpanded',
    text: `
      with given_up as (
        delete from unexpanded_counts where claims >= ${maxClaims} and claimed_at < now() - interval '${claimSeconds} s'
      ), picked as (
        select organization_id, occurrence_id from unexpanded_counts
        where claims < ${maxClaims} and (claimed_at is null or claimed_at < now() - interval '${claimSeconds} s')
          and organization_id <> all(${stoppedText})
        order by occurrence_id limit 1 for update skip locked
      )
      update unexpanded_counts u set claims = u.claims + 1, claimed_at = now()
      from picked p left join occurrences o on o.organization_id = p.organization_id and o.id = p.occurrence_id
      where u.organization_id = p.organization_id and u.occurrence_id = p.occurrence_id
      returning u.organization_id, u.occurrence_id as id, u.cursor, u.claims, o.project_id, o.event_id, o.context, o.options`,
  });
  return rows[0];
}

/** Adds a page of a claimed occurrence. Without a cursor it was the last one: the number is then final. */
export async function storeUnexpandedPage(
  pool: pg.Pool,
  organizationId: number,
  { id, claims }: Pick<ClaimedCount, 'id' | 'claims'>,
  page: { count: number; cursor: Cursor | null },
): Promise<void> {
  const key = [organizationId, id, claims, page.count];
  if (page.cursor) {
    await pool.query(
      `update unexpanded_counts set counted = counted + $4, cursor = $5, claims = 0, claimed_at = null
       where organization_id = $1 and occurrence_id = $2 and claims = $3`,
      [...key, JSON.stringify(page.cursor)],
    );
    return;
  }
  await pool.query(
    `with done as (
       delete from unexpanded_counts where organization_id = $1 and occurrence_id = $2 and claims = $3
       returning counted + $4::integer as count
     )
     update occurrences o set unexpanded = done.count from done where o.organization_id = $1 and o.id = $2`,
    key,
  );
}
