/** Registrations of users with applications. */
import { sql } from 'kysely';
import type { JsonObject } from '../../core/json.ts';
import type { PageRequest } from '../connection/page.ts';
import type { Db } from '../connection/pool.ts';

interface Registration {
  active: boolean;
  custom_fields: JsonObject;
}

/** Locks the row until the transaction ends, so that concurrent merges of custom fields don't overwrite each other. */
export async function findRegistrationForUpdate(db: Db, organizationId: number, applicationId: number, userId: number) {
  const { rows } = await sql<Registration>`
    select active, custom_fields from registrations
    where organization_id = ${organizationId} and application_id = ${applicationId} and user_id = ${userId}
    for update`.execute(db);
  return rows[0];
}

export async function putRegistration(
  db: Db,
  organizationId: number,
  applicationId: number,
  userId: number,
  { active, custom_fields }: Registration,
): Promise<void> {
  await sql`
    insert into registrations (organization_id, application_id, user_id, active, custom_fields)
    values (${organizationId}, ${applicationId}, ${userId}, ${active}, ${JSON.stringify(custom_fields)})
    on conflict (organization_id, application_id, user_id)
    do update set active = excluded.active, custom_fields = excluded.custom_fields, updated_at = now()`.execute(db);
}

export async function deleteRegistration(db: Db, organizationId: number, applicationId: number, userId: number) {
  const result = await sql`
    delete from registrations
    where organization_id = ${organizationId} and application_id = ${applicationId} and user_id = ${userId}`.execute(
    db,
  );
  return Number(result.numAffectedRows ?? 0);
}

interface RegistrationOfUser extends Registration {
  id: number;
  project: string;
  application: string;
  created_at: Date;
  updated_at: Date;
}

/** Lists the registrations of a user, in the order of application ids. */
export async function listRegistrationsOfUser(db: Db, organizationId: number, userId: number, page: PageRequest) {
  const { rows } = await sql<RegistrationOfUser>`
    select r.application_id as id, p.slug as project, a.slug as application, r.active, r.custom_fields, r.created_at,
      r.updated_at
    from registrations r
    join applications a on a.organization_id = r.organization_id and a.id = r.application_id
    join projects p on p.organization_id = a.organization_id and p.id = a.project_id
    where r.organization_id = ${organizationId} and r.user_id = ${userId} and r.application_id > ${page.after}
    order by r.application_id limit ${page.limit}`.execute(db);
  return rows;
}
