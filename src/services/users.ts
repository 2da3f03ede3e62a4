import { AppError, invalid } from '../core/errors.ts';
import { type JsonObject, mergePatch } from '../core/json.ts';
import { fold, normalizeLocale, notALocale, readAddress } from '../core/text.ts';
import * as addresses from '../db/addresses.ts';
import * as users from '../db/users.ts';
import { differences, record } from './audit.ts';
import type { Deps } from './deps.ts';

export { listAddresses } from '../db/addresses.ts';
export { listUsers } from '../db/users.ts';

export async function findUser({ db }: Deps, organizationId: number, username: string) {
  return users.findUserByName(db, organizationId, fold(username));
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
  custom_fields?: JsonObject | null;
  mode: CustomFieldsMode;
}

export async function updateUser(deps: Deps, organizationId: number, id: number, update: UserUpdate) {
  const { custom_fields: given, mode, locale: written, ...changes } = update;
  const locale = written === undefined ? undefined : readLocale(written);
  return deps.db.transaction().execute(async trx => {
    const current = await users.findUserForUpdate(trx, organizationId, id);
    if (!current) throw new AppError('user.not_found', 'the user has been deleted meanwhile');
    const custom_fields = given ? applyCustomFields(current.custom_fields, given, mode) : undefined;
    const updated = await users.updateUser(trx, organizationId, id, { ...changes, locale, custom_fields });
    const changed = differences(current, updated);
    const path = updated.username;
    if (changed) await record(deps, trx, organizationId, { action: 'update', noun: 'user', path, ...changed });
    const { locale: _, ...shown } = updated;
    return shown;
  });
}

/** As it is kept: null for none. */
function readLocale(text: string | null | undefined): string | null {
  if (!text) return null;
  const locale = normalizeLocale(text);
  if (locale === undefined) throw invalid({ locale: [notALocale] });
  return locale;
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
