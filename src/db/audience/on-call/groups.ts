/** Groups in chats that follow schedules: what has to be sent, and what the chat has confirmed. One process at a time claims each. */
import { sql } from 'kysely';
import type { FollowingGroup } from '../../../core/configuration/checks/user-groups.ts';
import type { JsonObject } from '../../../core/json.ts';
import type { Db } from '../../connection/pool.ts';
import { stoppedText } from '../../ledger/moving-text.ts';

/** After which what a process left behind is sent again: longer than an attempt may take. */
export const groupClaimSeconds = 120;
const stopped = sql.raw(stoppedText);

export interface GroupKey {
  schedule_id: number;
  channel: string;
  group_id: string;
}

export interface LeftOut {
  /** Username. */
  user: string;
  reason: string;
}

/** Stores who should be in the groups of a schedule. Returns whether that changed any. */
export async function setWanted(
  db: Db,
  organizationId: number,
  scheduleId: number,
  usernames: readonly string[],
): Promise<boolean> {
  const sorted = [...usernames].sort();
  const { numAffectedRows } = await sql`
    update schedule_groups set wanted = ${sorted}::text[], due_at = now(), failures = 0, accounts = '{}'
    where organization_id = ${organizationId} and schedule_id = ${scheduleId}
      and wanted is distinct from ${sorted}::text[]`.execute(db);
  return Number(numAffectedRows ?? 0) > 0;
}

export interface ClaimedGroup extends GroupKey {
  organization_id: number;
  wanted: string[];
  /** What the chat has. Null: not known. */
  member_ids: string[] | null;
  accounts: Record<string, string>;
  error: string | null;
  failures: number;
  claims: number;
  /** Slugs. */
  organization: string;
  project: string;
  schedule: string;
  /** Of the channel; null: there is none. */
  channel_project_id: number | null;
  enabled: boolean | null;
  providers: JsonObject[] | null;
  secrets: Buffer | null;
  type: string | null;
}

/** Returns the milliseconds until a group has to be sent; null: none within the time. */
export async function findNextGroupDueAcrossTenants(db: Db, withinMs: number): Promise<number | null> {
  const { rows } = await sql<{ in_ms: number | null }>`
    select (extract(epoch from min(greatest(due_at, claimed_until)) - now()) * 1000)::float8 as in_ms
    from schedule_groups where due_at <= now() + ${withinMs} * interval '1 ms'`.execute(db);
  return rows[0]!.in_ms;
}

/**
 * Claims the group that is due first, of other organizations than these. Until its outcome is stored, it is not known which
 * members it has.
 */
export async function claimGroupAcrossTenants(db: Db, except: readonly number[]): Promise<ClaimedGroup | undefined> {
  const { rows } = await sql<ClaimedGroup>`
    with due as (
      select organization_id, schedule_id, channel, group_id, member_ids from schedule_groups
      where due_at <= now() and wanted is not null and (claimed_until is null or claimed_until <= now())
        and organization_id <> all(${stopped}) and organization_id <> all(${[...except]}::bigint[])
      order by due_at limit 1 for update skip locked
    ), claimed as (
      update schedule_groups g
      set claimed_until = now() + ${groupClaimSeconds} * interval '1 second', claims = claims + 1, member_ids = null
      from due
      where g.organization_id = due.organization_id and g.schedule_id = due.schedule_id and g.channel = due.channel
        and g.group_id = due.group_id
      returning g.organization_id, g.schedule_id, g.channel, g.group_id, g.wanted, g.accounts, g.error, g.failures, g.claims,
        due.member_ids
    )
    select c.*, o.slug as organization, p.slug as project, s.slug as schedule,
      ch.project_id as channel_project_id, ch.enabled, ch.providers, ch.secrets, ch.type
    from claimed c
    join organizations o on o.id = c.organization_id
    join schedules s on s.organization_id = c.organization_id and s.id = c.schedule_id
    join projects p on p.organization_id = c.organization_id and p.id = s.project_id
    left join lateral (
      select project_id, enabled, providers, secrets, type from channels
      where organization_id = c.organization_id and slug = c.channel
        and (project_id = s.project_id or project_id is null)
      order by project_id nulls last limit 1
    ) ch on true`.execute(db);
  return rows[0];
}

