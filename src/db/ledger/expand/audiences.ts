/** The largest audience of each event and day, and how many recipients a list or an organization has at most. */
import { sql } from 'kysely';
import type pg from 'pg';
import type { Db } from '../../connection/pool.ts';

export interface Audience {
  organizationId: number;
  eventId: number;
  /** Its beginning in UTC. */
  day: Date;
  recipients: number;
}

/** Stores audiences that are larger than those known of the same day. Events that have been deleted are left out. */
export async function storeAudiencesAcrossTenants(pool: pg.Pool, audiences: readonly Audience[]): Promise<void> {
  // Sorted, so that workers that store the same events cannot deadlock.
  const sorted = audiences.toSorted((a, b) => a.organizationId - b.organizationId || a.eventId - b.eventId);
  await pool.query(
    `insert into event_audiences as a (organization_id, event_id, day, largest)
     select n.organization_id, n.event_id, n.day, n.largest
     from unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::integer[]) as n (organization_id, event_id, day, largest)
     join events e on e.organization_id = n.organization_id and e.id = n.event_id
     on conflict (organization_id, event_id, day) do update set largest = excluded.largest where a.largest < excluded.largest`,
    [
      sorted.map(one => one.organizationId),
      sorted.map(one => one.eventId),
      sorted.map(one => one.day),
      sorted.map(one => one.recipients),
    ],
  );
}

const largest = {
  name: 'largest_audience',
  text: `select max(largest) as largest from event_audiences where organization_id = $1 and event_id = $2 and day >= $3`,
};

/** Returns the largest audience since a day; null if there was none. */
export async function findLargestAudience(
  pool: pg.Pool,
  organizationId: number,
  eventId: number,
  since: Date,
): Promise<number | null> {
  const values = [organizationId, eventId, since];
  const { rows } = await pool.query<{ largest: number | null }>({ ...largest, values });
  return rows[0]!.largest;
}

const listSize = {
  name: 'list_size',
  text: 'select members from distribution_lists where organization_id = $1 and project_id = $2 and name_key = $3',
};

/** Returns how many members a list has, active or not. */
export async function findListSize(
  pool: pg.Pool,
  organizationId: number,
  projectId: number,
  listKey: string,
): Promise<number> {
  const values = [organizationId, projectId, listKey];
  const { rows } = await pool.query<{ members: number }>({ ...listSize, values });
  return rows[0]?.members ?? 0;
}

const userCount = {
  name: 'count_users_up_to',
  text: 'select count(*)::int as count from (select from users where organization_id = $1 limit $2) counted',
};

/** Counts the users of an organization, up to `max`. */
export async function countUsersUpTo(pool: pg.Pool, organizationId: number, max: number): Promise<number> {
  const { rows } = await pool.query<{ count: number }>({ ...userCount, values: [organizationId, max] });
  return rows[0]!.count;
}

/** Deletes what is older than the history that counts. */
export async function deleteOldAudiencesAcrossTenants(db: Db, before: Date): Promise<void> {
  await sql`delete from event_audiences where day < ${before}`.execute(db);
}
