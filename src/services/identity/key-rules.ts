/**
 * Limits on what a key may be granted: what the organization allows, and no more than the caller has. A key that creates,
 * changes or rotates keys is the upper bound of their permissions, expiry, rate and networks. Its scope needs no check: a key
 * that is limited to a project has no access to the routes of keys, accounts or webhooks.
 */
import { AppError, type FieldErrors, invalid } from '../../core/errors.ts';
import type { Grant } from '../../core/identity/permissions.ts';
import { mayGrant, type Role } from '../../core/identity/roles.ts';
import { getOrganization } from '../../db/configuration/organizations.ts';
import type { Db } from '../../db/connection/pool.ts';
import type { Key } from '../../db/identity/keys.ts';
import { isNetwork, isWithinNetworks } from '../../lib/network/networks.ts';

export type KeyLimits = Pick<Key, 'expires_at' | 'requests_per_second' | 'allowed_networks'>;
type RateGroupMember = Pick<Key, 'id' | 'rate_group' | 'requests_per_second'>;

/** The caller who grants a key or a role. */
export interface Granter {
  grant: Grant;
  /** Limits of the calling API key. Absent for accounts and the command line, which have none. */
  limits?: KeyLimits & RateGroupMember;
}

interface KeyRules {
  /** Null means no limit. */
  maxLifetimeDays: number | null;
}

const dayMs = 86_400_000;

export async function getKeyRules(db: Db, organizationId: number): Promise<KeyRules> {
  const organization = await getOrganization(db, organizationId);
  if (!organization) throw new AppError('organization.not_found', 'the organization no longer exists');
  return { maxLifetimeDays: organization.max_key_lifetime_days };
}

/** Returns the latest allowed expiry of a key created at `from`; null means that it need not expire. */
export function latestExpiry({ maxLifetimeDays }: KeyRules, from: number): Date | null {
  return maxLifetimeDays === null ? null : new Date(from + maxLifetimeDays * dayMs);
}

export function expiryErrors(rules: KeyRules, expiresAt: Date | null, createdAt: number): FieldErrors {
  const latest = latestExpiry(rules, createdAt);
  if (latest === null || (expiresAt !== null && expiresAt <= latest)) return {};
  const days = rules.maxLifetimeDays === 1 ? 'one day' : `${rules.maxLifetimeDays} days`;
  return {
    expires_at: [`must not be after ${latest.toISOString()}: keys of this organization expire after at most ${days}`],
  };
}

export function networkErrors(networks: readonly string[] | null | undefined): FieldErrors {
  const wrong = (networks ?? []).flatMap((text, i) => (isNetwork(text) ? [] : [[i, text] as const]));
  return Object.fromEntries(
    wrong.map(([i, text]) => [
      `allowed_networks/${i}`,
      [`${JSON.stringify(text)} is not an address or network such as 203.0.113.7, 10.0.0.0/8 or 2001:db8::/32`],
    ]),
  );
}

/** Returns an error for each limit that is wider than the caller's own. An absent limit is not being changed. */
export function limitErrors({ limits }: Granter, requested: Partial<KeyLimits>): FieldErrors {
  if (!limits) return {};
  const { expires_at, requests_per_second, allowed_networks } = limits;
  const errors: FieldErrors = {};
  if (requested.expires_at !== undefined && isLater(requested.expires_at, expires_at)) {
    errors.expires_at = [`must not be after ${expires_at!.toISOString()}, when your own key expires`];
  }
  if (requested.requests_per_second !== undefined && isHigher(requested.requests_per_second, requests_per_second)) {
    errors.requests_per_second = [`must be at most ${requests_per_second}, the rate of your own key`];
  }
  if (requested.allowed_networks !== undefined && allowed_networks !== null) {
    const beyond = requested.allowed_networks?.filter(network => !isWithinNetworks(network, allowed_networks));
    if (!beyond || beyond.length > 0) {
      const reason = beyond ? `${beyond.join(', ')} is not within` : 'must be within';
      errors.allowed_networks = [`${reason} ${allowed_networks.join(', ')}, the networks of your own key`];
    }
  }
  return errors;
}

/**
 * Returns the group whose rate a new key shares: that of the key that creates it, else of the key that it replaces. Without
 * this, a key could multiply its rate by creating or rotating keys.
 */
export function rateGroupOf({ limits }: Granter, replaced?: RateGroupMember): string | null {
  const limited = [limits, replaced].find(key => key && key.requests_per_second !== null);
  return limited ? (limited.rate_group ?? limited.id) : null;
}

/** Null means never. */
export function isLater(a: Date | null, b: Date | null): boolean {
  return b !== null && (a === null || a > b);
}

/** Null means no limit. */
function isHigher(a: number | null, b: number | null): boolean {
  return b !== null && (a === null || a > b);
}

/** Throws unless the caller has every permission of the key. */
export function requireAllPermissions({ grant }: Granter, key: Pick<Key, 'permissions'>, otherwise: string): void {
  const beyond = grant.lacking(key.permissions);
  if (beyond.length > 0)
    throw invalid({ key: [`has permissions that you lack (${beyond.join(', ')}), so you ${otherwise}`] });
}

/** Throws unless the caller could have created the key as it is. */
export function requireGrantableKey(
  granter: Granter,
  key: Pick<Key, 'permissions'> & KeyLimits,
  otherwise: string,
): void {
  requireAllPermissions(granter, key, otherwise);
  const beyond = Object.entries(limitErrors(granter, key)).map(([field, [mistake]]) => `${field} ${mistake}`);
  if (beyond.length > 0)
    throw invalid({ key: [`has wider limits than your own key, so you ${otherwise}: ${beyond.join('; ')}`] });
}

/** Throws when the role has permissions that the caller lacks. */
export function requireGrantable({ grant }: Granter, role: Role): void {
  if (mayGrant(grant, role)) return;
  throw new AppError(
    'role.permission',
    `the role ${role} has permissions that you lack: you cannot grant or revoke it`,
  );
}

/** Throws for a key with limits: accounts have no limits, so granting a role would grant more than the key has. */
export function requireUnlimited({ limits }: Granter): void {
  if (!limits) return;
  const own = [
    limits.expires_at && `expires at ${limits.expires_at.toISOString()}`,
    limits.requests_per_second !== null && `is limited to ${limits.requests_per_second} requests per second`,
    limits.allowed_networks && `works only from ${limits.allowed_networks.join(', ')}`,
  ].filter(Boolean);
  if (own.length === 0) return;
  throw new AppError(
    'key.limited',
    `your API key ${own.join(' and ')}, but accounts have no such limits: grant roles with an unlimited key or in the console`,
  );
}
