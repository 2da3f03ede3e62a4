import { Type } from 'typebox';
import type { JsonObject } from '../core/json.ts';
import { readSearch } from '../core/search.ts';
import * as users from '../services/users.ts';
import { ifMatch, tagged } from './etag.ts';
import { badCursor, type Call, list, ordered, plain } from './route.ts';
import {
  Address,
  CascadeQuery,
  CreatedUser,
  Deleted,
  DeleteQuery,
  Membership,
  NewAddress,
  NewUser,
  Profile,
  ProfileUpdate,
  UpdatedUser,
  User,
  UserUpdate,
  WholeAddress,
} from './schemas.ts';
import { parseNamePlace, parsePlace, placeText, Search } from './search.ts';

export function showProfile({ created_at, updated_at, ...profile }: users.Profile) {
  return { ...profile, created_at: created_at.toISOString(), updated_at: updated_at.toISOString() };
}

function showAddress({ disabled_at, ...address }: users.WholeAddress) {
  return { ...address, disabled_at: disabled_at?.toISOString() ?? null };
}

/** If-Match holds for all changes of a user: the tag is that of the profile. */
function unchanged(call: Call) {
  return ifMatch(call, showProfile);
}

const update = (id: string) =>
  plain(['org', 'username'], {
    id,
    summary: 'Update user',
    description: 'PUT and PATCH are the same: what is absent stays as it is.',
    tag: 'Users',
    status: 200,
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
      return users.updateUser(deps, organization.id, user.id, update, unchanged(call));
    },
  });

const UserFilter = Type.Object({
  ...Search.properties,
  order: Type.Optional(Type.Enum(['id', 'name'], { description: '`id`, unless told; `locked` makes it `name`.' })),
  locked: Type.Optional(Type.Boolean({ description: 'Only those who are locked, or only those who are not.' })),
});

export const listUsers = ordered(['org'], {
  id: 'listUsers',
  summary: 'List users',
  description:
    'With `search`, those whose first name, last name or email begins with it, in this order. With `order=name` as people ' +
    'sort names: Ann 2 before Ann 10, and who has no name by the username.',
  tag: 'Users',
  query: UserFilter,
  item: User,
  personal: 'user',
  written: ({ deps, organization, query }, { after, limit }) => {
    if (readSearch(query.search ?? '').length > 0 || query.order === 'name' || query.locked !== undefined)
      return undefined;
    if (!/^\d{0,15}$/.test(after)) throw badCursor();
    return users.writeUsers(deps, organization.id, { after: Number(after), limit });
  },
  list: async ({ deps, organization, query }, page) => {
    const { limit } = page;
    const ways = readSearch(query.search ?? '');
    if (ways.length === 0) {
      const named = { after: parseNamePlace(page.after), limit };
      const rows = await users.listUsersByName(deps, organization.id, query.locked, named);
      return rows.map(({ place, ...row }) => ({ ...row, cursor: JSON.stringify([place.id, place.key]) }));
    }
    const after = parsePlace(page.after, ways);
    const rows = await users.searchUsers(deps, organization.id, ways, { after, limit }, query.locked);
    return rows.map(({ place, ...row }) => ({ ...row, cursor: placeText(place) }));
  },
});

