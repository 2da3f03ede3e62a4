/** Limits of organizations: what they are, and changing them. usage-meter.ts measures against them. */
import { AppError } from '../core/errors.ts';
import { limitNames, type OrganizationLimits } from '../core/limits.ts';
import * as limits from '../db/organization-limits.ts';
import type { Db } from '../db/pool.ts';
import { differences, record } from './audit.ts';
import type { Deps } from './deps.ts';

export type { OrganizationLimits } from '../core/limits.ts';

export interface Usage {
  users: number;
  stored_messages: number;
}

export interface DescribedLimits extends OrganizationLimits {
  used: Usage;
}

export async function describeLimits({ db, usage }: Deps, organizationId: number): Promise<DescribedLimits> {
  const [own, users, stored_messages] = await Promise.all([
    requireLimits(db, organizationId),
    limits.countUsers(db, organizationId),
    usage.countStored(db, organizationId, Date.now()),
  ]);
  return { ...own, used: { users, stored_messages } };
}

/** What is absent stays; null is no limit. */
export async function changeLimits(
  deps: Deps,
  organization: { id: number; slug: string },
  changes: Partial<OrganizationLimits>,
  check: (current: OrganizationLimits) => void = () => {},
): Promise<DescribedLimits> {
  const { id, slug } = organization;
  await deps.db.transaction().execute(async trx => {
    const current = await requireLimits(trx, id, { forUpdate: true });
    check(current);
    const given = limitNames.filter(name => changes[name] !== undefined);
    const next = { ...current, ...Object.fromEntries(given.map(name => [name, changes[name]])) };
    const changed = differences(current, next);
    if (!changed) return;
    await limits.updateLimits(trx, id, next);
    await record(deps, trx, id, { action: 'update', noun: 'limits', path: slug, ...changed });
  });
  deps.tenantCache.invalidate(id);
  return describeLimits(deps, id);
}

async function requireLimits(
  db: Db,
  organizationId: number,
  how?: { forUpdate: boolean },
): Promise<OrganizationLimits> {
  const found = await limits.findLimits(db, organizationId, how);
  if (!found) throw new AppError('organization.not_found', 'the organization has been deleted meanwhile');
  return found;
}
