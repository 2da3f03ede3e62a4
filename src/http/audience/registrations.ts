import { Type } from 'typebox';
import { visibleUsers } from '../../core/identity/visible-users.ts';
import type { JsonObject } from '../../core/json.ts';
import { optionalBoolean, optionalString } from '../../core/optional.ts';
import { limits } from '../../core/text/text.ts';
import * as queries from '../../db/audience/registrations.ts';
import * as registrations from '../../services/audience/registrations.ts';
import { endpoints } from '../server/route.ts';
import { closed, customFields, nameOfUser, nullable, nullableText, timestamp, User } from '../server/schemas.ts';

const { list, plain } = endpoints('Users');

const NewRegistration = Type.Object(
  {
    username: Type.String({ minLength: 1, maxLength: limits.email, pattern: '\\S', patternHint: 'must not be blank' }),
    first_name: Type.Optional(nameOfUser),
    last_name: Type.Optional(nameOfUser),
    email: optionalString({ maxLength: limits.email, description: 'Default: the username.' }),
    custom_fields: Type.Optional(Type.Union([customFields, Type.Null()])),
    active: optionalBoolean({ description: 'Default: true.' }),
    addresses: Type.Optional(
      Type.Array(
        Type.Object(
          {
            value: Type.String({ minLength: 1, maxLength: limits.subscription }),
            name: optionalString({
              minLength: 1,
              maxLength: limits.name,
              pattern: '^[^\\r\\n]*[^\\s][^\\r\\n]*$',
              patternHint: 'must be a single line that is not blank',
              description: 'Default: `email` or `phone`, depending on the value.',
            }),
            assign_to_preferred_channel: optionalBoolean({ description: 'Default: true.' }),
          },
          closed,
        ),
        { maxItems: 100 },
      ),
    ),
    distribution_list: Type.Optional(
      nullable(
        Type.String({ maxLength: limits.name }),
        'Name of a list of the project; the assigned addresses become its members.',
      ),
    ),
  },
  { $id: 'NewRegistration', ...closed },
);

const Registration = Type.Object(
  {
    user: User,
    created: Type.Boolean({ description: 'Whether the user was created.' }),
    membership: Type.Object({
      application: Type.String({ description: 'Slug.' }),
      active: Type.Boolean(),
      custom_fields: customFields,
    }),
    addresses: Type.Array(Type.Object({ name: Type.String(), value: Type.String() })),
    assignments: Type.Array(
      Type.Object({
        address: Type.String(),
        channel: Type.String({
          description: 'Slug of the channel that reaches the address, or the channel type if there is none.',
        }),
      }),
    ),
    distribution_list: nullableText,
  },
  { $id: 'Registration' },
);

export const registerUser = plain(['org', 'prj', 'app'], {
  id: 'registerUser',
  summary: 'Register user with application',
  description:
    'Creates the user if needed; names and email are used only then. `custom_fields` are merged into those of the existing ' +
    'registration, and available in templates as `membership`. Does everything or nothing. A key that is ' +
    'limited to a project or application gets the names and email of an existing user only with `user:read`, and if the user ' +
    'is on a list of the project.',
  body: NewRegistration,
  answer: Registration,
  handle: ({ deps, caller, organization, project, application, body }) => {
    const path = { organization, project, application };
    // A caller who may change any user gets the user in other answers, too.
    const maySeeAll = caller.grant.allows('user:write', { organization });
    return registrations.register(
      deps,
      path,
      { ...body, custom_fields: body.custom_fields as JsonObject | null | undefined },
      maySeeAll ? 'all' : visibleUsers(caller.grant, path),
    );
  },
});

export const unregisterUser = plain(['org', 'prj', 'app', 'username'], {
  id: 'unregisterUser',
  summary: 'Unregister user from application',
  description: 'Deletes the registration with its custom fields. The user, addresses and memberships are kept.',
  answer: Type.Object(
    { deleted: Type.Integer({ description: 'Number of deleted registrations: 0 or 1.' }) },
    { $id: 'Unregistered' },
  ),
  handle: ({ deps, organization, project, application, user }) =>
    registrations.unregister(deps, { organization, project, application }, user),
});

const UserRegistration = Type.Object(
  {
    id: Type.Integer(),
    project: Type.String({ description: 'Slug.' }),
    application: Type.String({ description: 'Slug.' }),
    active: Type.Boolean(),
    custom_fields: customFields,
    created_at: timestamp,
    updated_at: timestamp,
  },
  { $id: 'UserRegistration' },
);

export const listUserRegistrations = list(['org', 'username'], {
  id: 'listUserRegistrations',
  summary: 'List user registrations',
  description: 'The applications that the user is registered with, and the custom fields of each.',
  item: UserRegistration,
  list: ({ deps, organization, user }, page) =>
    queries.listRegistrationsOfUser(deps.db, organization.id, user.id, page),
});