export const createUser = plain(['org'], {
  id: 'createUser',
  summary: 'Create user',
  description: 'The email in lower case becomes the username; the user gets it as the address `email`.',
  tag: 'Users',
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

export const updateUser = update('updateUser');
export const patchUser = update('patchUser');

export const retrieveUser = plain(['org', 'username'], {
  id: 'retrieveUser',
  summary: 'Retrieve user',
  tag: 'Users',
  status: 200,
  answer: User,
  handle: ({ user }) => user,
});

export const retrieveProfile = plain(['org', 'username'], {
  id: 'retrieveProfile',
  summary: 'Retrieve profile',
  description: 'All that there is to know of a user, with an ETag for changes.',
  tag: 'Users',
  status: 200,
  answer: Profile,
  handle: async call =>
    tagged(call, showProfile(await users.getProfile(call.deps, call.organization.id, call.user.id))),
});

export const updateProfile = plain(['org', 'username'], {
  id: 'updateProfile',
  summary: 'Update profile',
  description: 'What is absent stays as it is; `custom_fields` takes the place of the old ones.',
  tag: 'Users',
  status: 200,
  body: ProfileUpdate,
  answer: Profile,
  handle: async call => {
    const { deps, organization, user, body } = call;
    const update = { ...body, custom_fields: body.custom_fields as JsonObject | undefined, mode: 'REPLACE' as const };
    return tagged(call, showProfile(await users.updateUser(deps, organization.id, user.id, update, unchanged(call))));
  },
});

export const listMemberships = list(['org', 'username'], {
  id: 'listMemberships',
  summary: 'List memberships',
  description: 'The distribution lists that the user is a member of.',
  tag: 'Users',
  item: Membership,
  list: ({ deps, organization, user }, page) => users.listMemberships(deps, organization.id, user.id, page),
});

export const listWholeAddresses = list(['org', 'username'], {
  id: 'listWholeAddresses',
  summary: 'List addresses with their state',
  tag: 'Users',
  item: WholeAddress,
  list: async ({ deps, organization, user }, page) =>
    (await users.listWholeAddresses(deps, organization.id, user.id, page)).map(showAddress),
});

export const updateAddress = plain(['org', 'username', 'address'], {
  id: 'updateAddress',
  summary: 'Switch address on or off',
  description: 'What is off is not used; one that Belfry switched off because it no longer works can be tried again.',
  tag: 'Users',
  status: 200,
  body: Type.Object({ enabled: Type.Boolean() }, { $id: 'AddressUpdate', additionalProperties: false }),
  answer: WholeAddress,
  handle: async call => {
    const { deps, organization, user, address, body } = call;
    ifMatch(call)(showAddress(address));
    const changed = await users.setAddressEnabled(deps, organization.id, user, address.id, body.enabled);
    return tagged(call, showAddress(changed));
  },
});

export const deleteAddress = plain(['org', 'username', 'address'], {
  id: 'deleteAddress',
  summary: 'Delete address',
  description: 'One that lists know the user by goes only with `cascade`, and the memberships with it.',
  tag: 'Users',
  status: 200,
  problems: [409],
  query: CascadeQuery,
  answer: Deleted,
  handle: async call => {
    const { deps, organization, user, address, query } = call;
    const { cascade = false, dry_run = false } = query;
    ifMatch(call)(showAddress(address));
    const deleted = await users.deleteAddress(deps, organization.id, user, address, { cascade, dryRun: dry_run });
    return { deleted, ...(dry_run && { dry_run }) };
  },
});

export const deleteUser = plain(['org', 'username'], {
  id: 'deleteUser',
  summary: 'Delete user',
  description: 'With addresses, memberships and inbox. What was sent stays on record, as that of a deleted user.',
  tag: 'Users',
  status: 200,
  query: DeleteQuery,
  answer: Deleted,
  handle: async call => {
    const { deps, organization, user, query } = call;
    const { dry_run = false } = query;
    const deleted = await users.deleteUser(deps, organization.id, user.id, dry_run, unchanged(call));
    return { deleted, ...(dry_run && { dry_run }) };
  },
});

export const listUserAddresses = list(['org', 'username'], {
  id: 'listUserAddresses',
  summary: 'List user addresses',
  tag: 'Users',
  item: Address,
  list: ({ deps, organization, user }, page) => users.listAddresses(deps, organization.id, user.id, page),
});

export const addUserAddress = plain(['org', 'username'], {
  id: 'addUserAddress',
  summary: 'Add user address',
  description: 'The same name and value again adds nothing.',
  tag: 'Users',
  status: 200,
  body: NewAddress,
  answer: Address,
  handle: ({ deps, organization, user, body }) => users.addAddress(deps, organization.id, user, body),
});
