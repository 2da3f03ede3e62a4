import { AppError, invalid } from '../core/errors.ts';
import { type JsonObject, mergePatch } from '../core/json.ts';
import { isTimezone, notATimezone } from '../core/quiet-hours.ts';
import type { Beginnings } from '../core/search.ts';
import { fold, normalizeLocale, notALocale, readAddress } from '../core/text.ts';
import * as addresses from '../db/addresses.ts';
import { listMemberships as listRows } from '../db/members.ts';
import type { PageRequest } from '../db/page.ts';
import {
  listUsersByName as listByName,
  type NamePlace,
  type SearchPage,
  searchUsers as search,
} from '../db/user-search.ts';
import * as users from '../db/users.ts';
import { differences, record } from './audit.ts';
import type { Deps } from './deps.ts';

export type { WholeAddress } from '../db/addresses.ts';
export type { WrittenPage } from '../db/page.ts';
export type { SearchPlace } from '../db/user-search.ts';
export type { Profile } from '../db/users.ts';

/** Throws when what is there now is not what the caller has read. */
export type Check<T> = (current: T) => void;

export async function findUser({ db }: Deps, organizationId: number, username: string) {
  return users.findUserByName(db, organizationId, fold(username));
}

/** In the order of ids, as JSON that the database writes: an organization may have very many. */
export async function writeUsers({ db }: Deps, organizationId: number, page: PageRequest) {
  return users.writeUsers(db, organizationId, page);
}

export async function searchUsers(
  { db }: Deps,
  organizationId: number,
  ways: readonly Beginnings[],
  page: SearchPage,
  locked?: boolean,
) {
  return search(db, organizationId, ways, page, locked);
}

export async function listUsersByName(
  { db }: Deps,
  organizationId: number,
  locked: boolean | undefined,
  page: { after: NamePlace | undefined; limit: number },
) {
  return listByName(db, organizationId, locked, page);
}

/** The lists that the user is a member of. */
export async function listMemberships({ db }: Deps, organizationId: number, userId: number, page: PageRequest) {
  return listRows(db, organizationId, userId, page);
}

export async function listAddresses({ db }: Deps, organizationId: number, userId: number, page: PageRequest) {
  return addresses.listAddresses(db, organizationId, userId, page);
}

/** With what is known of each besides its name and value. */
export async function listWholeAddresses({ db }: Deps, organizationId: number, userId: number, page: PageRequest) {
  return addresses.listWholeAddresses(db, organizationId, userId, page);
}

export interface UserInput {
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
      throw new AppError('user.exists', `there is a user ${user.username} in this organization already`, {
        fields: { email: ['belongs to a user of this organization already'] },
      });
    }
    await deps.usage.admitUsers(trx, organizationId, 1, Date.now());
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

export interface UserUpdate {
  first_name?: string;
  last_name?: string;
  locked?: boolean;
  /** Empty or null: none. */
  locale?: string | null;
  timezone?: string | null;
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
  const { custom_fields: given, mode, locale: written, timezone: zone, ...changes } = update;
  const timezone = zone === undefined ? undefined : readTimezone(zone);
  const locale = written === undefined ? undefined : readLocale(written);
  return deps.db.transaction().execute(async trx => {
    const current = await users.findUserForUpdate(trx, organizationId, id);
    if (!current) throw new AppError('user.not_found', 'the user has been deleted meanwhile');
    check(current);
    const custom_fields = given ? applyCustomFields(current.custom_fields, given, mode) : undefined;
    const updated = await users.updateUser(trx, organizationId, id, { ...changes, locale, timezone, custom_fields });
    const changed = differences({ ...current, updated_at: null }, { ...updated, updated_at: null });
    const path = updated.username;
    if (changed) await record(deps, trx, organizationId, { action: 'update', noun: 'user', path, ...changed });
    return updated;
  });
}

/** As it is kept: null for none. */
function readLocale(text: string | null | undefined): string | null {
  if (!text) return null;
  const locale = normalizeLocale(text);
  if (locale === undefined) throw invalid({ locale: [notALocale] });
  return locale;
}

/** The same. */
export function readTimezone(text: string | null): string | null {
  if (!text) return null;
  if (!isTimezone(text)) throw invalid({ timezone: [notATimezone] });
  return text;
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
  if (!profile) throw new AppError('user.not_found', 'the user has been deleted meanwhile');
  return profile;
}

/** With addresses, memberships and inbox; what was sent stays on record. Tells what went, or would go. */
export async function deleteUser(
  deps: Deps,
  organizationId: number,
  id: number,
  dryRun: boolean,
  check: Check<users.Profile>,
) {
  return deps.db.transaction().execute(async trx => {
    const current = await users.findUserForUpdate(trx, organizationId, id);
    if (!current) throw new AppError('user.not_found', 'the user has been deleted meanwhile');
    check(current);
    const deleted = { users: 1, ...(await users.countUserParts(trx, organizationId, id)) };
    if (dryRun) return deleted;
    await users.deleteUsers(trx, organizationId, [current.username]);
    const { email, first_name, last_name, locked, locale, timezone, custom_fields } = current;
    const before = { email, first_name, last_name, locked, locale, timezone, custom_fields };
    await record(deps, trx, organizationId, { action: 'delete', noun: 'user', path: current.username, before });
    return deleted;
  });
}

interface Owner {
  id: number;
  username: string;
}

export async function findAddress({ db }: Deps, organizationId: number, userId: number, id: number) {
  return addresses.findAddress(db, organizationId, userId, id);
}

/** One that is switched off is not used until it is switched on again. */
export async function setAddressEnabled(deps: Deps, organizationId: number, user: Owner, id: number, enabled: boolean) {
  const reason = `switched off by ${deps.actor.name}`;
  return deps.db.transaction().execute(async trx => {
    const address = await addresses.setAddressEnabled(trx, organizationId, id, enabled, reason);
    if (!address) throw new AppError('address.not_found', 'the address has been deleted meanwhile');
    const entry = { action: 'update', noun: 'address', path: `${user.username}/${address.name}`, after: { enabled } };
    await record(deps, trx, organizationId, entry);
    return address;
  });
}

/** An address by which the user is a member of lists goes with these memberships, or not at all. */
export async function deleteAddress(
  deps: Deps,
  organizationId: number,
  user: Owner,
  { id, name, value }: addresses.Address,
  { cascade, dryRun }: { cascade: boolean; dryRun: boolean },
) {
  return deps.db.transaction().execute(async trx => {
    const members = await addresses.countMembersBy(trx, organizationId, id);
    if (members > 0 && !cascade) {
      throw new AppError('resource.in_use', 'the user is a member of lists by this address: add ?cascade=true', {
        uses: { members },
      });
    }
    const deleted = { addresses: 1, members };
    if (dryRun) return deleted;
    await addresses.deleteAddress(trx, organizationId, id);
    const entry = { action: 'delete', noun: 'address', path: `${user.username}/${name}`, before: { name, value } };
    await record(deps, trx, organizationId, entry);
    return deleted;
  });
}
