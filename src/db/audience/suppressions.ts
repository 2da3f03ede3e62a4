/** The suppression list. An expired entry counts as absent everywhere; maintenance deletes it later. */
import { sql } from 'kysely';
import type { Suppression, SuppressionReason } from '../../core/audience/suppressions.ts';
import { fold } from '../../core/text/text.ts';
import type { PageRequest } from '../connection/page.ts';
import type { Db, Statements } from '../connection/pool.ts';

export interface SuppressionRow {
  id: number;
  channel_type: string;
  target: string;
  reason: SuppressionReason;
  source: string;
  detail: string | null;
  since: Date;
  expires_at: Date | null;
  /** Slugs of the projects whose channels it stops; null: all channels. */
  projects: string[] | null;
}

export interface NewSuppression extends Omit<SuppressionRow, 'id' | 'since' | 'projects'> {
  /** Ids of the projects whose channels it stops; null: all channels. */
  projects: number[] | null;
  /** The reported event that caused the entry; null if none did. */
  feedback_id: string | null;
}

export interface SuppressionFilter {
  channel_type?: string | undefined;
  reason?: SuppressionReason | undefined;
  /** Prefix of the target. */
  search?: string | undefined;
}

const columns = sql`s.id, channel_type, target, reason, source, detail, since, expires_at, case when projects is not null
  then array(select slug from projects p where p.organization_id = s.organization_id and p.id = any(s.projects) order by 1)
  end as projects`;
const isCurrent = sql`(expires_at is null or expires_at > now())`;
/** Sorts after every string that starts with the text it is appended to. */
const highestCharacter = '\u{10ffff}';

const startsWith = (prefix: string) => sql`target >= ${prefix} and target < ${prefix + highestCharacter}`;

/** Returns a page of entries, newest first. */
export async function listSuppressions(
  db: Db,
  organizationId: number,
  { channel_type, reason, search }: SuppressionFilter,
  { after, limit }: PageRequest,
): Promise<SuppressionRow[]> {
  const { rows } = await sql<SuppressionRow>`
    select ${columns} from suppressions s
    where organization_id = ${organizationId} and ${isCurrent}
      and ${after > 0 ? sql`id < ${after}` : sql`true`}
      and ${channel_type ? sql`channel_type = ${channel_type}` : sql`true`}
      and ${reason ? sql`reason = ${reason}` : sql`true`}
      and ${search ? sql`(${startsWith(search)} or ${startsWith(fold(search))})` : sql`true`}
    order by id desc limit ${limit}`.execute(db);
  return rows;
}

export async function findSuppression(db: Db, organizationId: number, id: number): Promise<SuppressionRow | undefined> {
  const { rows } = await sql<SuppressionRow>`
    select ${columns} from suppressions s
    where organization_id = ${organizationId} and id = ${id} and ${isCurrent}`.execute(db);
  return rows[0];
}

interface AddedSuppression extends SuppressionRow {
  /** Whether the entry is new; else its expiry was extended. */
  is_new: boolean;
}

/**
 * Adds entries and returns those that changed anything. An existing entry keeps everything but its expiry, which only
 * becomes later, and its projects, which only become more. Must run inside a transaction. Two entries of the input must not have the same target and channel type.
 */
export async function addSuppressions(
  db: Db,
  organizationId: number,
  entries: readonly NewSuppression[],
): Promise<AddedSuppression[]> {
  // In the order of the unique key, so that concurrent transactions never deadlock.
  const given = sql`json_to_recordset(${JSON.stringify(entries)}::json) as given (channel_type text, target text,
    reason text, source text, detail text, expires_at timestamptz, feedback_id text, projects bigint[])`;
  await sql`
    delete from suppressions s using ${given}
    where s.organization_id = ${organizationId} and s.target = given.target collate "C"
      and s.channel_type = given.channel_type and s.expires_at <= now()`.execute(db);
  const { rows } = await sql<AddedSuppression>`
    insert into suppressions as s (organization_id, channel_type, target, reason, source, detail, expires_at, feedback_id,
      projects)
    select ${organizationId}, channel_type, target, reason, source, detail, expires_at, feedback_id, projects
    from ${given} order by target collate "C", channel_type
    on conflict (organization_id, target, channel_type) do update set
        expires_at = case when s.expires_at < coalesce(excluded.expires_at, 'infinity')
          then excluded.expires_at else s.expires_at end,
        projects = case when s.projects is not null and excluded.projects is not null
          then array(select distinct unnest(s.projects || excluded.projects)) end
      where s.expires_at < coalesce(excluded.expires_at, 'infinity') or not s.projects @> coalesce(excluded.projects, '{0}')
    returning ${columns}, s.xmax = 0 as is_new`.execute(db);
  return rows;
}

export async function deleteSuppression(db: Db, organizationId: number, id: number): Promise<void> {
  await db.deleteFrom('suppressions').where('organization_id', '=', organizationId).where('id', '=', id).execute();
}

/** Removes the entry of an address that channels of projects reported as gone, and returns it. */
export async function deleteGone(
  db: Db,
  organizationId: number,
  { channel_type, target }: Pick<SuppressionRow, 'channel_type' | 'target'>,
): Promise<SuppressionRow | undefined> {
  const { rows } = await sql<SuppressionRow>`
    delete from suppressions s where organization_id = ${organizationId} and target = ${target} collate "C"
      and channel_type = ${channel_type} and reason = 'bounced' and projects is not null
    returning ${columns}`.execute(db);
  return rows[0];
}

/** Returns how many were deleted. */
export async function deleteExpiredSuppressionsAcrossTenants(db: Db, max: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from suppressions s using (
      select organization_id, id from suppressions where expires_at <= now()
      order by expires_at limit ${max} for update skip locked
    ) old
    where s.organization_id = old.organization_id and s.id = old.id`.execute(db);
  return Number(numAffectedRows ?? 0);
}

interface WantedSuppression {
  organizationId: number;
  channelType: string;
  target: string;
}

interface FoundSuppression extends Suppression {
  organization_id: number;
  channel_type: string;
}

// One lookup in the unique index for each target. Only that index has the order, which a range keeps from being redundant:
// planned on an empty table, a comparison for equality read all entries of the channel type.
const findStatement = {
  name: 'suppressions_of_targets',
  text: `
    select wanted.organization_id, wanted.channel_type, s.target, s.reason, s.source, s.detail, s.since, s.projects
    from unnest($1::bigint[], $2::text[], $3::text[]) as wanted (organization_id, channel_type, target),
    lateral (
      select target, reason, source, detail, since, expires_at, projects from suppressions
      where organization_id = wanted.organization_id and target >= wanted.target collate "C"
        and target <= wanted.target collate "C" and channel_type = wanted.channel_type
      order by target limit 1
    ) s
    where s.expires_at is null or s.expires_at > now()`,
};

/** Returns the entries among these targets. A prepared statement, because the engine runs it for every page of recipients. */
export async function findSuppressionsAcrossTenants(
  pool: Statements,
  wanted: readonly WantedSuppression[],
): Promise<FoundSuppression[]> {
  const { rows } = await pool.query<FoundSuppression>({
    ...findStatement,
    values: [wanted.map(one => one.organizationId), wanted.map(one => one.channelType), wanted.map(one => one.target)],
  });
  return rows;
}
