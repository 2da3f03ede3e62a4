import { sql } from 'kysely';
import type { Json } from '../core/json.ts';
import type { QuietHours } from '../core/quiet-hours.ts';
import type { Named } from './places.ts';
import type { Db } from './pool.ts';
import { statisticsTables } from './stats-sums.ts';

export interface Organization extends Named {
  retention_days: number;
  /** Null: keys may live for ever. */
  max_key_lifetime_days: number | null;
  brand_color: string | null;
  logo_url: string | null;
  /** In which quiet hours are counted; null: UTC. */
  timezone: string | null;
  quiet_hours: QuietHours | null;
  most_per_day: number | null;
}

const columns = [
  'id',
  'slug',
  'name',
  'retention_days',
  'max_key_lifetime_days',
  'brand_color',
  'logo_url',
  'timezone',
  'quiet_hours',
  'most_per_day',
] as const;

const toOrganization = <Row extends { quiet_hours: Json | null }>(row: Row) => ({
  ...row,
  quiet_hours: row.quiet_hours as QuietHours | null,
});

function toRow({ quiet_hours, ...fields }: OrganizationFields) {
  return { ...fields, ...(quiet_hours !== undefined && { quiet_hours: quiet_hours && JSON.stringify(quiet_hours) }) };
}

export async function listOrganizationsAcrossTenants(db: Db): Promise<Organization[]> {
  return (await db.selectFrom('organizations').select(columns).orderBy('id').execute()).map(toOrganization);
}

export async function getOrganization(db: Db, organizationId: number) {
  const row = await db
    .selectFrom('organizations')
    .select([...columns, 'two_factor_required', 'created_at'])
    .where('id', '=', organizationId)
    .executeTakeFirst();
  return row && toOrganization(row);
}

export interface OrganizationFields {
  name: string;
  /** Absent: as it is, or the usual ones. */
  retention_days?: number;
  max_key_lifetime_days?: number | null;
  brand_color?: string | null;
  logo_url?: string | null;
  timezone?: string | null;
  quiet_hours?: QuietHours | null;
  most_per_day?: number | null;
}

export async function createOrganizationAcrossTenants(
  db: Db,
  { slug, ...fields }: OrganizationFields & { slug: string },
): Promise<number> {
  const row = await db
    .insertInto('organizations')
    .values({ slug, ...toRow(fields) })
    .returning('id')
    .executeTakeFirstOrThrow();
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
    .set({ ...toRow(fields), updated_at: sql`now()` })
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
  return (await db.selectFrom('organizations').select(columns).where('slug', 'in', slugs).execute()).map(
    toOrganization,
  );
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
