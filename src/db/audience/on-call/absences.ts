/** Absences: when users are away. */
import { sql } from 'kysely';
import { absenceLimits } from '../../../core/oncall/absences.ts';
import type { PageRequest } from '../../connection/page.ts';
import type { Db } from '../../connection/pool.ts';

export interface AbsenceRow {
  id: number;
  /** Username. */
  user: string;
  starts_at: Date;
  ends_at: Date;
  reason: string | null;
  created_at: Date;
  created_by: string;
  /** Id of the calendar that it comes from. Null: entered by hand. */
  calendar: number | null;
}

const columns = sql`a.id, u.username as "user", a.starts_at, a.ends_at, a.reason, a.created_at, a.created_by,
  a.calendar_id as calendar`;

/** Lists the absences of users, by username, that overlap a time, earliest first. */
export async function listAbsences(
  db: Db,
  organizationId: number,
  usernames: readonly string[],
  from: Date,
  until: Date,
): Promise<AbsenceRow[]> {
  if (usernames.length === 0) return [];
  const { rows } = await sql<AbsenceRow>`
    select ${columns} from users u
    join absences a on a.organization_id = u.organization_id and a.user_id = u.id
    where u.organization_id = ${organizationId} and u.username = any(${[...usernames]}::text[])
      and a.ends_at > ${from} and a.starts_at < ${until}
    order by a.starts_at, a.id limit ${absenceLimits.shown}`.execute(db);
  return rows;
}

/**
 * Lists the absences of one user, newest first. The page starts below the id `after`; 0 is the beginning. `offset 0` makes the planner
 * read those of the user, instead of all of the organization in the order of ids.
 */
export async function listAbsencesOfUser(
  db: Db,
  organizationId: number,
  userId: number,
  { after, limit }: PageRequest,
): Promise<AbsenceRow[]> {
  const { rows } = await sql<AbsenceRow>`
    select ${columns} from (
      select * from (
        select * from absences
        where organization_id = ${organizationId} and user_id = ${userId} ${after > 0 ? sql`and id < ${after}` : sql``} offset 0
      ) own
      order by id desc limit ${limit}
    ) a
    join users u on u.organization_id = a.organization_id and u.id = a.user_id
    order by a.id desc`.execute(db);
  return rows;
}

export async function findAbsence(
  db: Db,
  organizationId: number,
  userId: number,
  id: number,
): Promise<AbsenceRow | undefined> {
  const { rows } = await sql<AbsenceRow>`
    select ${columns} from absences a
    join users u on u.organization_id = a.organization_id and u.id = a.user_id
    where a.organization_id = ${organizationId} and a.user_id = ${userId} and a.id = ${id}`.execute(db);
  return rows[0];
}

/** Counts absences that were entered by hand, and those of them that are not over. The user is locked first, so that concurrent requests do not exceed a limit. */
export async function countAbsences(
  db: Db,
  organizationId: number,
  userId: number,
): Promise<{ all: number; open: number }> {
  await sql`select from users where organization_id = ${organizationId} and id = ${userId} for no key update`.execute(
    db,
  );
  const { rows } = await sql<{ all: number; open: number }>`
    select count(*)::int as "all", (count(*) filter (where ends_at > now()))::int as open from absences
    where organization_id = ${organizationId} and user_id = ${userId} and calendar_id is null`.execute(db);
  return rows[0]!;
}

export async function deleteAbsence(db: Db, organizationId: number, userId: number, id: number): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('absences')
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
