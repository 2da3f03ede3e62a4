import { isTimezone, notATimezone } from '../../core/decision/quiet-hours.ts';
import { AppError, invalid } from '../../core/errors.ts';
import { type JsonObject, mergePatch } from '../../core/json.ts';
import { findReachMistakes, type Reach, toStoredReach } from '../../core/oncall/reach.ts';
import { fold, normalizeLocale, notALocale, readAddress } from '../../core/text/text.ts';
import * as addresses from '../../db/audience/addresses.ts';
import * as users from '../../db/audience/users.ts';
import type { Db } from '../../db/connection/pool.ts';
import { currentTime } from '../../lib/time/clock.ts';
import type { Deps } from '../deps.ts';
import { differences, record } from '../operations/audit.ts';

export type { WholeAddress } from '../../db/audience/addresses.ts';
export type { SearchPosition } from '../../db/audience/user-search.ts';
export type { Profile } from '../../db/audience/users.ts';
export type { JsonPage } from '../../db/connection/page.ts';

/** Throws when the current state differs from what the caller has read (If-Match). */
type Check<T> = (current: T) => void;

export async function findUser({ db }: Deps, organizationId: number, username: string) {
  return users.findUserByName(db, organizationId, fold(username));
}

interface UserInput {
  email: string;
  first_name?: string;
  last_name?: string;
  /** Empty or null: none. */
  locale?: string | null;
  custom_fields?: JsonObject | null;
}

export async function createUser(deps: Deps, organizationId: number, input: UserInput) {
  const user = {
    username: fold(input.email),
    email: input.email,
    first_name: input.first_name ?? '',
    last_name: input.last_name ?? '',
    custom_fields: input.custom_fields ?? {},
  };
  const locale = readLocale(input.locale);
  return deps.db.transaction().execute(async trx => {
    const id = await users.createUser(trx, organizationId, { ...user, locale });
    if (id === undefined) {
      throw new AppError('user.exists', `the user ${user.username} already exists in this organization`, {
        fields: { email: ['already belongs to a user of this organization'] },
      });
    }
    await deps.usage.admitUsers(trx, organizationId, 1, currentTime());
    await addresses.addAddress(trx, organizationId, id, { name: 'email', value: user.email });
    await record(deps, trx, organizationId, {
      action: 'create',
      noun: 'user',
      path: user.username,
      after: { ...user, locale },
    });
    return { id, ...user };
  });
}

export type CustomFieldsMode = 'REPLACE' | 'MERGE' | 'IGNORE';

interface UserUpdate {
  first_name?: string;
  last_name?: string;
  locked?: boolean;
  /** Empty or null: none. */
  locale?: string | null;
  timezone?: string | null;
  /** Without rules or null: none. */
  reach?: Reach | null;
  custom_fields?: JsonObject | null;
  mode: CustomFieldsMode;
}

export async function updateUser(
  deps: Deps,
  organizationId: number,
  id: number,
  update: UserUpdate,
  check: Check<users.Profile> = () => {},
) {
  const { custom_fields: given, mode, locale: written, timezone: zone, reach: rules, ...changes } = update;
  const reach = rules === undefined ? undefined : readReach(rules);
  const timezone = zone === undefined ? undefined : readTimezone(zone);
  const locale = written === undefined ? undefined : readLocale(written);
  return deps.db.transaction().execute(async trx => {
    const current = await users.findUserForUpdate(trx, organizationId, id);
    if (!current) throw new AppError('user.not_found', 'the user has been deleted');
    check(current);
    const custom_fields = given ? applyCustomFields(current.custom_fields, given, mode) : undefined;
    const updated = await users.updateUser(trx, organizationId, id, {
      ...changes,
      locale,
      timezone,
      reach,
      custom_fields,
    });
    const changed = differences({ ...current, updated_at: null }, { ...updated, updated_at: null });
    const path = updated.username;
    if (changed) await record(deps, trx, organizationId, { action: 'update', noun: 'user', path, ...changed });
    return updated;
  });
}

/** Validates and normalizes a locale; null or empty means none. */
function readLocale(text: string | null | undefined): string | null {
  if (!text) return null;
  const locale = normalizeLocale(text);
  if (locale === undefined) throw invalid({ locale: [notALocale] });
  return locale;
}

/** Validates a time zone; null or empty means none. */
export function readTimezone(text: string | null): string | null {
  if (!text) return null;
  if (!isTimezone(text)) throw invalid({ timezone: [notATimezone] });
  return text;
}

/** Stores a user's own rules in the caller's transaction. Throws when they are invalid. */
export async function storeReach(
  deps: Pick<Deps, 'actor'>,
  trx: Db,
  organizationId: number,
  { id, username }: AddressOwner,
  rules: Reach | null,
): Promise<void> {
  const reach = readReach(rules);
  const before = await users.findUserForUpdate(trx, organizationId, id);
  if (!before) throw new AppError('user.not_found', 'the user has been deleted');
  const changed = differences({ reach: before.reach }, { reach });
  if (!changed) return;
  await users.updateUser(trx, organizationId, id, { reach });
  await record(deps, trx, organizationId, { action: 'update', noun: 'user', path: username, ...changed });
}

