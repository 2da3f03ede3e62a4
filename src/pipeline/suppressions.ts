/** Finds out which addresses of recipients are on the suppression list of their organization. */
import { type Suppression, targetsOf } from '../core/audience/suppressions.ts';
import { findSuppressionsAcrossTenants } from '../db/audience/suppressions.ts';
import type { Statements } from '../db/connection/pool.ts';
import type { Plans } from './plans.ts';

interface SuppressibleUser {
  organization_id: number;
  addresses: { name: string; value: string; suppression?: Suppression }[];
}

/**
 * Sets `suppression` on the addresses of these recipients that are on the list, with one lookup for all of them; none if
 * their organizations have never had an entry. Returns the recipients.
 */
export async function markSuppressed<User extends SuppressibleUser>(
  { pool, plans }: { pool: Statements; plans: Pick<Plans, 'suppresses'> },
  users: User[],
): Promise<User[]> {
  const suppressing = new Set<number>();
  for (const id of new Set(users.map(user => user.organization_id))) {
    if (await plans.suppresses(id)) suppressing.add(id);
  }
  if (suppressing.size === 0) return users;
  const addresses = users
    .filter(user => suppressing.has(user.organization_id))
    .flatMap(({ organization_id: organizationId, addresses }) =>
      addresses.map(address => ({
        address,
        wanted: targetsOf(address).map(target => ({ organizationId, ...target })),
      })),
    );
  // Many recipients have the same domain.
  const wanted = new Map(addresses.flatMap(one => one.wanted.map(target => [keyOf(target), target])));
  const found = await findSuppressionsAcrossTenants(pool, [...wanted.values()]);
  const byKey = new Map(
    found.map(({ organization_id: organizationId, channel_type: channelType, ...suppression }) => [
      keyOf({ organizationId, channelType, target: suppression.target }),
      suppression,
    ]),
  );
  for (const { address, wanted } of addresses) {
    const entries = wanted.flatMap(target => byKey.get(keyOf(target)) ?? []);
    // The domain may be on the list for all channels, and the address only for those of a project.
    const suppression = entries.find(({ projects }) => !projects) ?? entries[0];
    if (suppression) address.suppression = suppression;
  }
  return users;
}

function keyOf(wanted: { organizationId: number; channelType: string; target: string }): string {
  return `${wanted.organizationId}/${wanted.channelType}/${wanted.target}`;
}
