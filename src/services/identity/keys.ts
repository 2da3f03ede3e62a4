/** API keys: authentication, creation, changes, rotation, revocation and deletion. */
import { parseDuration } from '../../core/durations.ts';
import { AppError, type FieldErrors, invalid } from '../../core/errors.ts';
import { generateKey, parseKey, secretsMatch } from '../../core/identity/keys.ts';
import { fullGrant, isPermission, permissions } from '../../core/identity/permissions.ts';
import type { Json } from '../../core/json.ts';
import { limits } from '../../core/text/text.ts';
import { type Db, violatedConstraint } from '../../db/connection/pool.ts';
import * as keys from '../../db/identity/keys.ts';
import { createNetworkCheck } from '../../lib/network/networks.ts';
import { currentTime } from '../../lib/time/clock.ts';
import type { Deps } from '../deps.ts';
import { differences, record } from '../operations/audit.ts';
import { changeCached } from '../operations/transaction.ts';
import {
  expiryErrors,
  type Granter,
  getKeyRules,
  isLater,
  latestExpiry,
  limitErrors,
  networkErrors,
  rateGroupOf,
  requireAllPermissions,
  requireGrantableKey,
} from './key-rules.ts';

export type { Key, KeyView } from '../../db/identity/keys.ts';

/** Throws when the key has changed since the caller read it. */
type Check = (current: keys.KeyView) => void;

/** A longer overlap would not be a rotation but a second key. */
const maxOverlapMs = 90 * 86_400_000;

/** Compiled once per cached key and collected with it. */
const networkChecks = new WeakMap<keys.Key, (address: string) => boolean>();

function isAllowedFrom(key: keys.Key, address: string): boolean {
  if (key.allowed_networks === null) return true;
  const check = networkChecks.get(key) ?? createNetworkCheck(key.allowed_networks);
  networkChecks.set(key, check);
  return check(address);
}

/** Throws `key.revoked`, `key.expired` or `key.network`. */
export function requireUsable(key: keys.Key, address: string, now: number): void {
  if (key.revoked_at) throw new AppError('key.revoked', `the API key ${key.name} was revoked: use another one`);
  if (key.expires_at && key.expires_at.getTime() <= now) {
    throw new AppError('key.expired', `the API key ${key.name} has expired: create a new one`);
  }
  if (!isAllowedFrom(key, address)) {
    throw new AppError('key.network', `the API key ${key.name} is not allowed from ${address}`);
  }
}

/**
 * Returns the key, or throws why it is not accepted or not accepted from this address. Returns synchronously when the key is
 * cached.
 */
export function authenticateKey(deps: Deps, text: string, address: string, now: number): keys.Key | Promise<keys.Key> {
  const parts = parseKey(text);
  if (!parts) throw new AppError('key.invalid', 'this is not an API key of this server');
  const check = (key: keys.Key | undefined): keys.Key => {
    if (!key || !secretsMatch(key.secret_hash, parts.secretHash)) {
      throw new AppError('key.invalid', 'this is not an API key of this server');
    }
    requireUsable(key, address, now);
    deps.keyUse.note(key.id, now);
    return key;
  };
  const found = deps.tenantCache.findKey(parts.id);
  return found instanceof Promise ? found.then(check) : check(found);
}

export interface KeyInput {
  name: string;
  /** Slugs of the project and application that the key is limited to. */
  project?: string;
  application?: string;
  permissions: string[];
  expires_at?: Date | null;
  requests_per_second?: number | null;
  allowed_networks?: string[] | null;
}

