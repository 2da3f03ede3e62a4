import { pickFields } from '../../core/configuration/nouns/noun.ts';
import { organization as noun } from '../../core/configuration/nouns/organization.ts';
import { AppError } from '../../core/errors.ts';
import type { Slugs } from '../../db/configuration/organizations.ts';
import * as organizations from '../../db/configuration/organizations.ts';
import type { PageRequest } from '../../db/connection/page.ts';
import type { Db } from '../../db/connection/pool.ts';
import { listAccessibleOrganizationsAcrossTenants } from '../../db/identity/accounts.ts';
import { addMember } from '../../db/identity/memberships.ts';
import type { Deps } from '../deps.ts';
import { isTwoFactor, type Session } from '../identity/sessions.ts';
import { record } from '../operations/audit.ts';
import { changeAndInvalidate, type Kind, type Precondition, putEntry, requirePath } from './entries.ts';

export type ResolvedPath = organizations.ResolvedPath;

interface KeyScope {
  organization_id: number;
  project_id: number | null;
}

/** Lists an account's organizations, or a key's own one, unless the key is limited to a part of it. */
export async function listAccessibleOrganizations(
  deps: Deps,
  scope: KeyScope | null,
  session: Session | undefined,
  page: PageRequest,
) {
  if (session)
    return listAccessibleOrganizationsAcrossTenants(deps.db, session.account.id, session.account.admin, page);
  if (!scope || scope.project_id !== null || page.after >= scope.organization_id) return [];
  const organization = await organizations.getOrganization(deps.db, scope.organization_id);
  return organization ? [organization] : [];
}

export async function createOrganization(deps: Deps, { account }: Session, fields: { slug: string; name: string }) {
  return deps.db.transaction().execute(async trx => {
    await organizations.lockConfigurationAcrossTenants(trx, [fields.slug]);
    if ((await organizations.findOrganizationsAcrossTenants(trx, [fields.slug])).length > 0) {
      throw new AppError('resource.exists', `organization ${fields.slug} already exists`, {
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

export async function getOrganization({ tenantCache }: Deps, slug: string): Promise<ResolvedPath['organization']> {
  const path = await tenantCache.resolvePath({ org: slug });
  if (!path) throw new AppError('organization.not_found', `there is no organization ${slug}`, { slugs: { org: slug } });
  return path.organization;
}

interface OrganizationSettings extends Omit<organizations.Organization, 'id'> {
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
  check: Precondition<OrganizationSettings>,
): Promise<OrganizationSettings> {
  return changeAndInvalidate(deps, { org }, async trx => {
    const { organization } = await requirePath(trx, { org });
    const { created_at, two_factor_required, ...current } = await readSettings(trx, organization.id);
    check({ ...current, two_factor_required, created_at });
    await putEntry(deps, trx, { org }, 'organization', { ...current, ...changes });
    return readSettings(trx, organization.id);
  });
}

/** Requires two-factor authentication of all members. The caller must have it, so that they are not locked out. */
export async function requireTwoFactor(
  deps: Deps,
  organizationId: number,
  required: boolean,
  session: Session | undefined,
  check: Precondition<OrganizationSettings>,
): Promise<OrganizationSettings> {
  if (required && session && !isTwoFactor(session)) {
    const message = 'set up an authenticator app or a passkey for your own account before you require it of others';
    throw new AppError('account.two_factor_missing', message);
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

export const organization: Kind<'organization', OrganizationSettings> = {
  noun: 'organization',
  read: (db, _, id) => readSettings(db, id),
};

async function readSettings(db: Db, organizationId: number): Promise<OrganizationSettings> {
  const row = await organizations.getOrganization(db, organizationId);
  if (!row) throw new AppError('organization.not_found', 'the organization has been deleted in the meantime');
  const { two_factor_required, created_at } = row;
  return { ...pickFields(noun, row), two_factor_required, created_at: created_at.toISOString() };
}