const ofClaim = (organizationId: number, { schedule_id, channel, group_id, claims }: ClaimedGroup) => sql`
  organization_id = ${organizationId} and schedule_id = ${schedule_id} and channel = ${channel} and group_id = ${group_id}
    and claims = ${claims}`;

export interface GroupConfirmed {
  /** Null: the group keeps the members that it had. */
  members: readonly string[] | null;
  ids: readonly string[] | null;
  leftOut: readonly LeftOut[];
  /** Until users who were left out are looked up again; null: when someone else is on call. */
  againSeconds: number | null;
}

/** Stores what the chat has confirmed. If someone else is on call meanwhile, the group is due at once. */
export async function confirmGroup(
  db: Db,
  organizationId: number,
  claim: ClaimedGroup,
  { members, ids, leftOut, againSeconds }: GroupConfirmed,
): Promise<void> {
  await sql`
    update schedule_groups set claimed_until = null, error = null, failing_since = null, failures = 0, accounts = '{}',
      members = coalesce(${members && [...members]}::text[], members), member_ids = ${ids && [...ids]}::text[],
      kept = ${members === null}, left_out = ${JSON.stringify(leftOut)}::jsonb,
      updated_at = case when ${members === null} then updated_at else now() end,
      due_at = case when wanted is distinct from ${claim.wanted}::text[] then now()
        else now() + ${againSeconds} * interval '1 second' end
    where ${ofClaim(organizationId, claim)}`.execute(db);
}

/** Stores why an attempt failed. `accounts` are the people that it has found, for the next one. */
export async function failGroup(
  db: Db,
  organizationId: number,
  claim: ClaimedGroup,
  { error, seconds, accounts }: { error: string; seconds: number; accounts: ReadonlyMap<string, string> },
): Promise<void> {
  await sql`
    update schedule_groups set claimed_until = null, error = ${error}, failing_since = coalesce(failing_since, now()),
      failures = failures + 1, due_at = now() + ${seconds} * interval '1 second',
      accounts = case when wanted is distinct from ${claim.wanted}::text[] then '{}'
        else ${JSON.stringify(Object.fromEntries(accounts))}::jsonb end
    where ${ofClaim(organizationId, claim)}`.execute(db);
}

/** Lets the other groups of a channel wait too, because its service has limited all requests. */
export async function postponeGroups(
  db: Db,
  organizationId: number,
  { channel, channel_project_id }: Pick<ClaimedGroup, 'channel' | 'channel_project_id'>,
  seconds: number,
): Promise<void> {
  await sql`
    update schedule_groups g set due_at = now() + ${seconds} * interval '1 second'
    from schedules s
    where g.organization_id = ${organizationId} and g.channel = ${channel}
      and g.due_at < now() + ${seconds} * interval '1 second'
      and s.organization_id = g.organization_id and s.id = g.schedule_id
      and (${channel_project_id}::bigint is null or s.project_id = ${channel_project_id})`.execute(db);
}

/** Gives a claim back without an attempt. */
export async function releaseGroup(db: Db, organizationId: number, claim: ClaimedGroup): Promise<void> {
  await sql`
    update schedule_groups set claimed_until = null, member_ids = ${claim.member_ids}::text[]
    where ${ofClaim(organizationId, claim)}`.execute(db);
}

export interface GroupRow {
  channel: string;
  group_id: string;
  wanted: string[] | null;
  members: string[] | null;
  left_out: LeftOut[];
  kept: boolean;
  updated_at: Date | null;
  error: string | null;
  failing_since: Date | null;
  due_at: Date | null;
}

