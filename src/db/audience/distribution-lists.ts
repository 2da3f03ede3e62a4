import { sql } from 'kysely';
import type { PathIds } from '../configuration/organizations.ts';
import type { PageRequest } from '../connection/page.ts';
import type { Db } from '../connection/pool.ts';

export async function listDistributionLists(db: Db, organizationId: number, projectId: number, page: PageRequest) {
  return db
    .selectFrom('distribution_lists')
    .select(['id', 'name'])
    .where('organization_id', '=', organizationId)
    .where('project_id', '=', projectId)
    .where('id', '>', page.after)
    .orderBy('id')
    .limit(page.limit)
    .execute();
}

export async function findDistributionList(db: Db, organizationId: number, projectId: number, id: number) {
  return db
    .selectFrom('distribution_lists')
    .select(['id', 'name'])
    .where('organization_id', '=', organizationId)
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
}

export async function findListByName(db: Db, organizationId: number, projectId: number, nameKey: string) {
  return db
    .selectFrom('distribution_lists')
    .select(['id', 'name'])
    .where('organization_id', '=', organizationId)
    .where('project_id', '=', projectId)
    .where('name_key', '=', nameKey)
    .executeTakeFirst();
}

/** Returns undefined when the project already has a list with this name. */
export async function createDistributionList(
  db: Db,
  organizationId: number,
  projectId: number,
  list: { name: string; name_key: string },
) {
  return db
    .insertInto('distribution_lists')
    .values({ organization_id: organizationId, project_id: projectId, ...list })
    .onConflict(conflict => conflict.columns(['organization_id', 'project_id', 'name_key']).doNothing())
    .returning(['id', 'name'])
    .executeTakeFirst();
}

export async function listAllDistributionLists(db: Db, organizationId: number, within?: PathIds) {
  return db
    .selectFrom('distribution_lists')
    .select(['id', 'project_id', 'name'])
    .where('organization_id', '=', organizationId)
    .$if(within !== undefined, query => query.where('project_id', '=', within?.project ?? 0))
    .orderBy('id')
    .execute();
}

/** Creates the list, or updates the letter case of the existing list with this name. Returns its id. */
export async function putDistributionList(
  db: Db,
  organizationId: number,
  projectId: number,
  list: { name: string; name_key: string },
): Promise<number> {
  const row = await db
    .insertInto('distribution_lists')
    .values({ organization_id: organizationId, project_id: projectId, ...list })
    .onConflict(conflict =>
      conflict
        .columns(['organization_id', 'project_id', 'name_key'])
        .doUpdateSet({ name: list.name, updated_at: sql`now()` }),
    )
    .returning('id')
    .executeTakeFirstOrThrow();
  return row.id;
}

export async function deleteDistributionList(db: Db, organizationId: number, id: number): Promise<void> {
  await db
    .deleteFrom('distribution_lists')
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .execute();
}

/** Returns the counts that database triggers maintain on every change of the members. */
export async function countMembers(db: Db, organizationId: number, id: number) {
  return db
    .selectFrom('distribution_lists')
    .select(['members', 'active_members as active'])
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Finds the list and locks its row until the transaction ends. */
export async function findListForUpdate(db: Db, organizationId: number, id: number) {
  return db
    .selectFrom('distribution_lists')
    .select(['id', 'name', 'name_key', 'members'])
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

/** Throws a unique violation when another list of the project has this name. */
export async function renameDistributionList(
  db: Db,
  organizationId: number,
  id: number,
  { name, name_key }: { name: string; name_key: string },
): Promise<void> {
  await db
    .updateTable('distribution_lists')
    .set({ name, name_key, updated_at: sql`now()` })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .execute();
}

interface ListReference {
  notification_id: number;
  /** prj/app/evt/notification */
  path: string;
  /** The list name as the notification spells it. */
  list: string;
}

/** Lists all references to distribution lists in the notifications of a project. */
export async function listListReferences(db: Db, organizationId: number, projectId: number): Promise<ListReference[]> {
  const { rows } = await sql<ListReference>`
    select n.id as notification_id, named.list,
      p.slug || '/' || a.slug || '/' || e.slug || '/' || n.name as path
    from notifications n
    join events e on e.organization_id = n.organization_id and e.id = n.event_id
    join applications a on a.organization_id = e.organization_id and a.id = e.application_id
    join projects p on p.organization_id = a.organization_id and p.id = a.project_id
    cross join lateral (
      select n.recipients ->> 'list' as list union
      select step -> 'recipients' ->> 'list' from jsonb_array_elements(coalesce(n.steps, '[]')) step
    ) named
    where n.organization_id = ${organizationId} and a.project_id = ${projectId} and named.list is not null
    order by path`.execute(db);
  return rows;
}

/** Replaces the list names in these references with the new name. */
export async function renameListInNotifications(
  db: Db,
  organizationId: number,
  uses: ListReference[],
  name: string,
): Promise<void> {
  const notificationIds = uses.map(use => use.notification_id);
  const names = sql`${uses.map(use => use.list)}::text[]`;
  await sql`
    update notifications set updated_at = now(),
      recipients = case when recipients ->> 'list' = any(${names})
        then jsonb_set(recipients, '{list}', to_jsonb(${name}::text)) else recipients end,
      steps = case when steps is not null then (
        select jsonb_agg(case when step -> 'recipients' ->> 'list' = any(${names})
          then jsonb_set(step, '{recipients,list}', to_jsonb(${name}::text)) else step end order by n)
        from jsonb_array_elements(steps) with ordinality as given (step, n)) end
    where organization_id = ${organizationId} and id = any(${notificationIds}::bigint[])`.execute(db);
}
