import type { Db } from '../../db/connection/pool.ts';
import type { Deps } from '../deps.ts';

/**
 * Runs a transaction that changes what the tenant cache holds, and invalidates this process's cache at once: the announcement may
 * arrive after the caller's next request.
 */
export async function changeCached<T>(
  { db, tenantCache }: Pick<Deps, 'db' | 'tenantCache'>,
  organizationId: number,
  work: (trx: Db) => Promise<T>,
): Promise<T> {
  const result = await db.transaction().execute(work);
  tenantCache.invalidate(organizationId);
  return result;
}