/** Lists the groups of a schedule. */
export async function listGroups(db: Db, organizationId: number, scheduleId: number): Promise<GroupRow[]> {
  const { rows } = await sql<GroupRow>`
    select channel, group_id, wanted, members, left_out, kept, updated_at, error, failing_since, due_at from schedule_groups
    where organization_id = ${organizationId} and schedule_id = ${scheduleId} order by channel, group_id`.execute(db);
  return rows;
}

export interface FailingGroup extends Pick<GroupRow, 'channel' | 'group_id' | 'error'> {
  failing_since: Date;
  organization: string;
  project: string;
  schedule: string;
}

/** Returns how many groups there are, how many have failed for so many minutes, and the first of those. */
export async function summarizeGroupsAcrossTenants(db: Db, minutes: number, limit: number) {
  const failing = sql`failing_since < now() - ${minutes} * interval '1 minute'`;
  const { rows: counts } = await sql<{ all: number; failing: number }>`
    select count(*)::int as all, (count(*) filter (where ${failing}))::int as failing from schedule_groups`.execute(db);
  const { rows } = await sql<FailingGroup>`
    select g.channel, g.group_id, g.error, g.failing_since, o.slug as organization, p.slug as project, s.slug as schedule
    from schedule_groups g
    join organizations o on o.id = g.organization_id
    join schedules s on s.organization_id = g.organization_id and s.id = g.schedule_id
    join projects p on p.organization_id = g.organization_id and p.id = s.project_id
    where ${failing} order by failing_since limit ${limit}`.execute(db);
  return { ...counts[0]!, first: rows };
}

interface PersonRow {
  username: string;
  locked: boolean;
  /** Enabled addresses, verified ones first. */
  addresses: { name: string; value: string }[];
}

/** Lists these users with their emails and their addresses of a type. */
export async function listGroupPeople(
  db: Db,
  organizationId: number,
  usernames: readonly string[],
  type: string,
  maxAddresses: number,
): Promise<PersonRow[]> {
  const { rows } = await sql<PersonRow>`
    select u.username, u.locked, coalesce(a.addresses, '[]'::json) as addresses from users u
    left join lateral (
      select json_agg(json_build_object('name', name, 'value', value) order by verified_at is null, id) as addresses from (
        select name, value, verified_at, id from addresses
        where organization_id = u.organization_id and user_id = u.id and disabled_at is null
          and name = any(${['email', type]}::text[])
        order by verified_at is null, id limit ${maxAddresses}
      ) own
    ) a on true
    where u.organization_id = ${organizationId} and u.username = any(${[...usernames]}::text[])`.execute(db);
  return rows;
}

/** Lists which of these groups follow schedules of the organization. */
export async function listFollowingGroups(
  db: Db,
  organizationId: number,
  groups: readonly string[],
): Promise<FollowingGroup[]> {
  const { rows } = await sql<FollowingGroup>`
    select p.slug as project, s.slug as schedule, g.group_id as "group" from schedule_groups g
    join schedules s on s.organization_id = g.organization_id and s.id = g.schedule_id
    join projects p on p.organization_id = s.organization_id and p.id = s.project_id
    where g.organization_id = ${organizationId} and g.group_id = any(${[...groups]}::text[])
    order by s.id`.execute(db);
  return rows;
}

/** Lists the paths of schedules with a group in the channel. A project's channel hides the organization's with the same slug. */
export async function listSchedulesWithGroupIn(db: Db, organizationId: number, channelId: number): Promise<string[]> {
  const { rows } = await sql<{ path: string }>`
    select distinct concat_ws('/', p.slug, s.slug) as path
    from channels c
    join schedule_groups g on g.organization_id = c.organization_id and g.channel = c.slug
    join schedules s on s.organization_id = g.organization_id and s.id = g.schedule_id
    join projects p on p.organization_id = s.organization_id and p.id = s.project_id
    where c.organization_id = ${organizationId} and c.id = ${channelId} and (s.project_id = c.project_id
      or (c.project_id is null and not exists (
        select from channels own
        where own.organization_id = c.organization_id and own.project_id = s.project_id and own.slug = c.slug)))
    order by path`.execute(db);
  return rows.map(({ path }) => path);
}
