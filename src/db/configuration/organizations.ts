import { sql } from 'kysely';
import type { OrganizationLimits } from '../../core/configuration/limits.ts';
import { type OrganizationFields, organization } from '../../core/configuration/nouns/organization.ts';
import type { EventGuard, OrganizationGuard } from '../../core/decision/guards/guard.ts';
import type { ApplicationGuard } from '../../core/decision/guards/rate-guard.ts';
import { generalSlug } from '../../core/decision/preferences.ts';
import type { QuietHours } from '../../core/decision/quiet-hours.ts';
import type { ServiceLevels } from '../../core/history/service-levels.ts';
import type { Json } from '../../core/json.ts';
import type { Db } from '../connection/pool.ts';
import { statisticsTables } from '../history/stats/stats-sums.ts';
import { limitsOf } from './organization-limits.ts';

export interface NamedRow {
  id: number;
  slug: string;
  name: string;
}

export interface OrganizationSummary extends NamedRow {
  limits: OrganizationLimits;
  two_factor_required: boolean;
  guard: OrganizationGuard | null;
}

/** The rows that the slugs of a path name: an organization and, below it, a project, an application and an event. */
export interface ResolvedPath {
  organization: OrganizationSummary;
  project?: NamedRow;
  application?: NamedRow & { guard: ApplicationGuard | null };
  event?: EventSummary;
}

export interface EventSummary extends NamedRow {
  active: boolean;
  /** Slug of the category. */
  category: string;
  /** Changes when the context schema changes; null: there is no schema. */
  schema_version: string | null;
  /** Highest priority of its notifications, an index of `priorities`. Used for triggers that set none. */
  priority: number;
  guard: EventGuard | null;
}

export interface Slugs {
  org: string;
  prj?: string;
  app?: string;
  evt?: string;
}

/** Ids of the rows on one path; reads are limited to that path. A part is absent if it does not exist yet. */
export interface PathIds {
  project?: number;
  application?: number;
  event?: number;
}

interface Row {
  organization: OrganizationSummary;
  project: NamedRow | null;
  application: ResolvedPath['application'] | null;
  event: EventSummary | null;
}

export type Organization = { id: number } & Required<OrganizationFields>;

const columns = ['id', ...Object.keys(organization.fields)] as ('id' | keyof OrganizationFields)[];

const toOrganization = <Row extends { quiet_hours: Json | null; guard: Json | null; service_levels: Json | null }>(
  row: Row,
) => ({
  ...row,
  quiet_hours: row.quiet_hours as QuietHours | null,
  guard: row.guard as OrganizationGuard | null,
  service_levels: row.service_levels as ServiceLevels | null,
});

function toRow({ quiet_hours, guard, service_levels, ...fields }: OrganizationFields) {
  return {
    ...fields,
    ...(quiet_hours !== undefined && { quiet_hours: quiet_hours && JSON.stringify(quiet_hours) }),
    ...(guard !== undefined && { guard: guard && JSON.stringify(guard) }),
    ...(service_levels !== undefined && { service_levels: service_levels && JSON.stringify(service_levels) }),
  };
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

/** An absent field gets its default. */
export async function createOrganizationAcrossTenants(db: Db, fields: OrganizationFields): Promise<number> {
  const row = await db.insertInto('organizations').values(toRow(fields)).returning('id').executeTakeFirstOrThrow();
  return row.id;
}

export async function setTwoFactorRequired(db: Db, organizationId: number, required: boolean): Promise<void> {
  await db
    .updateTable('organizations')
    .set({ two_factor_required: required, updated_at: sql`now()` })
    .where('id', '=', organizationId)
    .execute();
}

/** An absent field is left unchanged. */
export async function updateOrganization(db: Db, organizationId: number, fields: OrganizationFields): Promise<void> {
  await db
    .updateTable('organizations')
    .set({ ...toRow(fields), updated_at: sql`now()` })
    .where('id', '=', organizationId)
    .execute();
}

/** Deletes an organization and everything in it except history, which retention deletes. */
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
 * Locks the configuration of these organizations until the transaction ends. The lock is on the slug, because an
 * organization that is being created has no row; slugs are sorted to prevent deadlocks.
 */
export async function lockConfigurationAcrossTenants(db: Db, slugs: string[]): Promise<void> {
  for (const slug of [...slugs].sort()) {
    await sql`select pg_advisory_xact_lock(hashtextextended(${`belfry configuration ${slug}`}, 0))`.execute(db);
  }
}

/** Resolves slugs to rows, as far down as they exist. Returns undefined if there is no such organization. */
export async function resolvePathAcrossTenants(
  db: Db,
  { org, prj, app, evt }: Slugs,
): Promise<ResolvedPath | undefined> {
  const { rows } = await sql<Row>`
    select
      jsonb_build_object('id', o.id, 'slug', o.slug, 'name', o.name, 'limits', ${limitsOf('o')},
        'two_factor_required', o.two_factor_required, 'guard', o.guard) as organization,
      case when p.id is not null then jsonb_build_object('id', p.id, 'slug', p.slug, 'name', p.name) end as project,
      case when a.id is not null then jsonb_build_object('id', a.id, 'slug', a.slug, 'name', a.name, 'guard', a.guard) end as application,
      case when e.id is not null
        then jsonb_build_object('id', e.id, 'slug', e.slug, 'name', e.name, 'active', e.active, 'guard', e.guard,
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
