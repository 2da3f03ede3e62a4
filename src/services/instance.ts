/** What lies above organizations: which there are for a caller, and new ones. */
import { AppError } from '../core/errors.ts';
import { listReachedAcrossTenants } from '../db/accounts.ts';
import { addMember } from '../db/memberships.ts';
import {
  createOrganizationAcrossTenants,
  findOrganizationsAcrossTenants,
  getOrganization,
  lockConfigurationAcrossTenants,
} from '../db/organizations.ts';
import type { PageRequest } from '../db/page.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';
import type { Session } from './sessions.ts';

interface KeyScope {
  organization_id: number;
  project_id: number | null;
}

/** A key reaches its organization, unless it is narrowed to something in it. */
export async function listReached(deps: Deps, scope: KeyScope | null, session: Session | undefined, page: PageRequest) {
  if (session) return listReachedAcrossTenants(deps.db, session.account.id, session.account.admin, page);
  if (!scope || scope.project_id !== null || page.after >= scope.organization_id) return [];
  const organization = await getOrganization(deps.db, scope.organization_id);
  return organization ? [organization] : [];
}

export async function createOrganization(deps: Deps, { account }: Session, fields: { slug: string; name: string }) {
  return deps.db.transaction().execute(async trx => {
    await lockConfigurationAcrossTenants(trx, [fields.slug]);
    if ((await findOrganizationsAcrossTenants(trx, [fields.slug])).length > 0) {
      throw new AppError('resource.exists', `there is an organization ${fields.slug} already`, {
        fields: { slug: ['is taken by another organization'] },
      });
    }
    const id = await createOrganizationAcrossTenants(trx, fields);
    await addMember(trx, id, account.id, 'owner');
    await record(deps, trx, id, { action: 'create', noun: 'organization', path: fields.slug, after: fields });
    const { retention_days, created_at } = (await getOrganization(trx, id))!;
    return { ...fields, retention_days, created_at };
  });
}
