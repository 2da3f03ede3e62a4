/** Reads and changes the limits of organizations. usage-meter.ts enforces them. */

import { limitNames, type OrganizationLimits } from '../../../core/configuration/limits.ts';
import { AppError } from '../../../core/errors.ts';
import * as limits from '../../../db/configuration/organization-limits.ts';
import type { Db } from '../../../db/connection/pool.ts';
import { findAttachmentUsage } from '../../../db/history/attachments.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { Deps } from '../../deps.ts';
import { differences, record } from '../../operations/audit.ts';

export type { OrganizationLimits } from '../../../core/configuration/limits.ts';

export interface Usage {
  users: number;
  stored_messages: number;
  attachment_bytes: number;
}

export interface LimitsWithUsage extends OrganizationLimits {
  used: Usage;
}

export async function getLimits({ db, usage }: Deps, organizationId: number): Promise<LimitsWithUsage> {
  const [own, users, stored_messages, attachments] = await Promise.all([
    requireLimits(db, organizationId),
    limits.countUsers(db, organizationId),
    usage.countStored(db, organizationId, currentTime()),
    findAttachmentUsage(db, organizationId),
  ]);
  return { ...own, used: { users, stored_messages, attachment_bytes: attachments.bytes } };
}

/** Changes limits: an absent one is kept, null removes the limit. */
export async function changeLimits(
  deps: Deps,
  organization: { id: number; slug: string },
  changes: Partial<OrganizationLimits>,
  check: (current: OrganizationLimits) => void = () => {},
): Promise<LimitsWithUsage> {
  const { id, slug } = organization;
  await deps.db.transaction().execute(async trx => {
    const current = await requireLimits(trx, id, { forUpdate: true });
    check(current);
    const names = limitNames.filter(name => changes[name] !== undefined);
    const next = { ...current, ...Object.fromEntries(names.map(name => [name, changes[name]])) };
    const changed = differences(current, next);
    if (!changed) return;
    await limits.updateLimits(trx, id, next);
    await record(deps, trx, id, { action: 'update', noun: 'limits', path: slug, ...changed });
  });
  deps.tenantCache.invalidate(id);
  return getLimits(deps, id);
}

async function requireLimits(
  db: Db,
  organizationId: number,
  options?: { forUpdate: boolean },
): Promise<OrganizationLimits> {
  const found = await limits.findLimits(db, organizationId, options);
  if (!found) throw new AppError('organization.not_found', 'the organization has been deleted in the meantime');
  return found;
}
