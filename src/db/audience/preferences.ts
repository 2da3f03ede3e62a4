/** Users' preferences and their history. A trigger copies the preferences into the user's row in `users`. */
import { sql } from 'kysely';
import type { PreferenceSource } from '../../core/decision/preferences.ts';
import type { QuietHours } from '../../core/decision/quiet-hours.ts';
import type { PageRequest } from '../connection/page.ts';
import type { Db } from '../connection/pool.ts';

export interface PreferenceRow {
  scope: string;
  /** Empty: all channel types. */
  channel_type: string;
  enabled: boolean;
  source: PreferenceSource;
  changed_at: Date;
}

/** Lists the preferences of a user, broadest scope first. */
export async function listPreferences(db: Db, organizationId: number, userId: number): Promise<PreferenceRow[]> {
  const rows = await db
    .selectFrom('preferences')
    .select(['scope', 'channel_type', 'enabled', 'source', 'changed_at'])
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId)
    .orderBy(sql`scope <> 'everything'`)
    .orderBy('scope')
    .orderBy('channel_type')
    .execute();
  return rows as PreferenceRow[];
}

export interface QuietPreference {
  timezone: string | null;
  /** Null: the organization's quiet hours apply. */
  quiet_hours: QuietHours | null;
}

export async function findQuietPreference(db: Db, organizationId: number, userId: number) {
  const row = await db
    .selectFrom('users')
    .select(['timezone', 'quiet_hours'])
    .where('organization_id', '=', organizationId)
    .where('id', '=', userId)
    .executeTakeFirst();
  return row && { ...row, quiet_hours: row.quiet_hours as QuietHours | null };
}

/** Undefined fields are left unchanged. */
export async function putQuietPreference(
  db: Db,
  organizationId: number,
  userId: number,
  { timezone, quiet_hours }: Partial<QuietPreference>,
): Promise<void> {
  await db
    .updateTable('users')
    .set({
      ...(timezone !== undefined && { timezone }),
      ...(quiet_hours !== undefined && { quiet_hours: quiet_hours && JSON.stringify(quiet_hours) }),
      updated_at: sql`now()`,
    })
    .where('organization_id', '=', organizationId)
    .where('id', '=', userId)
    .execute();
}

export interface PreferenceWrite {
  scope: string;
  channel_type: string;
  /** Null removes the preference. */
  enabled: boolean | null;
}

/** Changes only the preferences in `choices`, and records only actual differences. Returns those. */
export async function putPreferences(
  db: Db,
  organizationId: number,
  userId: number,
  choices: PreferenceWrite[],
  { source, by }: { source: PreferenceSource; by: string },
): Promise<PreferenceWrite[]> {
  const { rows } = await sql<PreferenceWrite>`
    with given as (
      select * from unnest(
        ${choices.map(one => one.scope)}::text[], ${choices.map(one => one.channel_type)}::text[],
        ${choices.map(one => one.enabled)}::boolean[]) as g (scope, channel_type, enabled)
    ), put as (
      insert into preferences as p (organization_id, user_id, scope, channel_type, enabled, source)
      select ${organizationId}, ${userId}, scope, channel_type, enabled, ${source}
      from given where enabled is not null
      order by scope, channel_type
      on conflict (organization_id, user_id, scope, channel_type)
        do update set enabled = excluded.enabled, source = excluded.source, changed_at = now()
        where p.enabled <> excluded.enabled
      returning scope, channel_type, enabled
    ), withdrawn as (
      delete from preferences p using given g
      where p.organization_id = ${organizationId} and p.user_id = ${userId} and g.enabled is null
        and p.scope = g.scope and p.channel_type = g.channel_type
      returning p.scope, p.channel_type, null::boolean as enabled
    ), changed as (select * from put union all select * from withdrawn), noted as (
      insert into preference_history (organization_id, user_id, scope, channel_type, enabled, source, changed_by)
      select ${organizationId}, ${userId}, scope, channel_type, enabled, ${source}, ${by} from changed
    )
    select * from changed order by scope, channel_type`.execute(db);
  return rows;
}

/** Stores opt-outs of many users in a fixed order, so that two imports never deadlock. Returns how many are new. */
export async function addOptOuts(
  db: Db,
  organizationId: number,
  optOuts: { username: string; scope: string }[],
  by: string,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    with put as (
      insert into preferences as p (organization_id, user_id, scope, channel_type, enabled, source)
      select ${organizationId}, u.id, g.scope, '', false, 'import'
      from unnest(${optOuts.map(one => one.username)}::text[], ${optOuts.map(one => one.scope)}::text[])
        as g (username, scope)
      join (
        -- All at once, as in list-import.ts.
        select id, username from users
        where organization_id = ${organizationId} and username = any(${optOuts.map(one => one.username)}::text[])
      ) u on u.username = g.username
      order by u.id, g.scope
      on conflict (organization_id, user_id, scope, channel_type)
        do update set enabled = false, source = 'import', changed_at = now() where p.enabled
      returning user_id, scope
    ), noted as (
      insert into preference_history (organization_id, user_id, scope, channel_type, enabled, source, changed_by)
      select ${organizationId}, user_id, scope, '', false, 'import', ${by} from put
    )
    select count(*)::int as count from put`.execute(db);
  return rows[0]!.count;
}

/** Lists the changes of a user's preferences, newest first. */
export async function listPreferenceHistory(db: Db, organizationId: number, userId: number, page: PageRequest) {
  return db
    .selectFrom('preference_history')
    .select(['id', 'scope', 'channel_type', 'enabled', 'source', 'changed_by', 'changed_at'])
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId)
    .$if(page.after > 0, query => query.where('id', '<', page.after))
    .orderBy('id', 'desc')
    .limit(page.limit)
    .execute();
}

/** Returns the id of an event by its path, `project/application/event`. */
export async function findEventByPath(db: Db, organizationId: number, path: string): Promise<number | undefined> {
  const [project = '', application = '', event = ''] = path.split('/');
  const { rows } = await sql<{ id: number }>`
    select e.id from projects p
    join applications a on a.organization_id = p.organization_id and a.project_id = p.id and a.slug = ${application}
    join events e on e.organization_id = a.organization_id and e.application_id = a.id and e.slug = ${event}
    where p.organization_id = ${organizationId} and p.slug = ${project}`.execute(db);
  return rows[0]?.id;
}
