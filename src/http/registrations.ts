import { Type } from 'typebox';
import type { JsonObject } from '../core/json.ts';
import { limits } from '../core/text.ts';
import * as registrations from '../services/registrations.ts';
import { list, plain } from './route.ts';
import { customFields, moment, personName, User } from './schemas.ts';

const closed = { additionalProperties: false } as const;

const NewRegistration = Type.Object(
  {
    username: Type.String({ minLength: 1, maxLength: limits.email, pattern: '\\S', patternHint: 'must not be blank' }),
    first_name: Type.Optional(personName),
    last_name: Type.Optional(personName),
    email: Type.Optional(Type.String({ maxLength: limits.email, description: 'Empty: the username.' })),
    custom_fields: Type.Optional(Type.Union([customFields, Type.Null()])),
    active: Type.Optional(Type.Boolean({ description: 'Absent: true.' })),
    addresses: Type.Optional(
      Type.Array(
        Type.Object(
          {
            value: Type.String({ minLength: 1, maxLength: limits.subscription }),
            name: Type.Optional(
              Type.String({
                minLength: 1,
                maxLength: limits.name,
                pattern: '^[^\\r\\n]*[^\\s][^\\r\\n]*$',
                patternHint: 'must be one line that is not blank, without CR and LF',
                description: 'Absent: `email` or `phone`, as the value is.',
              }),
            ),
            assign_to_preferred_channel: Type.Optional(Type.Boolean({ description: 'Absent: true.' })),
          },
          closed,
        ),
        { maxItems: 100 },
      ),
    ),
    distribution_list: Type.Optional(
      Type.Union([Type.String({ maxLength: limits.name }), Type.Null()], {
        description: 'Name of a list of the project, of which the assigned addresses become members.',
      }),
    ),
  },
  { $id: 'NewRegistration', ...closed },
);

const Registration = Type.Object(
  {
    user: User,
    created: Type.Boolean({ description: 'Whether there was no such user before.' }),
    membership: Type.Object({
      application: Type.String({ description: 'Slug.' }),
      active: Type.Boolean(),
      custom_fields: customFields,
    }),
    addresses: Type.Array(Type.Object({ name: Type.String(), value: Type.String() })),
    assignments: Type.Array(
      Type.Object({
        address: Type.String(),
        channel: Type.String({ description: 'Slug of the channel it is reached through, else its kind.' }),
      }),
    ),
    distribution_list: Type.Union([Type.String(), Type.Null()]),
  },
  { $id: 'Registration' },
);

export const registerUser = plain(['org', 'prj', 'app'], {
  id: 'registerUser',
  summary: 'Register user with application',
  description:
    'Whoever is unknown becomes a user; names and email are used only then. `custom_fields` are merged into what the ' +
    'application knows of the person, and there for templates as `membership`. All or nothing.',
  tag: 'Users',
  status: 200,
  body: NewRegistration,
  answer: Registration,
  handle: ({ deps, organization, project, application, body }) =>
    registrations.register(
      deps,
      { organization, project, application },
      { ...body, custom_fields: body.custom_fields as JsonObject | null | undefined },
    ),
});

export const unregisterUser = plain(['org', 'prj', 'app', 'username'], {
  id: 'unregisterUser',
  summary: 'Unregister user from application',
  description: 'Forgets what the application knows of the person. Users, addresses and lists stay as they are.',
  tag: 'Users',
  status: 200,
  answer: Type.Object(
    { deleted: Type.Integer({ description: 'How many registrations there were.' }) },
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
    created_at: moment,
    updated_at: moment,
  },
  { $id: 'UserRegistration' },
);

export const listUserRegistrations = list(['org', 'username'], {
  id: 'listUserRegistrations',
  summary: 'List registrations of user',
  description: 'The applications that have registered the user, and what each knows of them.',
  tag: 'Users',
  item: UserRegistration,
  list: async ({ deps, organization, user }, page) =>
    (await registrations.listRegistrationsOfUser(deps, organization.id, user.id, page)).map(
      ({ created_at, updated_at, ...rest }) => ({
        ...rest,
        created_at: created_at.toISOString(),
        updated_at: updated_at.toISOString(),
      }),
    ),
});
