import { Type } from 'typebox';
import { parseSearch } from '../../core/audience/search.ts';
import type { JsonObject } from '../../core/json.ts';
import { optionalBoolean } from '../../core/optional.ts';
import * as addressQueries from '../../db/audience/addresses.ts';
import * as memberQueries from '../../db/audience/members.ts';
import * as searchQueries from '../../db/audience/user-search.ts';
import * as queries from '../../db/audience/users.ts';
import { withSuppressions } from '../../services/audience/suppressions.ts';
import * as users from '../../services/audience/users.ts';
import type { Deps } from '../../services/deps.ts';
import { ifMatch, withEtag } from '../server/etag.ts';
import { badCursor, endpoints } from '../server/route.ts';
import {
  Address,
  CreatedUser,
  Membership,
  NewAddress,
  NewUser,
  Profile,
  ProfileUpdate,
  UpdatedUser,
  User,
  UserUpdate,
  WholeAddress,
} from '../server/schemas.ts';
import { formatSearchCursor, parseNameCursor, parseSearchCursor, Search } from './search.ts';

const { deletion, list, ordered, plain } = endpoints('Users');

export async function showAddresses(deps: Deps, organization: { id: number }, addresses: users.WholeAddress[]) {
  const shown = await withSuppressions(deps, organization.id, addresses);
  return shown.map(address => ({ ...address, suppression: address.suppression ?? null }));
}

const update = (id: string) =>
  plain(['org', 'username'], {
    id,
    summary: 'Update user',
    description: 'PUT and PATCH do the same: absent fields are left unchanged.',
    body: UserUpdate,
    answer: UpdatedUser,
    handle: call => {
      const { deps, organization, user, body } = call;
      const { first_name, last_name, locked, locale, custom_fields, _mode = 'IGNORE' } = body;
      const update = {
        first_name,
        last_name,
        locked,
        locale,
        custom_fields: custom_fields as JsonObject | null | undefined,
        mode: _mode.toUpperCase() as users.CustomFieldsMode,
      };
      return users.updateUser(deps, organization.id, user.id, update, ifMatch(call));
    },
  });

const UserFilter = Type.Object({
  ...Search.properties,
  order: Type.Optional(Type.Enum(['id', 'name'], { description: 'Default: `id`, or `name` together with `locked`.' })),
  locked: optionalBoolean({ description: 'True: only locked users. False: only users that are not locked.' }),
});

export const listUsers = ordered(['org'], {
  id: 'listUsers',
  readsReplica: true,
  summary: 'List users',
  description:
    'With `search`, matches of the first name come first, then of the last name, then of the email. With `order=name`, names ' +
    'are sorted naturally (Ann 2 before Ann 10), and users without a name by username.',
  query: UserFilter,
  item: User,
  personal: 'user',
  listJson: ({ deps, organization, query }, { after, limit }) => {
    if (parseSearch(query.search ?? '').length > 0 || query.order === 'name' || query.locked !== undefined)
      return undefined;
    if (!/^\d{0,15}$/.test(after)) throw badCursor();
    return queries.listUsersAsJson(deps.db, organization.id, { after: Number(after), limit });
  },
  list: async ({ deps, organization, query }, page) => {
    const { limit } = page;
    const patterns = parseSearch(query.search ?? '');
    if (patterns.length === 0) {
      const named = { after: parseNameCursor(page.after), limit };
      const rows = await searchQueries.listUsersByName(deps.db, organization.id, query.locked, named);
      return rows.map(({ position, ...row }) => ({ ...row, cursor: JSON.stringify([position.id, position.key]) }));
    }
    const after = parseSearchCursor(page.after, patterns);
    const rows = await searchQueries.searchUsers(deps.db, organization.id, patterns, { after, limit }, query.locked);
    return rows.map(({ position, ...row }) => ({ ...row, cursor: formatSearchCursor(position) }));
  },
});

export const createUser = plain(['org'], {
  id: 'createUser',
  summary: 'Create user',
  description: 'The lower-case email becomes the username, and the email is added as an address named `email`.',
  status: 201,
  problems: [409],
  body: NewUser,
  answer: CreatedUser,
  handle: ({ deps, organization, body }) =>
    users.createUser(deps, organization.id, {
      ...body,
      custom_fields: body.custom_fields as JsonObject | null | undefined,
    }),
});