/** Creates a key with no more permissions than the granter. Returns the key itself, of which only a hash is stored. */
export async function createKey(
  deps: Deps,
  organizationSlug: string,
  input: KeyInput,
  granter: Granter = { grant: fullGrant },
  now = currentTime(),
): Promise<{ id: string; key: string }> {
  const { project, application } = input;
  const place = await deps.tenantCache.resolvePath({ org: organizationSlug, prj: project, app: application });
  if (!place) {
    const slugs = { org: organizationSlug };
    throw new AppError('organization.not_found', `there is no organization ${organizationSlug}`, { slugs });
  }
  const errors: FieldErrors = {};
  if (project !== undefined && !place.project)
    errors.project = [`no project ${JSON.stringify(project)} in ${organizationSlug}`];
  if (application !== undefined && project === undefined) errors.application = ['requires project'];
  else if (application !== undefined && !place.application)
    errors.application = [`no application ${JSON.stringify(application)} in ${project}`];
  const unknown = input.permissions.filter(name => !isPermission(name));
  const beyond = granter.grant.lacking(input.permissions);
  if (unknown.length > 0) errors.permissions = [`unknown: ${unknown.join(', ')} (known: *, ${permissions.join(', ')})`];
  else if (beyond.length > 0) errors.permissions = [`you cannot grant permissions that you lack: ${beyond.join(', ')}`];
  const { name, requests_per_second = null, allowed_networks = null, expires_at = null } = input;
  const organizationId = place.organization.id;
  const rules = await getKeyRules(deps.db, organizationId);
  const requested = { expires_at, requests_per_second, allowed_networks };
  Object.assign(errors, expiryErrors(rules, expires_at, now), limitErrors(granter, requested));
  Object.assign(errors, networkErrors(allowed_networks));
  if (Object.keys(errors).length > 0) throw invalid(errors);

  const { id, key, secretHash } = generateKey();
  const granted = {
    permissions: [...new Set(input.permissions)],
    requests_per_second,
    allowed_networks: allowed_networks && [...new Set(allowed_networks)],
    expires_at,
  };
  await deps.db.transaction().execute(async trx => {
    const created = await keys.createKey(trx, organizationId, {
      id,
      name,
      secret_hash: secretHash,
      project_id: place.project?.id ?? null,
      application_id: place.application?.id ?? null,
      rate_group: rateGroupOf(granter),
      ...granted,
    });
    if (!created) throw nameTaken(name);
    const after = { id, project, application, ...granted, expires_at: expires_at?.toISOString() ?? null } as Json;
    await record(deps, trx, organizationId, { action: 'create', noun: 'key', path: name, after });
  });
  return { id, key };
}

export async function getKey({ db }: Pick<Deps, 'db'>, organizationId: number, id: string): Promise<keys.KeyView> {
  const key = await keys.findKey(db, organizationId, id);
  if (!key) throw new AppError('key.not_found', 'the key no longer exists');
  return key;
}

/** Updates a key that has no more permissions than the caller, to limits within the caller's own. */
export async function updateKey(
  deps: Deps,
  organizationId: number,
  id: string,
  changes: keys.KeyChanges,
  granter: Granter,
  check: Check,
): Promise<keys.KeyView> {
  return changeCached(deps, organizationId, async trx => {
    requireAllPermissions(granter, await lock(trx, organizationId, id), 'cannot change it');
    const current = await getKey({ db: trx }, organizationId, id);
    check(current);
    const { expires_at } = changes;
    // Keeping or shortening the expiry is always allowed, even when the key is older than the organization's rule.
    const isExtended = expires_at !== undefined && isLater(expires_at, current.expires_at);
    const rules = isExtended && (await getKeyRules(trx, organizationId));
    const errors = {
      ...(rules && expiryErrors(rules, expires_at!, current.created_at.getTime())),
      ...limitErrors(granter, changes),
      ...networkErrors(changes.allowed_networks),
    };
    if (Object.keys(errors).length > 0) throw invalid(errors);
    await withUniqueName(changes.name, () => keys.updateKey(trx, organizationId, id, changes));
    const updated = await getKey({ db: trx }, organizationId, id);
    const changed = differences({ ...current, last_used_at: null }, { ...updated, last_used_at: null });
    if (changed)
      await record(deps, trx, organizationId, { action: 'update', noun: 'key', path: updated.name, ...changed });
    return updated;
  });
}

/**
 * Creates a key, of which only a hash is stored, with the name, permissions and limits of the old one, which keeps working for `overlap` under another name.
 * The caller learns the new secret, so the old key must have no more than the caller, and the new key expires no later than
 * the caller's.
 */
