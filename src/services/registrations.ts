/** Registering people with an application: the person, what the application knows of them, and how they are reached. */
import { type FieldErrors, invalid } from '../core/errors.ts';
import { type JsonObject, mergePatch } from '../core/json.ts';
import { addressKind, fold, isEmail, readAddress } from '../core/text.ts';
import * as addresses from '../db/addresses.ts';
import { findListByName } from '../db/distribution-lists.ts';
import { addMembersByAddress } from '../db/members.ts';
import type { Place } from '../db/organizations.ts';
import type { PageRequest } from '../db/page.ts';
import type { Db } from '../db/pool.ts';
import * as registrations from '../db/registrations.ts';
import { createUser, findUserByName, findUserForUpdate, type User } from '../db/users.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';

export interface RegistrationInput {
  username: string;
  first_name?: string;
  last_name?: string;
  /** Empty: the username. */
  email?: string;
  custom_fields?: JsonObject | null;
  active?: boolean;
  addresses?: { value: string; name?: string; assign_to_preferred_channel?: boolean }[] | null;
  /** Name of a list of the project. */
  distribution_list?: string | null;
}

type At = Pick<Required<Place>, 'organization' | 'project' | 'application'>;

/** All or nothing. Whoever is unknown becomes a user; whoever is known keeps name and email. */
export async function register(deps: Deps, { organization, project, application }: At, input: RegistrationInput) {
  const username = fold(input.username);
  const named = readAddresses(input.addresses ?? []);
  const channels = await deps.tenantCache.listUsableChannels(organization.id, project.id);
  const answer = await deps.db.transaction().execute(async trx => {
    const wanted = input.distribution_list?.trim();
    const list = wanted ? await findListByName(trx, organization.id, project.id, fold(wanted)) : undefined;
    if (wanted && !list) {
      throw invalid({ distribution_list: [`there is no distribution list ${JSON.stringify(wanted)} in this project`] });
    }
    const known = await findUserByName(trx, organization.id, username);
    const user = known ?? (await createPerson(deps, trx, organization.id, username, input));
    // Of two who register the same person at once, the second merges into what the first wrote.
    await findUserForUpdate(trx, organization.id, user.id);
    const before = await registrations.findRegistrationForUpdate(trx, organization.id, application.id, user.id);
    const custom_fields = mergePatch(before?.custom_fields ?? {}, input.custom_fields ?? {}) as JsonObject;
    const membership = { active: input.active ?? true, custom_fields };
    await registrations.putRegistration(trx, organization.id, application.id, user.id, membership);
    for (const { name, value } of named) await addresses.addAddress(trx, organization.id, user.id, { name, value });
    const assigned = named.filter(({ isAssigned }) => isAssigned);
    if (list) await addMembersByAddress(trx, organization.id, list.id, user.id, assigned);
    const shown = named.map(({ name, value }) => ({ name, value }));
    await record(deps, trx, organization.id, {
      action: 'register',
      noun: 'user',
      path: `${project.slug}/${application.slug}/${username}`,
      after: { ...membership, created: known === undefined, addresses: shown, distribution_list: list?.name ?? null },
    });
    const assignments = assigned.map(({ name, value }) => {
      const kind = addressKind(name);
      const channel = channels.find(candidate => candidate.enabled && candidate.type === kind);
      return { address: value, channel: channel?.slug ?? kind };
    });
    return { user, created: known === undefined, membership, addresses: shown, assignments, list };
  });
  const { list, membership, ...rest } = answer;
  return {
    ...rest,
    membership: { application: application.slug, ...membership },
    distribution_list: list?.name ?? null,
  };
}

async function createPerson(
  deps: Deps,
  trx: Db,
  organizationId: number,
  username: string,
  { email: given, first_name = '', last_name = '', username: written }: RegistrationInput,
): Promise<User> {
  const email = given || written;
  if (!isEmail(email)) {
    throw invalid({ email: ['is required to create a user, unless the username is an email address itself'] });
  }
  const fields = { username, email, first_name, last_name, custom_fields: {}, locale: null };
  const id = await createUser(trx, organizationId, fields);
  // Somebody else has just created the same.
  if (id === undefined) return (await findUserByName(trx, organizationId, username))!;
  await deps.usage.admitUsers(trx, organizationId, 1, Date.now());
  await addresses.addAddress(trx, organizationId, id, { name: 'email', value: email });
  const after = { username, email, first_name, last_name };
  await record(deps, trx, organizationId, { action: 'create', noun: 'user', path: username, after });
  return (await findUserByName(trx, organizationId, username))!;
}

interface NamedAddress {
  name: string;
  value: string;
  isAssigned: boolean;
}

function readAddresses(given: NonNullable<RegistrationInput['addresses']>): NamedAddress[] {
  const errors: FieldErrors = {};
  const named = given.map(({ value, name = usualName(value), assign_to_preferred_channel: isAssigned = true }, i) => {
    if (!name) errors[`addresses/${i}/name`] = ['is required: only emails and phone numbers are known by themselves'];
    const read = readAddress(name, value);
    if ('mistake' in read) errors[`addresses/${i}/value`] = [read.mistake];
    return { name, value: 'mistake' in read ? value : read.value, isAssigned };
  });
  if (Object.keys(errors).length > 0) throw invalid(errors);
  return named;
}

function usualName(value: string): string {
  return isEmail(value) ? 'email' : value.startsWith('+') ? 'phone' : '';
}

export async function listRegistrationsOfUser({ db }: Deps, organizationId: number, userId: number, page: PageRequest) {
  return registrations.listRegistrationsOfUser(db, organizationId, userId, page);
}

/** Lists and addresses stay as they are. */
export async function unregister(
  deps: Deps,
  { organization, project, application }: At,
  user: { id: number; username: string },
): Promise<{ deleted: number }> {
  return deps.db.transaction().execute(async trx => {
    const deleted = await registrations.deleteRegistration(trx, organization.id, application.id, user.id);
    const path = `${project.slug}/${application.slug}/${user.username}`;
    const entry = { action: 'unregister', noun: 'user', path, after: { deleted } } as const;
    if (deleted > 0) await record(deps, trx, organization.id, entry);
    return { deleted };
  });
}
