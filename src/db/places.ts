/** What the slugs of a path name: an organization, and below it a project, an application, an event. */
import { sql } from 'kysely';
import type { OrganizationLimits } from '../core/limits.ts';
import { generalSlug } from '../core/preferences.ts';
import { limitsOf } from './organization-limits.ts';
import type { Db } from './pool.ts';

export interface Named {
  id: number;
  slug: string;
  name: string;
}

export interface PlacedOrganization extends Named {
  limits: OrganizationLimits;
}

export interface Place {
  organization: PlacedOrganization;
  project?: Named;
  application?: Named;
  event?: PlacedEvent;
}

export interface PlacedOrganization extends Named {
  two_factor_required: boolean;
}

export interface PlacedEvent extends Named {
  active: boolean;
  /** Slug of the category. */
  category: string;
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
