/** Registers users with an application: the user, the application's custom fields, and addresses. */
import { type FieldErrors, invalid } from '../../core/errors.ts';
import type { VisibleUsers } from '../../core/identity/visible-users.ts';
import { type JsonObject, mergePatch } from '../../core/json.ts';
import { addressKind, fold, isEmail, readAddress } from '../../core/text/text.ts';
import * as addresses from '../../db/audience/addresses.ts';
import { findListByName } from '../../db/audience/distribution-lists.ts';
import { addMembersByAddress } from '../../db/audience/members.ts';
import { findProjectMembers } from '../../db/audience/recipients.ts';
import * as registrations from '../../db/audience/registrations.ts';
import { createUser, findUserByName, findUserForUpdate, type User } from '../../db/audience/users.ts';
import type { ResolvedPath } from '../../db/configuration/organizations.ts';
import type { Db } from '../../db/connection/pool.ts';
import { currentTime } from '../../lib/time/clock.ts';
import type { Deps } from '../deps.ts';
import { record } from '../operations/audit.ts';

interface RegistrationInput {
  username: string;
  first_name?: string;
  last_name?: string;
  /** Defaults to the username. */
  email?: string;
  custom_fields?: JsonObject | null;
  active?: boolean;
  addresses?: { value: string; name?: string; assign_to_preferred_channel?: boolean }[] | null;
  /** Name of a list of the project. */
  distribution_list?: string | null;
}

type ApplicationScope = Pick<Required<ResolvedPath>, 'organization' | 'project' | 'application'>;

/** Does everything or nothing. Creates the user if needed; an existing user keeps name and email. */
export async function register(
  deps: Deps,
  { organization, project, application }: ApplicationScope,
  input: RegistrationInput,
  visible: VisibleUsers = 'all',
) {
  const username = fold(input.username);
  const named = readAddresses(input.addresses ?? []);
  const channels = await deps.tenantCache.listUsableChannels(organization.id, project.id);
  const result = await deps.db.transaction().execute(async trx => {
    const listName = input.distribution_list?.trim();
    const list = listName ? await findListByName(trx, organization.id, project.id, fold(listName)) : undefined;
    if (listName && !list) {
      throw invalid({
        distribution_list: [`there is no distribution list ${JSON.stringify(listName)} in this project`],
      });
    }
    const existing = await findUserByName(trx, organization.id, username);
    const user = existing ?? (await createRegisteredUser(deps, trx, organization.id, username, input));
    // Of two concurrent registrations of a user, the second merges into the result of the first.
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
      after: {
        ...membership,
        created: existing === undefined,
        addresses: shown,
        distribution_list: list?.name ?? null,
      },
    });
    const assignments = assigned.map(({ name, value }) => {
      const kind = addressKind(name);
      const channel = channels.find(candidate => candidate.enabled && candidate.type === kind);
      return { address: value, channel: channel?.slug ?? kind };
    });
    return { user, created: existing === undefined, membership, addresses: shown, assignments, list };
  });
  const { list, membership, user, ...rest } = result;
  return {
    ...rest,
    user: (await isVisible(deps, organization.id, project.id, result, visible)) ? user : hideUser(user, input),
    membership: { application: application.slug, ...membership },
    distribution_list: list?.name ?? null,
  };
}

/** A caller sees the users that it has created. */
async function isVisible(
  { pool }: Deps,
  organizationId: number,
  projectId: number,
  { user, created }: { user: User; created: boolean },
  visible: VisibleUsers,
): Promise<boolean> {
  if (visible === 'all' || created) return true;
  return visible === 'project' && (await findProjectMembers(pool, organizationId, projectId, [user.id])).has(user.id);
}

/** Returns the user with nothing but what the caller has sent. */
function hideUser(
  user: User,
  { username, email = username, first_name = '', last_name = '' }: RegistrationInput,
): User {
  return { ...user, email, first_name, last_name, locked: false };
}

async function createRegisteredUser(
  deps: Deps,
  trx: Db,
  organizationId: number,
  username: string,
  { email: emailInput, first_name = '', last_name = '', username: usernameInput }: RegistrationInput,
): Promise<User> {
  const email = emailInput || usernameInput;
  if (!isEmail(email)) {
    throw invalid({ email: ['is required to create a user, unless the username is an email address itself'] });
  }
  const fields = { username, email, first_name, last_name, custom_fields: {}, locale: null };
  const id = await createUser(trx, organizationId, fields);
  // A concurrent request has just created this user.
  if (id === undefined) return (await findUserByName(trx, organizationId, username))!;
  await deps.usage.admitUsers(trx, organizationId, 1, currentTime());
  await addresses.addAddress(trx, organizationId, id, { name: 'email', value: email });
  const after = { username, email, first_name, last_name };
  await record(deps, trx, organizationId, { action: 'create', noun: 'user', path: username, after });
  return (await findUserByName(trx, organizationId, username))!;
}

function readAddresses(inputs: NonNullable<RegistrationInput['addresses']>) {
  const errors: FieldErrors = {};
  const named = inputs.map(
    ({ value, name = defaultName(value), assign_to_preferred_channel: isAssigned = true }, i) => {
      if (!name) errors[`addresses/${i}/name`] = ['is required unless the value is an email address or a phone number'];
      const read = readAddress(name, value);
      if ('mistake' in read) errors[`addresses/${i}/value`] = [read.mistake];
      return { name, value: 'mistake' in read ? value : read.value, isAssigned };
    },
  );
  if (Object.keys(errors).length > 0) throw invalid(errors);
  return named;
}

function defaultName(value: string): string {
  return isEmail(value) ? 'email' : value.startsWith('+') ? 'phone' : '';
}

/** Removes the registration. Memberships and addresses are kept. */
export async function unregister(
  deps: Deps,
  { organization, project, application }: ApplicationScope,
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
