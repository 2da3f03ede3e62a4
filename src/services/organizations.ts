/** Organizations themselves, and reading what they are made of. */
import { AppError } from '../core/errors.ts';
import type { QuietHours } from '../core/quiet-hours.ts';
import { getOrganization as findOrganization, setTwoFactorRequired } from '../db/organizations.ts';
import type { Place, Slugs } from '../db/places.ts';
import type { Db } from '../db/pool.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';
import { type Check, change, putEntry, requirePlace } from './entries.ts';
import { isTwoFactor, type Session } from './sessions.ts';

export { listApplications } from '../db/applications.ts';
export { listChannels } from '../db/channels.ts';
export { listEvents } from '../db/events.ts';
export { listProjects } from '../db/projects.ts';

export async function getOrganization({ tenantCache }: Deps, slug: string): Promise<Place['organization']> {
  const place = await tenantCache.findPlace({ org: slug });
  if (!place) throw new AppError('organization.not_found', `there is no organization ${slug}`);
  return place.organization;
}

export async function getEvent({ tenantCache }: Deps, slugs: Required<Slugs>): Promise<Required<Place>> {
  const { org, prj, app, evt } = slugs;
  const place = await tenantCache.findPlace(slugs);
  if (!place) throw new AppError('organization.not_found', `there is no organization ${org}`);
  const { organization, project, application, event } = place;
  if (!project) throw new AppError('project.not_found', `there is no project ${prj} in ${org}`);
  if (!application) throw new AppError('application.not_found', `there is no application ${app} in ${org}/${prj}`);
  if (!event) throw new AppError('event.not_found', `there is no event ${evt} in ${org}/${prj}/${app}`);
  return { organization, project, application, event };
}

export interface OrganizationSettings {
  slug: string;
  name: string;
  retention_days: number;
  max_key_lifetime_days: number | null;
  brand_color: string | null;
  logo_url: string | null;
  timezone: string | null;
  quiet_hours: QuietHours | null;
  most_per_day: number | null;
  two_factor_required: boolean;
  created_at: string;
}

export async function getSettings({ db }: Deps, organizationId: number): Promise<OrganizationSettings> {
  return readSettings(db, organizationId);
}

export async function updateOrganization(
  deps: Deps,
  { org }: Slugs,
  changes: Partial<Omit<OrganizationSettings, 'slug' | 'two_factor_required' | 'created_at'>>,
  check: Check<OrganizationSettings>,
): Promise<OrganizationSettings> {
  return change(deps, { org }, async trx => {
    const { organization } = await requirePlace(trx, { org });
    const { created_at, two_factor_required, ...current } = await readSettings(trx, organization.id);
    check({ ...current, two_factor_required, created_at });
    await putEntry(deps, trx, { org }, undefined, { ...current, ...changes });
    return readSettings(trx, organization.id);
  });
}

/** Whoever asks for it has it themselves: nobody locks themselves out. */
export async function requireTwoFactor(
  deps: Deps,
  organizationId: number,
  required: boolean,
  session: Session | undefined,
  check: Check<OrganizationSettings>,
): Promise<OrganizationSettings> {
  if (required && session && !isTwoFactor(session)) {
    const told = 'set up an authenticator app or a passkey for your own account before you require it of others';
    throw new AppError('account.two_factor_missing', told);
  }
  const settings = await deps.db.transaction().execute(async trx => {
    const before = await readSettings(trx, organizationId);
    check(before);
    if (before.two_factor_required === required) return before;
    await setTwoFactorRequired(trx, organizationId, required);
    await record(deps, trx, organizationId, {
      action: 'update',
      noun: 'organization',
      path: before.slug,
      before: { two_factor_required: !required },
      after: { two_factor_required: required },
    });
    return { ...before, two_factor_required: required };
  });
  deps.tenantCache.invalidate(organizationId);
  return settings;
}

async function readSettings(db: Db, organizationId: number): Promise<OrganizationSettings> {
  const row = await findOrganization(db, organizationId);
  if (!row) throw new AppError('organization.not_found', 'the organization has been deleted meanwhile');
  const { slug, name, retention_days, max_key_lifetime_days, two_factor_required, created_at } = row;
  const { brand_color, logo_url, timezone, quiet_hours, most_per_day } = row;
  return {
    slug,
    name,
    retention_days,
    max_key_lifetime_days,
    brand_color,
    logo_url,
    timezone,
    quiet_hours,
    most_per_day,
    two_factor_required,
    created_at: created_at.toISOString(),
  };
}
