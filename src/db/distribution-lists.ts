import { sql } from 'kysely';
import type { Within } from './organizations.ts';
import type { PageRequest } from './page.ts';
import type { Db } from './pool.ts';

export interface DistributionList {
  id: number;
  name: string;
}

export async function listDistributionLists(
  db: Db,
  organizationId: number,
  projectId: number,
  page: PageRequest,
): Promise<DistributionList[]> {
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

export async function findDistributionList(
  db: Db,
  organizationId: number,
  projectId: number,
  id: number,
): Promise<DistributionList | undefined> {
  return db
    .selectFrom('distribution_lists')
    .select(['id', 'name'])
    .where('organization_id', '=', organizationId)
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Undefined when the project has a list of this name. */
export async function findListByName(
  db: Db,
  organizationId: number,
  projectId: number,
  nameKey: string,
): Promise<{ id: number; name: string } | undefined> {
  return db
    .selectFrom('distribution_lists')
    .select(['id', 'name'])
    .where('organization_id', '=', organizationId)
    .where('project_id', '=', projectId)
    .where('name_key', '=', nameKey)
    .executeTakeFirst();
}

export async function createDistributionList(
  db: Db,
  organizationId: number,
  projectId: number,
  list: { name: string; name_key: string },
): Promise<DistributionList | undefined> {
  return db
    .insertInto('distribution_lists')
    .values({ organization_id: organizationId, project_id: projectId, ...list })
    .onConflict(conflict => conflict.columns(['organization_id', 'project_id', 'name_key']).doNothing())
    .returning(['id', 'name'])
    .executeTakeFirst();
}

export async function listAllDistributionLists(
  db: Db,
  organizationId: number,
  within?: Within,
): Promise<(DistributionList & { project_id: number })[]> {
  return db
    .selectFrom('distribution_lists')
    .select(['id', 'project_id', 'name'])
    .where('organization_id', '=', organizationId)
    .$if(within !== undefined, query => query.where('project_id', '=', within?.project ?? 0))
    .orderBy('id')
    .execute();
}

/** Creates the list, or gives the one of this name, in whatever letter case, exactly this one. */
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

/** Kept with every change of the members, by triggers of the database. */
export async function countMembers(
  db: Db,
  organizationId: number,
  id: number,
): Promise<{ members: number; active: number } | undefined> {
  return db
    .selectFrom('distribution_lists')
    .select(['members', 'active_members as active'])
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Locks it, so that a change knows what it changes. */
export async function findListForUpdate(
  db: Db,
  organizationId: number,
  id: number,
): Promise<(DistributionList & { name_key: string; members: number }) | undefined> {
  return db
    .selectFrom('distribution_lists')
    .select(['id', 'name', 'name_key', 'members'])
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

/** Fails on the unique name when another list of the project has it. */
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

export interface ListUse {
  notification_id: number;
  /** prj/app/evt/notification */
  path: string;
  /** As it names the list. */
  list: string;
}

/** The notifications of a project that go to a list, whichever it is. */
export async function listListUses(db: Db, organizationId: number, projectId: number): Promise<ListUse[]> {
  const { rows } = await sql<ListUse>`
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

/** Where those notifications name one of these lists, they go to the list of the new name from now on. */
export async function nameListInNotifications(
  db: Db,
  organizationId: number,
  uses: ListUse[],
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
