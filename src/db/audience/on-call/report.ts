/** What users were sent and did about incidents of a time, for reports. */
import { type RawBuilder, sql } from 'kysely';
import { lowestUuidAt } from '../../../core/ids.ts';
import { dayMs } from '../../../core/oncall/zone.ts';
import type { Db } from '../../connection/pool.ts';
import { endedList } from '../../ledger/status-text.ts';

interface Span {
  since: Date;
  until: Date;
}

interface Selection extends Span {
  project?: { id: number } | undefined;
  limit: number;
}

/** How long before it is sent a page can have been triggered. */
const triggeredMs = 30 * dayMs;

const idsOf = (column: RawBuilder<unknown>, from: number, until: Date) => sql`
  ${column} >= ${lowestUuidAt(from)}::uuid and ${column} < ${lowestUuidAt(until.getTime())}::uuid`;
const ofProject = (project: { id: number } | undefined) => (project ? sql`and o.project_id = ${project.id}` : sql``);

/**
 * Lists the messages about incidents that users were sent: those of steps, and of occurrences with a `dedup_key`. `offset 0` makes
 * the planner read the ended deliveries of each user, instead of all of the organization in that time.
 */
export async function listPages(
  db: Db,
  organizationId: number,
  usernames: readonly string[],
  { since, until, project, limit }: Selection,
): Promise<{ username: string; sent_at: Date }[]> {
  const ids = idsOf(sql.ref('d.occurrence_id'), since.getTime() - triggeredMs, until);
  const { rows } = await sql<{ username: string; sent_at: Date }>`
    select u.username, d.sent_at
    from users u
    cross join lateral (
      select d.occurrence_id, d.sent_at, d.step from deliveries d
      where d.user_id = u.id and d.status in ${sql.raw(endedList)} and d.organization_id = ${organizationId} and ${ids}
        and d.status = 'sent' and d.step >= 0 and d.sent_at >= ${since} and d.sent_at < ${until}
      offset 0
    ) d
    join occurrences o on o.organization_id = ${organizationId} and o.id = d.occurrence_id
    where u.organization_id = ${organizationId} and u.username = any(${usernames}::text[])
      and (d.step > 0 or o.dedup_key is not null) ${ofProject(project)}
    limit ${limit}`.execute(db);
  return rows;
}

/** Lists who acknowledged and resolved the occurrences that were triggered in a time, in the order of each one's responses. */
export async function listResponses(
  db: Db,
  organizationId: number,
  { since, until, project, limit }: Selection,
): Promise<{ occurrence_id: string; kind: 'acknowledged' | 'resolved'; at: Date; by: string }[]> {
  const inTime = (id: string) => idsOf(sql.ref(id), since.getTime(), until);
  // With the times of both, PostgreSQL 15 does not read all occurrences of the project.
  const occurrences = sql`
    join occurrences o on o.organization_id = r.organization_id and o.id = r.occurrence_id and ${inTime('o.id')}`;
  const { rows } = await sql<{ occurrence_id: string; kind: 'acknowledged' | 'resolved'; at: Date; by: string }>`
    select r.occurrence_id, r.kind, r.at, r.by
    from responses r ${project ? occurrences : sql``}
    where r.organization_id = ${organizationId} and ${inTime('r.occurrence_id')}
      and r.kind in ('acknowledged', 'resolved') and r.by is not null ${ofProject(project)}
    order by r.occurrence_id, r.number
    limit ${limit}`.execute(db);
  return rows;
}

/** Returns the names of users, and the time zone of each: that of the organization if the user has none. */
export async function findDutyZones(
  db: Db,
  organizationId: number,
  usernames: readonly string[],
): Promise<{ username: string; first_name: string; last_name: string; timezone: string | null }[]> {
  const { rows } = await sql<{ username: string; first_name: string; last_name: string; timezone: string | null }>`
    select u.username, u.first_name, u.last_name, coalesce(u.timezone, o.timezone) as timezone
    from users u join organizations o on o.id = u.organization_id
    where u.organization_id = ${organizationId} and u.username = any(${usernames}::text[])`.execute(db);
  return rows;
}
