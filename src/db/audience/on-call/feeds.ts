/** What addresses of calendar feeds are signed with. */
import { sql } from 'kysely';
import type { CalendarFeed } from '../../../core/message/recipient-links.ts';
import type { Db } from '../../connection/pool.ts';

type FeedOwner = Pick<CalendarFeed, 'of' | 'id'>;

interface FeedRow {
  /** Of the schedule, or of the user. */
  name: string;
  generation: number;
  /** Of the schedule. */
  project_id: number | null;
  slug: string | null;
}

const schedule = sql`name, calendar_generation as generation, project_id, slug`;
const user = sql`username as name, calendar_generation as generation, null::bigint as project_id, null as slug`;

/** Returns undefined if there is none, or the user is locked. */
export async function findFeedOwner(
  db: Db,
  organizationId: number,
  { of, id }: FeedOwner,
): Promise<FeedRow | undefined> {
  const { rows } = await (of === 'schedule'
    ? sql<FeedRow>`select ${schedule} from schedules where organization_id = ${organizationId} and id = ${id}`
    : sql<FeedRow>`select ${user} from users where organization_id = ${organizationId} and id = ${id} and not locked`
  ).execute(db);
  return rows[0];
}

/** Revokes the addresses that were handed out. */
export async function incrementCalendarGeneration(
  db: Db,
  organizationId: number,
  { of, id }: FeedOwner,
): Promise<void> {
  await sql`
    update ${sql.table(of === 'schedule' ? 'schedules' : 'users')} set calendar_generation = calendar_generation + 1
    where organization_id = ${organizationId} and id = ${id}`.execute(db);
}
