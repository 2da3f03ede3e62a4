import { sql } from 'kysely';
import type { Json } from '../core/json.ts';
import type { OrganizationLimits } from '../core/limits.ts';
import { generalSlug } from '../core/preferences.ts';
import type { QuietHours } from '../core/quiet-hours.ts';
import { limitsOf } from './organization-limits.ts';
import type { Db } from './pool.ts';
import { statisticsTables } from './stats-sums.ts';

export interface Named {
  id: number;
  slug: string;
  name: string;
}

export interface PlacedOrganization extends Named {
  limits: OrganizationLimits;
  two_factor_required: boolean;
}

/** What the slugs of a path name: an organization, and below it a project, an application, an event. */
export interface Place {
  organization: PlacedOrganization;
  project?: Named;
  application?: Named;
  event?: PlacedEvent;
}

export interface PlacedEvent extends Named {
  active: boolean;
  /** Slug of the category. */
  category: string;
  /** Changes with the schema of its context; null: it has none. */
  schema_version: string | null;
  /** The highest of its notifications', an index in `priorities`: with which a trigger that states none is expanded. */
  priority: number;
}

export interface Slugs {
  org: string;
  prj?: string;
  app?: string;
  evt?: string;
}

/** One path through an organization, by ids: what is beside it is not read. A part that is absent is not there yet. */
export interface Within {
  project?: number;
  application?: number;
  event?: number;
}

interface Row {
  organization: PlacedOrganization;
  project: Named | null;
  application: Named | null;
  event: PlacedEvent | null;
}

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

/** As far down as the slugs lead; undefined when there is no such organization. */
export async function findPlaceAcrossTenants(db: Db, { org, prj, app, evt }: Slugs): Promise<Place | undefined> {
  const { rows } = await sql<Row>`
    select
      jsonb_build_object('id', o.id, 'slug', o.slug, 'name', o.name, 'limits', ${limitsOf('o')},
        'two_factor_required', o.two_factor_required) as organization,
      case when p.id is not null then jsonb_build_object('id', p.id, 'slug', p.slug, 'name', p.name) end as project,
      case when a.id is not null then jsonb_build_object('id', a.id, 'slug', a.slug, 'name', a.name) end as application,
      case when e.id is not null
        then jsonb_build_object('id', e.id, 'slug', e.slug, 'name', e.name, 'active', e.active,
          'schema_version', case when e.context_schema is not null then e.updated_at end,
          'category', coalesce((select c.slug from categories c where c.organization_id = o.id and c.id = e.category_id), ${generalSlug}),
          'priority', (
          select coalesce(min(coalesce(n.priority, 1)), 1) from notifications n
          where n.organization_id = e.organization_id and n.event_id = e.id and n.active)) end as event
    from organizations o
    left join projects p on p.organization_id = o.id and p.slug = ${prj ?? null}
    left join applications a on a.organization_id = o.id and a.project_id = p.id and a.slug = ${app ?? null}
    left join events e on e.organization_id = o.id and e.application_id = a.id and e.slug = ${evt ?? null}
    where o.slug = ${org}`.execute(db);
  const row = rows[0];
  if (!row) return undefined;
  return {
    organization: row.organization,
    project: row.project ?? undefined,
    application: row.application ?? undefined,
    event: row.event ?? undefined,
  };
}
