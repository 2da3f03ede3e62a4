/** The shapes of the API, one each: they validate, serialise, type and document. */
import { type Static, Type } from 'typebox';
import { addressName, limits } from '../core/text.ts';

export const closed = { additionalProperties: false } as const;
export const url = (description: string) => Type.String({ format: 'uri', description });
export const moment = Type.String({ format: 'date-time' });
export const maybeMoment = Type.Union([moment, Type.Null()]);
export const maybeText = Type.Union([Type.String(), Type.Null()]);

export const Problem = Type.Object(
  {
    type: Type.String({ description: 'Where this kind of problem is explained.' }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String({ description: 'What went wrong and what to do.' }),
    code: Type.String({ description: 'Stable; for programs.' }),
    errors: Type.Optional(
      Type.Record(Type.String(), Type.Array(Type.String()), { description: 'Field to what is wrong with it.' }),
    ),
    request_id: Type.String({ description: 'Names this request in the log.' }),
  },
  { $id: 'Problem', description: 'RFC 9457 problem document.' },
);

export const Ping = Type.Object({ token: Type.String({ description: 'The name of the key.' }) }, { $id: 'Ping' });

export const Organization = Type.Object(
  {
    name: Type.String(),
    slug: Type.String(),
    users: url('The list of users.'),
    projects: url('The list of projects.'),
    channels: url('The list of channels.'),
  },
  { $id: 'Organization' },
);

export const Project = Type.Object(
  {
    name: Type.String(),
    slug: Type.String(),
    applications: url('The list of applications.'),
    channels: url("The list of the project's own channels."),
    distribution_lists: url('The list of distribution lists.'),
  },
  { $id: 'Project' },
);

export const Channel = Type.Object(
  {
    name: Type.String(),
    slug: Type.String(),
    type: Type.String({ description: 'The medium: email, sms, slack, webhook, …' }),
    enabled: Type.Boolean(),
  },
  { $id: 'Channel' },
);

export const Application = Type.Object(
  { name: Type.String(), slug: Type.String(), events: url('The list of events.') },
  { $id: 'Application' },
);

export const Event = Type.Object({ name: Type.String(), slug: Type.String() }, { $id: 'Event' });

// Not a record: its pattern for names does not match one of two lines, and the serialiser would drop it.
export const customFields = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  description: 'Free-form JSON.',
});
export const personName = Type.String({ maxLength: limits.name });
const locale = Type.Union([Type.String({ maxLength: limits.locale }), Type.Null()], {
  description: 'A language such as en or pt-BR, in which messages are written where they can be. Empty or null: none.',
});

const userFields = {
  id: Type.Integer(),
  email: Type.String(),
  username: Type.String({ description: 'The email in lower case; names the user in paths.' }),
  first_name: Type.String(),
  last_name: Type.String(),
};

export const User = Type.Object({ ...userFields, locked: Type.Boolean() }, { $id: 'User' });
export const CreatedUser = Type.Object({ ...userFields, custom_fields: customFields }, { $id: 'CreatedUser' });
export const UpdatedUser = Type.Object(
  { ...userFields, locked: Type.Boolean(), custom_fields: customFields },
  { $id: 'UpdatedUser' },
);

export const Profile = Type.Object(
  {
    ...userFields,
    locked: Type.Boolean(),
    locale: Type.Union([Type.String(), Type.Null()], { description: 'Language tag: en, pt-BR.' }),
    timezone: Type.Union([Type.String(), Type.Null()], { description: 'Such as Europe/Berlin.' }),
    custom_fields: customFields,
    created_at: moment,
    updated_at: moment,
  },
  { $id: 'Profile' },
);

export const ProfileUpdate = Type.Object(
  {
    first_name: Type.Optional(personName),
    last_name: Type.Optional(personName),
    locked: Type.Optional(Type.Boolean()),
    locale: Type.Optional(Type.Union([Type.String({ maxLength: limits.locale }), Type.Null()])),
    timezone: Type.Optional(
      Type.Union([Type.String({ maxLength: 100 }), Type.Null()], {
        description: 'Such as Europe/Berlin. Empty or null: none.',
      }),
    ),
    custom_fields: Type.Optional(customFields),
  },
  { $id: 'ProfileUpdate', ...closed },
);

export const WholeAddress = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    value: Type.String(),
    disabled_at: maybeMoment,
    disabled_reason: maybeText,
  },
  { $id: 'WholeAddress' },
);

export const Membership = Type.Object(
  {
    id: Type.Integer({ description: 'Of the member.' }),
    project: Type.String({ description: 'Slug.' }),
    list: Type.Object({ id: Type.Integer(), name: Type.String() }),
    address: Type.String(),
    active: Type.Boolean(),
  },
  { $id: 'Membership' },
);

export const NewUser = Type.Object(
  {
    email: Type.String({ format: 'email', maxLength: limits.email }),
    first_name: Type.Optional(personName),
    last_name: Type.Optional(personName),
    locale: Type.Optional(locale),
    custom_fields: Type.Optional(Type.Union([customFields, Type.Null()])),
  },
  { $id: 'NewUser', ...closed },
);

