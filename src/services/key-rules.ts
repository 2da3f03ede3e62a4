/** What an organization asks of its keys: how long they may live, and from where they are used. */
import { AppError, type FieldErrors } from '../core/errors.ts';
import { getOrganization } from '../db/organizations.ts';
import type { Db } from '../db/pool.ts';
import { isNetwork } from '../lib/networks.ts';

export interface KeyRules {
  /** Null: for ever. */
  maxLifetimeDays: number | null;
}

const dayMs = 86_400_000;

export async function requireRules(db: Db, organizationId: number): Promise<KeyRules> {
  const organization = await getOrganization(db, organizationId);
  if (!organization) throw new AppError('organization.not_found', 'the organization has been deleted meanwhile');
  return { maxLifetimeDays: organization.max_key_lifetime_days };
}

/** When a key that is made at that time has to end at the latest. */
export function latestExpiry({ maxLifetimeDays }: KeyRules, from: number): Date | null {
  return maxLifetimeDays === null ? null : new Date(from + maxLifetimeDays * dayMs);
}

/** Of a key that was made at that time. */
export function mistakesOfExpiry(rules: KeyRules, expiresAt: Date | null, madeAt: number): FieldErrors {
  const latest = latestExpiry(rules, madeAt);
  if (latest === null || (expiresAt !== null && expiresAt <= latest)) return {};
  const days = rules.maxLifetimeDays === 1 ? 'one day' : `${rules.maxLifetimeDays} days`;
  return {
    expires_at: [`must be ${latest.toISOString()} at the latest: keys of this organization live for ${days} at most`],
  };
}

export function mistakesOfNetworks(networks: readonly string[] | null | undefined): FieldErrors {
  const wrong = (networks ?? []).flatMap((text, i) => (isNetwork(text) ? [] : [[i, text] as const]));
  return Object.fromEntries(
    wrong.map(([i, text]) => [
      `allowed_networks/${i}`,
      [`${JSON.stringify(text)} is not an address or network such as 203.0.113.7, 10.0.0.0/8 or 2001:db8::/32`],
    ]),
  );
}