/** Validates rules; null or empty means none. */
export function readReach(reach: Reach | null): Reach | null {
  const mistakes = Object.entries(findReachMistakes(reach ?? {}));
  if (mistakes.length > 0) throw invalid(Object.fromEntries(mistakes.map(([at, text]) => [`reach/${at}`, [text]])));
  return toStoredReach(reach);
}

function applyCustomFields(current: JsonObject, given: JsonObject, mode: CustomFieldsMode): JsonObject | undefined {
  switch (mode) {
    case 'REPLACE':
      return given;
    case 'MERGE':
      return mergePatch(current, given) as JsonObject;
    case 'IGNORE':
      return undefined;
  }
}

export async function addAddress(
  deps: Deps,
  organizationId: number,
  user: { id: number; username: string },
  input: { name: string; value: string },
) {
  const { name } = input;
  const read = readAddress(name, input.value);
  if ('mistake' in read) throw invalid({ value: [read.mistake] });
  const address = { name, value: read.value };
  return deps.db.transaction().execute(async trx => {
    if (await addresses.addAddress(trx, organizationId, user.id, address)) {
      const path = `${user.username}/${name}`;
      await record(deps, trx, organizationId, { action: 'create', noun: 'address', path, after: address });
    }
    return address;
  });
}

export async function getProfile({ db }: Deps, organizationId: number, id: number) {
  const profile = await users.findProfile(db, organizationId, id);
  if (!profile) throw new AppError('user.not_found', 'the user has been deleted');
  return profile;
}

/**
 * Deletes a user with addresses, memberships and inbox, and keeps the deliveries. Returns the counts of deleted rows.
 */
export async function deleteUser(
  deps: Deps,
  organizationId: number,
  id: number,
  dryRun: boolean,
  check: Check<users.Profile>,
) {
  return deps.db.transaction().execute(async trx => {
    const current = await users.findUserForUpdate(trx, organizationId, id);
    if (!current) throw new AppError('user.not_found', 'the user has been deleted');
    check(current);
    const deleted = { users: 1, ...(await users.countUserDependents(trx, organizationId, id)) };
    if (dryRun) return deleted;
    await users.deleteUsers(trx, organizationId, [current.username]);
    const { email, first_name, last_name, locked, locale, timezone, reach, custom_fields } = current;
    const before = { email, first_name, last_name, locked, locale, timezone, reach, custom_fields };
    await record(deps, trx, organizationId, { action: 'delete', noun: 'user', path: current.username, before });
    return deleted;
  });
}

interface AddressOwner {
  id: number;
  username: string;
}

/** A disabled address is not used until it is enabled again. */
export async function setAddressEnabled(
  deps: Deps,
  organizationId: number,
  user: AddressOwner,
  id: number,
  enabled: boolean,
) {
  const reason = `switched off by ${deps.actor.name}`;
  return deps.db.transaction().execute(async trx => {
    const address = await addresses.setAddressEnabled(trx, organizationId, id, enabled, reason);
    if (!address) throw new AppError('address.not_found', 'the address has been deleted');
    const entry = { action: 'update', noun: 'address', path: `${user.username}/${address.name}`, after: { enabled } };
    await record(deps, trx, organizationId, entry);
    return address;
  });
}

/** Marks an address as verified, or as not verified, without a code. */
export async function setAddressVerified(
  deps: Deps,
  organizationId: number,
  user: AddressOwner,
  address: addresses.Address,
  verified: boolean,
): Promise<addresses.WholeAddress> {
  return deps.db.transaction().execute(trx => storeVerified(deps, trx, organizationId, user, address, verified));
}

/** Stores whether an address is verified in the caller's transaction. */
export async function storeVerified(
  deps: Pick<Deps, 'actor'>,
  trx: Db,
  organizationId: number,
  user: AddressOwner,
  { id, name, value }: addresses.Address,
  verified: boolean,
): Promise<addresses.WholeAddress> {
  if (await addresses.setAddressVerified(trx, organizationId, { id, name, value }, verified)) {
    const entry = { action: 'update', noun: 'address', path: `${user.username}/${name}`, after: { verified } };
    await record(deps, trx, organizationId, entry);
  }
  const address = await addresses.findAddress(trx, organizationId, user.id, id);
  if (!address) throw new AppError('address.not_found', 'the address has been deleted');
  return address;
}

/** Refuses to delete an address with list memberships unless `cascade` is set, which deletes them as well. */
export async function deleteAddress(
  deps: Deps,
  organizationId: number,
  user: AddressOwner,
  { id, name, value }: addresses.Address,
  { cascade, dryRun }: { cascade: boolean; dryRun: boolean },
) {
  return deps.db.transaction().execute(async trx => {
    const members = await addresses.countMembersByAddress(trx, organizationId, id);
    if (members > 0 && !cascade) {
      throw new AppError(
        'resource.in_use',
        'the user is a member of lists with this address: add ?cascade=true to delete the memberships as well',
        {
          uses: { members },
        },
      );
    }
    const deleted = { addresses: 1, members };
    if (dryRun) return deleted;
    await addresses.deleteAddress(trx, organizationId, id);
    const entry = { action: 'delete', noun: 'address', path: `${user.username}/${name}`, before: { name, value } };
    await record(deps, trx, organizationId, entry);
    return deleted;
  });
}