export const UserUpdate = Type.Object(
  {
    first_name: Type.Optional(personName),
    last_name: Type.Optional(personName),
    locked: Type.Optional(Type.Boolean()),
    locale: Type.Optional(locale),
    custom_fields: Type.Optional(Type.Union([customFields, Type.Null()])),
    _mode: Type.Optional(
      Type.String({
        patternHint: 'must be REPLACE, MERGE or IGNORE, in any letter case',
        pattern: '^([Rr][Ee][Pp][Ll][Aa][Cc][Ee]|[Mm][Ee][Rr][Gg][Ee]|[Ii][Gg][Nn][Oo][Rr][Ee])$',
        default: 'IGNORE',
        description:
          'How `custom_fields` is applied, in any letter case. REPLACE: takes the place of the old object. ' +
          'MERGE: RFC 7396, null removes. IGNORE: not at all.',
      }),
    ),
    id: Type.Optional(Type.Unknown({ description: 'Ignored, so that a retrieved user can be sent back.' })),
    email: Type.Optional(Type.Unknown({ description: 'Ignored.' })),
    username: Type.Optional(Type.Unknown({ description: 'Ignored.' })),
  },
  { $id: 'UserUpdate', ...closed },
);

export const Address = Type.Object({ name: Type.String(), value: Type.String() }, { $id: 'Address' });

export const NewAddress = Type.Object(
  {
    name: Type.String({
      ...addressName,
      minLength: 1,
      maxLength: limits.name,
      description: 'The kind: `email…` holds an email, `phone…` and `sms…` a phone number, others any text.',
    }),
    value: Type.String({
      minLength: 1,
      maxLength: limits.subscription,
      description: `Up to ${limits.address} characters; where the name begins with \`webpush\`, ${limits.subscription}.`,
    }),
  },
  { $id: 'NewAddress', ...closed },
);

export const DistributionList = Type.Object(
  { id: Type.Integer(), name: Type.String(), members: url('The list of members.') },
  { $id: 'DistributionList' },
);

export const NewDistributionList = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: limits.name,
      pattern: '\\S',
      patternHint: 'must not be blank',
      description: 'Unique in the project. Spaces around it are taken away.',
    }),
  },
  { $id: 'NewDistributionList', ...closed },
);

export const ListUpdate = Type.Object(
  { name: Type.Optional(NewDistributionList.properties.name) },
  { $id: 'ListUpdate', ...closed },
);

export const NamedMember = Type.Object(
  {
    id: Type.Integer(),
    user: Type.String({ description: 'The username.' }),
    first_name: Type.String(),
    last_name: Type.String(),
    address: Type.String(),
    active: Type.Boolean(),
  },
  { $id: 'NamedMember' },
);

export const Recipients = Type.Array(Type.String({ format: 'email' }), {
  $id: 'Recipients',
  minItems: 1,
  maxItems: 100_000,
  description: 'Email addresses. Those of nobody become users.',
});

export const RecipientsAdded = Type.Object(
  {
    added: Type.Integer({ description: 'New members.' }),
    existing: Type.Integer({ description: 'Members already.' }),
    created_users: Type.Integer({ description: 'Users that did not exist before.' }),
  },
  { $id: 'RecipientsAdded' },
);

export const Member = Type.Object(
  {
    id: Type.Integer(),
    address: Type.String(),
    user: Type.String({ description: 'The username.' }),
    channel: Type.String({ description: 'Slug of the channel that reaches this address, else the kind of address.' }),
    active: Type.Boolean({ description: 'False: kept, but not notified.' }),
  },
  { $id: 'Member' },
);

export const TriggerQuery = Type.Object({
  cid: Type.Optional(Type.String({ maxLength: limits.name, description: 'Correlation id, kept with the occurrence.' })),
});

export const TriggerHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({ maxLength: limits.key, description: 'The same key and body again give the same occurrence.' }),
  ),
  traceparent: Type.Optional(
    Type.String({
      description:
        'The place of the caller in a trace (W3C Trace Context): taken over where Belfry exports traces. One that is not valid is ignored.',
    }),
  ),
});

export const Triggered = Type.Object(
  { occurrence: Type.String({ format: 'uuid', description: 'Identifier of the occurrence.' }) },
  { $id: 'Triggered' },
);

export const ListQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, description: 'A page of so many; without it, the whole list.' }),
  ),
  cursor: Type.Optional(
    Type.String({ maxLength: 2_048, description: 'Where a page begins: from the Link header of the page before.' }),
  ),
});

export const DeleteQuery = Type.Object({
  dry_run: Type.Optional(Type.Boolean({ description: 'Only tells what would be deleted.' })),
});

export const CascadeQuery = Type.Object({
  ...DeleteQuery.properties,
  cascade: Type.Optional(Type.Boolean({ description: 'Along with everything below it.' })),
});

export const Deleted = Type.Object(
  {
    deleted: Type.Record(Type.String(), Type.Integer(), { description: 'How many of which kind, itself included.' }),
    dry_run: Type.Optional(Type.Boolean()),
  },
  { $id: 'Deleted' },
);

export function deletionOf({ cascade = false, dry_run = false }: Static<typeof CascadeQuery>) {
  return { cascade, dryRun: dry_run };
}

export const Paused = Type.Object({ paused: Type.Boolean() });
export const Resumed = Type.Object({
  paused: Type.Boolean(),
  released: Type.Integer({ description: 'Messages and occurrences that had been kept and are due now.' }),
});
