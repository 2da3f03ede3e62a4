import { AppError } from '../core/errors.ts';
import type { QuietHours } from '../core/quiet-hours.ts';
import { listReachedAcrossTenants } from '../db/accounts.ts';
import { addMember } from '../db/memberships.ts';
import type { Place, Slugs } from '../db/organizations.ts';
import * as organizations from '../db/organizations.ts';
import type { PageRequest } from '../db/page.ts';
import type { Db } from '../db/pool.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';
import { type Check, change, type Deleted, type Deletion, deleteEntry, putEntry, requirePlace } from './entries.ts';
import { isTwoFactor, type Session } from './sessions.ts';

export type { Place } from '../db/organizations.ts';

interface KeyScope {
  organization_id: number;
  project_id: number | null;
}

/** A key reaches its organization, unless it is narrowed to something in it. */
export async function listReached(deps: Deps, scope: KeyScope | null, session: Session | undefined, page: PageRequest) {
  if (session) return listReachedAcrossTenants(deps.db, session.account.id, session.account.admin, page);
  if (!scope || scope.project_id !== null || page.after >= scope.organization_id) return [];
  const organization = await organizations.getOrganization(deps.db, scope.organization_id);
  return organization ? [organization] : [];
}

export async function createOrganization(deps: Deps, { account }: Session, fields: { slug: string; name: string }) {
  return deps.db.transaction().execute(async trx => {
    await organizations.lockConfigurationAcrossTenants(trx, [fields.slug]);
    if ((await organizations.findOrganizationsAcrossTenants(trx, [fields.slug])).length > 0) {
      throw new AppError('resource.exists', `there is an organization ${fields.slug} already`, {
        fields: { slug: ['is taken by another organization'] },
      });
    }
    const id = await organizations.createOrganizationAcrossTenants(trx, fields);
    await addMember(trx, id, account.id, 'owner');
    await record(deps, trx, id, { action: 'create', noun: 'organization', path: fields.slug, after: fields });
    const { retention_days, created_at } = (await organizations.getOrganization(trx, id))!;
    return { ...fields, retention_days, created_at };
  });
}

export async function getOrganization({ tenantCache }: Deps, slug: string): Promise<Place['organization']> {
  const place = await tenantCache.findPlace({ org: slug });
  if (!place) throw new AppError('organization.not_found', `there is no organization ${slug}`);
  return place.organization;
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
    await organizations.setTwoFactorRequired(trx, organizationId, required);
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

/** With everything in it but history, which goes when it is old enough. */
export async function deleteOrganization(
  deps: Deps,
  slugs: Slugs,
  deletion: Deletion,
  check: Check<OrganizationSettings>,
): Promise<Deleted> {
  const doomed = {
    noun: 'organization' as const,
    read: (trx: Db, { organization }: Place) => readSettings(trx, organization.id),
    check,
    delete: (trx: Db, { organization }: Place) => organizations.deleteOrganization(trx, organization.id),
  };
  return deleteEntry(deps, slugs, doomed, deletion);
}

async function readSettings(db: Db, organizationId: number): Promise<OrganizationSettings> {
  const row = await organizations.getOrganization(db, organizationId);
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
