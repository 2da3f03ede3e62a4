import { sql } from 'kysely';
import type { Named } from './places.ts';
import type { Db } from './pool.ts';
import { statisticsTables } from './stats-sums.ts';

export interface Organization extends Named {
  retention_days: number;
  /** Null: keys may live for ever. */
  max_key_lifetime_days: number | null;
  brand_color: string | null;
  logo_url: string | null;
}

const columns = ['id', 'slug', 'name', 'retention_days', 'max_key_lifetime_days', 'brand_color', 'logo_url'] as const;

export async function listOrganizationsAcrossTenants(db: Db): Promise<Organization[]> {
  return db.selectFrom('organizations').select(columns).orderBy('id').execute();
}

export async function getOrganization(db: Db, organizationId: number) {
  return db
    .selectFrom('organizations')
    .select([...columns, 'two_factor_required', 'created_at'])
    .where('id', '=', organizationId)
    .executeTakeFirst();
}

export interface OrganizationFields {
  name: string;
  /** Absent: as it is, or the usual ones. */
  retention_days?: number;
  max_key_lifetime_days?: number | null;
  brand_color?: string | null;
  logo_url?: string | null;
}

export async function createOrganizationAcrossTenants(
  db: Db,
  fields: OrganizationFields & { slug: string },
): Promise<number> {
  const row = await db.insertInto('organizations').values(fields).returning('id').executeTakeFirstOrThrow();
  return row.id;
}

export async function setTwoFactorRequired(db: Db, organizationId: number, required: boolean): Promise<void> {
  await db
    .updateTable('organizations')
    .set({ two_factor_required: required, updated_at: sql`now()` })
    .where('id', '=', organizationId)
    .execute();
}

export async function updateOrganization(db: Db, organizationId: number, fields: OrganizationFields): Promise<void> {
  await db
    .updateTable('organizations')
    .set({ ...fields, updated_at: sql`now()` })
    .where('id', '=', organizationId)
    .execute();
}

/** With everything in it but history, which goes when it is old enough. */
export async function deleteOrganization(db: Db, organizationId: number): Promise<void> {
  for (const [table] of statisticsTables) {
    await db.deleteFrom(table).where('organization_id', '=', organizationId).execute();
  }
  await db.deleteFrom('organizations').where('id', '=', organizationId).execute();
}

export async function findOrganizationsAcrossTenants(db: Db, slugs: string[]): Promise<Organization[]> {
  return db.selectFrom('organizations').select(columns).where('slug', 'in', slugs).execute();
}

/**
 * Held until the transaction ends: whoever else wants to configure one of these organizations waits. By slug, as an
 * organization that is about to be created has no row to lock; in order, so that two never wait for each other.
 */
export async function lockConfigurationAcrossTenants(db: Db, slugs: string[]): Promise<void> {
  for (const slug of [...slugs].sort()) {
    await sql`select pg_advisory_xact_lock(hashtextextended(${`belfry configuration ${slug}`}, 0))`.execute(db);
  }
}