export const putUser = update('putUser');
export const updateUser = update('updateUser');

export const retrieveUser = plain(['org', 'username'], {
  id: 'retrieveUser',
  summary: 'Retrieve user',
  answer: User,
  handle: ({ user }) => user,
});

export const retrieveProfile = plain(['org', 'username'], {
  id: 'retrieveProfile',
  summary: 'Retrieve profile',
  description: 'Returns all fields of a user, with an ETag for updates.',
  answer: Profile,
  handle: async call => withEtag(call, await users.getProfile(call.deps, call.organization.id, call.user.id)),
});

export const updateProfile = plain(['org', 'username'], {
  id: 'updateProfile',
  summary: 'Update profile',
  description: 'Absent fields are left unchanged; `custom_fields` replaces the previous ones.',
  body: ProfileUpdate,
  answer: Profile,
  handle: async call => {
    const { deps, organization, user, body } = call;
    const update = { ...body, custom_fields: body.custom_fields as JsonObject | undefined, mode: 'REPLACE' as const };
    return withEtag(call, await users.updateUser(deps, organization.id, user.id, update, ifMatch(call)));
  },
});

export const listMemberships = list(['org', 'username'], {
  id: 'listMemberships',
  summary: 'List memberships',
  description: 'The distribution lists that the user is a member of.',
  item: Membership,
  list: ({ deps, organization, user }, page) => memberQueries.listMemberships(deps.db, organization.id, user.id, page),
});

export const listWholeAddresses = list(['org', 'username'], {
  id: 'listWholeAddresses',
  summary: 'List addresses with status',
  item: WholeAddress,
  list: async ({ deps, organization, user }, page) =>
    showAddresses(deps, organization, await addressQueries.listWholeAddresses(deps.db, organization.id, user.id, page)),
});

export const updateAddress = plain(['org', 'username', 'address'], {
  id: 'updateAddress',
  summary: 'Update address',
  description:
    'Enables or disables an address, or marks it as verified without a code. A disabled address is not used. An address that Belfry ' +
    'disabled because it failed can be enabled again.',
  body: Type.Object(
    { enabled: Type.Optional(Type.Boolean()), verified: Type.Optional(Type.Boolean()) },
    { $id: 'AddressUpdate', additionalProperties: false, minProperties: 1 },
  ),
  answer: WholeAddress,
  handle: async call => {
    const { deps, organization, user, address, body } = call;
    ifMatch(call)(address);
    const { enabled, verified } = body;
    let changed: users.WholeAddress = address;
    if (enabled !== undefined)
      changed = await users.setAddressEnabled(deps, organization.id, user, address.id, enabled);
    if (verified !== undefined)
      changed = await users.setAddressVerified(deps, organization.id, user, address, verified);
    const [shown] = await showAddresses(deps, organization, [changed]);
    return withEtag(call, shown!, changed);
  },
});

export const deleteAddress = deletion(['org', 'username', 'address'], {
  id: 'deleteAddress',
  summary: 'Delete address',
  description: 'An address with list memberships is only deleted with `cascade`, together with the memberships.',
  problems: [409],
  cascades: true,
  delete: async (call, options) => {
    const { deps, organization, user, address } = call;
    ifMatch(call)(address);
    return users.deleteAddress(deps, organization.id, user, address, options);
  },
});

export const deleteUser = deletion(['org', 'username'], {
  id: 'deleteUser',
  summary: 'Delete user',
  description:
    'Deletes the user with addresses, memberships and inbox. Deliveries are kept as those of a deleted user.',
  delete: (call, { dryRun }) => users.deleteUser(call.deps, call.organization.id, call.user.id, dryRun, ifMatch(call)),
});

export const listUserAddresses = list(['org', 'username'], {
  id: 'listUserAddresses',
  summary: 'List user addresses',
  item: Address,
  list: ({ deps, organization, user }, page) => addressQueries.listAddresses(deps.db, organization.id, user.id, page),
});

export const addUserAddress = plain(['org', 'username'], {
  id: 'addUserAddress',
  summary: 'Add user address',
  description: 'Adding an existing name and value again changes nothing.',
  body: NewAddress,
  answer: Address,
  handle: ({ deps, organization, user, body }) => users.addAddress(deps, organization.id, user, body),
});