export async function rotateKey(
  deps: Deps,
  organizationId: number,
  id: string,
  overlap: string,
  granter: Granter,
  now: number,
) {
  const overlapMs = parseDuration(overlap);
  if (overlapMs === undefined || overlapMs > maxOverlapMs) {
    throw invalid({ overlap: ['must be a duration such as 90s, 10m, 24h or 7d, at most 90d'] });
  }
  return changeCached(deps, organizationId, async trx => {
    const old = await lock(trx, organizationId, id);
    requireGrantableKey(granter, old, 'cannot rotate it');
    if (old.revoked_at || (old.expires_at && old.expires_at.getTime() <= now)) {
      throw new AppError('key.ended', 'the key was revoked or has expired: create a new one');
    }
    const { created_at } = await getKey({ db: trx }, organizationId, id);
    const ends = new Date(Math.min(now + overlapMs, old.expires_at?.getTime() ?? Number.POSITIVE_INFINITY));
    const until = ` (until ${ends.toISOString().slice(0, 19)}Z)`;
    const formerName = old.name.slice(0, limits.name - until.length) + until;
    await withUniqueName(formerName, () =>
      keys.updateKey(trx, organizationId, id, { name: formerName, expires_at: ends }),
    );
    const generated = generateKey();
    // The new key gets the same lifetime as the old one, unless the organization now allows less.
    const lifetime = old.expires_at && old.expires_at.getTime() - created_at.getTime();
    const latest = latestExpiry(await getKeyRules(trx, organizationId), now);
    const expiries = [lifetime && new Date(now + lifetime), latest, granter.limits?.expires_at];
    const expires_at = expiries.reduce<Date | null>(
      (first, each) => (each && isLater(first, each) ? each : first),
      null,
    );
    const { name, permissions, project_id, application_id, requests_per_second, allowed_networks } = old;
    await keys.createKey(trx, organizationId, {
      id: generated.id,
      name,
      secret_hash: generated.secretHash,
      project_id,
      application_id,
      permissions,
      requests_per_second,
      rate_group: rateGroupOf(granter, old),
      allowed_networks,
      expires_at,
    });
    const after = {
      id: generated.id,
      expires_at: expires_at?.toISOString() ?? null,
      previous: id,
      previous_expires_at: ends.toISOString(),
    };
    await record(deps, trx, organizationId, { action: 'rotate', noun: 'key', path: name, before: { id }, after });
    return { id: generated.id, name, key: generated.key, previous: { id, expires_at: ends } };
  });
}

/** Deletes a key that was revoked or has expired. Prevents locking out a client that still uses it. */
export async function deleteKey(
  deps: Deps,
  organizationId: number,
  id: string,
  { dryRun, now, check }: { dryRun: boolean; now: number; check: Check },
): Promise<{ keys: number }> {
  return changeCached(deps, organizationId, async trx => {
    await lock(trx, organizationId, id);
    const current = await getKey({ db: trx }, organizationId, id);
    check(current);
    if (!current.revoked_at && !(current.expires_at && current.expires_at.getTime() <= now)) {
      throw new AppError('resource.in_use', `the key ${current.name} is still active: revoke it first`, {
        uses: { last_used_at: current.last_used_at?.toISOString() ?? null },
      });
    }
    if (dryRun) return { keys: 1 };
    await keys.deleteKey(trx, organizationId, id);
    const before = { id, permissions: current.permissions, revoked_at: current.revoked_at?.toISOString() ?? null };
    await record(deps, trx, organizationId, { action: 'delete', noun: 'key', path: current.name, before });
    return { keys: 1 };
  });
}

export async function revokeKey(deps: Deps, organizationId: number, idOrName: string): Promise<void> {
  await changeCached(deps, organizationId, async trx => {
    const revoked = await keys.revokeKey(trx, organizationId, idOrName);
    if (revoked.length === 0) {
      throw new AppError('key.not_found', `no key with the id or name ${idOrName}`);
    }
    for (const { id, name } of revoked) {
      await record(deps, trx, organizationId, { action: 'revoke', noun: 'key', path: name, after: { id } });
    }
  });
}

async function lock(db: Db, organizationId: number, id: string): Promise<Omit<keys.Key, 'group_rate'>> {
  const key = await keys.findKeyForUpdate(db, organizationId, id);
  if (!key) throw new AppError('key.not_found', 'the key no longer exists');
  return key;
}

async function withUniqueName(name: string | undefined, change: () => Promise<void>): Promise<void> {
  try {
    await change();
  } catch (error) {
    if (violatedConstraint(error) !== 'keys_organization_id_name_key') throw error;
    throw nameTaken(name);
  }
}

function nameTaken(name: string | undefined): AppError {
  return new AppError('resource.exists', `a key with the name ${name} already exists`, {
    fields: { name: ['is already used by another key of this organization'] },
  });
}
