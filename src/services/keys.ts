import { AppError, type FieldErrors, invalid } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import { generateKey, parseKey, sameSecret } from '../core/keys.ts';
import { allows, everything, isPermission, permissions } from '../core/permissions.ts';
import * as keys from '../db/keys.ts';
import { createNetworkCheck } from '../lib/networks.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';
import { mistakesOfExpiry, mistakesOfNetworks, requireRules } from './key-rules.ts';

export type { Key } from '../db/keys.ts';

export async function listKeys({ db }: Deps, organizationId: number) {
  return keys.listKeys(db, organizationId);
}

/** Made once for each key as it was read, and gone with it. */
const networkChecks = new WeakMap<keys.Key, (address: string) => boolean>();

function mayComeFrom(key: keys.Key, address: string): boolean {
  if (key.allowed_networks === null) return true;
  const check = networkChecks.get(key) ?? createNetworkCheck(key.allowed_networks);
  networkChecks.set(key, check);
  return check(address);
}

/**
 * The key that this text is, or the error that tells why it is none, or none for this address. Answers at once when the
 * key is known.
 */
export function authenticate(deps: Deps, text: string, address: string, now: number): keys.Key | Promise<keys.Key> {
  const given = parseKey(text);
  if (!given) throw new AppError('key.invalid', 'this is not an API key of this server');
  const check = (key: keys.Key | undefined): keys.Key => {
    if (!key || !sameSecret(key.secret_hash, given.secretHash)) {
      throw new AppError('key.invalid', 'this is not an API key of this server');
    }
    if (key.revoked_at) throw new AppError('key.revoked', `the API key ${key.name} was revoked: use another one`);
    if (key.expires_at && key.expires_at.getTime() <= now) {
      throw new AppError('key.expired', `the API key ${key.name} has expired: create a new one`);
    }
    if (!mayComeFrom(key, address)) {
      throw new AppError('key.network', `the API key ${key.name} may not be used from ${address}`);
    }
    deps.keyUse.note(key.id, now);
    return key;
  };
  const found = deps.tenantCache.findKey(given.id);
  return found instanceof Promise ? found.then(check) : check(found);
}

export interface KeyInput {
  name: string;
  /** Slugs of what the key is narrowed to. */
  project?: string;
  application?: string;
  permissions: string[];
  expires_at?: Date | null;
  requests_per_second?: number | null;
  allowed_networks?: string[] | null;
}

/** Returns the key itself, which is shown this once and stored nowhere. Nobody can give what they do not have. */
export async function createKey(
  deps: Deps,
  organizationSlug: string,
  input: KeyInput,
  granter: readonly string[] = [everything],
  now = Date.now(),
): Promise<{ id: string; key: string }> {
  const { project, application } = input;
  const place = await deps.tenantCache.findPlace({ org: organizationSlug, prj: project, app: application });
  if (!place) throw new AppError('organization.not_found', `there is no organization ${organizationSlug}`);
  const errors: FieldErrors = {};
  if (project !== undefined && !place.project)
    errors.project = [`there is no project ${JSON.stringify(project)} in ${organizationSlug}`];
  if (application !== undefined && project === undefined) errors.application = ['needs its project too'];
  else if (application !== undefined && !place.application)
    errors.application = [`there is no application ${JSON.stringify(application)} in ${project}`];
  const unknown = input.permissions.filter(name => !isPermission(name));
  const beyond = input.permissions.filter(name => isPermission(name) && !allows(granter, name));
  if (unknown.length > 0)
    errors.permissions = [`unknown: ${unknown.join(', ')} (there are *, ${permissions.join(', ')})`];
  else if (beyond.length > 0) errors.permissions = [`you lack ${beyond.join(', ')} and cannot grant it`];
  const { name, requests_per_second = null, allowed_networks = null, expires_at = null } = input;
  const organizationId = place.organization.id;
  const rules = await requireRules(deps.db, organizationId);
  Object.assign(errors, mistakesOfNetworks(allowed_networks), mistakesOfExpiry(rules, expires_at, now));
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
      ...granted,
    });
    if (!created) {
      throw new AppError('key.name_taken', `the organization has a key named ${name} already`, {
        fields: { name: ['is taken by another key of this organization'] },
      });
    }
    const after = { id, project, application, ...granted, expires_at: expires_at?.toISOString() ?? null } as Json;
    await record(deps, trx, organizationId, { action: 'create', noun: 'key', path: name, after });
  });
  return { id, key };
}

export async function revokeKey(deps: Deps, organizationId: number, idOrName: string): Promise<void> {
  await deps.db.transaction().execute(async trx => {
    const revoked = await keys.revokeKey(trx, organizationId, idOrName);
    if (revoked.length === 0) {
      throw new AppError('key.not_found', `the organization has no key with the id or name ${idOrName}`);
    }
    for (const { id, name } of revoked) {
      await record(deps, trx, organizationId, { action: 'revoke', noun: 'key', path: name, after: { id } });
    }
  });
}
