/** Keys over time: renamed, limited, replaced by a new secret while the old one still works, and cleared away. */

import { parseDuration } from '../core/durations.ts';
import { AppError, invalid } from '../core/errors.ts';
import { generateKey } from '../core/keys.ts';
import { allows } from '../core/permissions.ts';
import { limits } from '../core/text.ts';
import * as keys from '../db/keys.ts';
import { violatedConstraint } from '../db/pool.ts';
import { differences, record } from './audit.ts';
import type { Deps } from './deps.ts';
import { latestExpiry, mistakesOfExpiry, mistakesOfNetworks, requireRules } from './key-rules.ts';

export type { KeyView } from '../db/keys.ts';

/** Throws when what is there now is not what the caller has read. */
type Check = (current: keys.KeyView) => void;

/** Longer than this, a key is not being rotated but doubled. */
const longestOverlapMs = 90 * 86_400_000;

export async function findKey({ db }: Deps, organizationId: number, id: string) {
  return keys.findKey(db, organizationId, id);
}

export async function getKey({ db }: Pick<Deps, 'db'>, organizationId: number, id: string): Promise<keys.KeyView> {
  const key = await keys.findKey(db, organizationId, id);
  if (!key) throw new AppError('key.not_found', 'the key has been deleted meanwhile');
  return key;
}

/** Only of a key that can do no more than the granter: a longer life or another limit is a power as well. */
export async function updateKey(
  deps: Deps,
  organizationId: number,
  id: string,
  changes: keys.KeyChanges,
  granter: readonly string[],
  check: Check,
): Promise<keys.KeyView> {
  return deps.db.transaction().execute(async trx => {
    requireAll(granter, await lock(trx, organizationId, id), 'cannot change it');
    const current = await getKey({ db: trx }, organizationId, id);
    check(current);
    const mistakes = mistakesOfNetworks(changes.allowed_networks);
    const { expires_at } = changes;
    // Ending as before or sooner is always right, also for a key from before the rule.
    const isLater =
      (expires_at?.getTime() ?? Number.POSITIVE_INFINITY) > (current.expires_at?.getTime() ?? Number.POSITIVE_INFINITY);
    if (expires_at !== undefined && isLater) {
      const rules = await requireRules(trx, organizationId);
      Object.assign(mistakes, mistakesOfExpiry(rules, expires_at, current.created_at.getTime()));
    }
    if (Object.keys(mistakes).length > 0) throw invalid(mistakes);
    await named(changes.name, () => keys.updateKey(trx, organizationId, id, changes));
    const updated = await getKey({ db: trx }, organizationId, id);
    const changed = differences({ ...current, last_used_at: null }, { ...updated, last_used_at: null });
    if (changed)
      await record(deps, trx, organizationId, { action: 'update', noun: 'key', path: updated.name, ...changed });
    return updated;
  });
}

export interface Rotated {
  id: string;
  name: string;
  /** Shown this once. */
  key: string;
  previous: { id: string; expires_at: Date };
}

/**
 * A new key with the name and the powers of the old one, which goes on working for a while under another name. Nobody gets
 * in this way what they do not have: the secret of a key can do what the key can.
 */
export async function rotateKey(
  deps: Deps,
  organizationId: number,
  id: string,
  overlap: string,
  granter: readonly string[],
  now: number,
): Promise<Rotated> {
  const overlapMs = parseDuration(overlap);
  if (overlapMs === undefined || overlapMs > longestOverlapMs) {
    throw invalid({ overlap: ['must be a duration such as 90s, 10m, 24h or 7d, of 90 days at most'] });
  }
  return deps.db.transaction().execute(async trx => {
    const old = await lock(trx, organizationId, id);
    requireAll(granter, old, 'cannot have its new secret');
    if (old.revoked_at || (old.expires_at && old.expires_at.getTime() <= now)) {
      throw new AppError('key.ended', 'the key was revoked or has expired: create a new one');
    }
    const { created_at } = await getKey({ db: trx }, organizationId, id);
    const ends = new Date(Math.min(now + overlapMs, old.expires_at?.getTime() ?? Number.POSITIVE_INFINITY));
    const until = ` (until ${ends.toISOString().slice(0, 19)}Z)`;
    const formerName = old.name.slice(0, limits.name - until.length) + until;
    await named(formerName, () => keys.updateKey(trx, organizationId, id, { name: formerName, expires_at: ends }));
    const made = generateKey();
    // As long a life as the old one was given, if keys may still live so long.
    const life = old.expires_at && old.expires_at.getTime() - created_at.getTime();
    const latest = latestExpiry(await requireRules(trx, organizationId), now);
    const expiries = [...(life === null ? [] : [now + life]), ...(latest ? [latest.getTime()] : [])];
    const expires_at = expiries.length === 0 ? null : new Date(Math.min(...expiries));
    const { name, permissions, project_id, application_id, requests_per_second, allowed_networks } = old;
    await keys.createKey(trx, organizationId, {
      id: made.id,
      name,
      secret_hash: made.secretHash,
      project_id,
      application_id,
      permissions,
      requests_per_second,
      allowed_networks,
      expires_at,
    });
    const after = {
      id: made.id,
      expires_at: expires_at?.toISOString() ?? null,
      previous: id,
      previous_expires_at: ends.toISOString(),
    };
    await record(deps, trx, organizationId, { action: 'rotate', noun: 'key', path: name, before: { id }, after });
    return { id: made.id, name, key: made.key, previous: { id, expires_at: ends } };
  });
}

/** Only one that opens nothing any more: whatever still uses it would be locked out without a word. */
export async function deleteKey(
  deps: Deps,
  organizationId: number,
  id: string,
  { dryRun, now, check }: { dryRun: boolean; now: number; check: Check },
): Promise<{ keys: number }> {
  return deps.db.transaction().execute(async trx => {
    await lock(trx, organizationId, id);
    const current = await getKey({ db: trx }, organizationId, id);
    check(current);
    if (!current.revoked_at && !(current.expires_at && current.expires_at.getTime() <= now)) {
      throw new AppError('resource.in_use', `the key ${current.name} still works: revoke it first`, {
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

/** Whoever changes a key needs every permission that it has. */
function requireAll(granter: readonly string[], key: keys.Key, otherwise: string): void {
  const beyond = key.permissions.filter(name => !allows(granter, name as '*'));
  if (beyond.length > 0) throw invalid({ key: [`you lack ${beyond.join(', ')}, which it can do, and ${otherwise}`] });
}

async function lock(db: Deps['db'], organizationId: number, id: string): Promise<keys.Key> {
  const key = await keys.findKeyForUpdate(db, organizationId, id);
  if (!key) throw new AppError('key.not_found', 'the key has been deleted meanwhile');
  return key;
}

async function named(name: string | undefined, change: () => Promise<void>): Promise<void> {
  try {
    await change();
  } catch (error) {
    if (violatedConstraint(error) !== 'keys_organization_id_name_key') throw error;
    throw new AppError('resource.exists', `the organization has a key named ${name} already`, {
      fields: { name: ['is taken by another key of this organization'] },
    });
  }
}
