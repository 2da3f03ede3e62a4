import type { JsonObject } from '../core/json.ts';
import * as users from '../services/users.ts';
import { list, plain, type Route } from './route.ts';
import { Address, CreatedUser, NewAddress, NewUser, UpdatedUser, User, UserUpdate } from './schemas.ts';

const update = (method: 'PUT' | 'PATCH', id: string) =>
  plain({
    method,
    path: '/api/o/:org/u/:username/',
    permission: 'user:write',
    id,
    summary: 'Update user',
    description: 'PUT and PATCH are the same: what is absent stays as it is.',
    tag: 'Users',
    status: 200,
    body: UserUpdate,
    answer: UpdatedUser,
    handle: ({ deps, organization, user, body }) => {
      const { first_name, last_name, locked, locale, custom_fields, _mode = 'IGNORE' } = body;
      return users.updateUser(deps, organization.id, user.id, {
        first_name,
        last_name,
        locked,
        locale,
        custom_fields: custom_fields as JsonObject | null | undefined,
        mode: _mode.toUpperCase() as users.CustomFieldsMode,
      });
    },
  });

export const userRoutes: Route[] = [
  list({
    path: '/api/o/:org/u/',
    permission: 'user:read',
    id: 'listUsers',
    summary: 'List users',
    tag: 'Users',
    item: User,
    list: ({ deps, organization }, page) => users.listUsers(deps.db, organization.id, page),
  }),
  plain({
    method: 'POST',
    path: '/api/o/:org/u/',
    permission: 'user:write',
    id: 'createUser',
    summary: 'Create user',
    description: 'The email in lower case becomes the username; the user gets it as the address `email`.',
    tag: 'Users',
    status: 201,
    body: NewUser,
    answer: CreatedUser,
    handle: ({ deps, organization, body }) =>
      users.createUser(deps, organization.id, {
        ...body,
        custom_fields: body.custom_fields as JsonObject | null | undefined,
      }),
  }),
  plain({
    method: 'GET',
    path: '/api/o/:org/u/:username/',
    permission: 'user:read',
    id: 'retrieveUser',
    summary: 'Retrieve user',
    tag: 'Users',
    status: 200,
    answer: User,
    handle: ({ user }) => user,
  }),
  update('PUT', 'updateUser'),
  update('PATCH', 'patchUser'),
  list({
    path: '/api/o/:org/u/:username/address/',
    permission: 'user:read',
    id: 'listUserAddresses',
    summary: 'List user addresses',
    tag: 'Users',
    item: Address,
    list: ({ deps, organization, user }, page) => users.listAddresses(deps.db, organization.id, user.id, page),
  }),
  plain({
    method: 'POST',
    path: '/api/o/:org/u/:username/address/',
    permission: 'user:write',
    id: 'addUserAddress',
    summary: 'Add user address',
    description: 'The same name and value again adds nothing.',
    tag: 'Users',
    status: 200,
    body: NewAddress,
    answer: Address,
    handle: ({ deps, organization, user, body }) => users.addAddress(deps, organization.id, user, body),
  }),
];
