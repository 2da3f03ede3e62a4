/** Schemas of the API. Each one validates, serializes, types and documents. */
import { type Static, type TSchema, Type } from 'typebox';
import { Reach } from '../../core/oncall/reach.ts';
import { optionalBoolean, optionalInteger, optionalString } from '../../core/optional.ts';
import { limits, singleLine } from '../../core/text/text.ts';

export const closed = { additionalProperties: false } as const;
export const url = (description: string) => Type.String({ format: 'uri', description });
/** A time. Responses may contain a Date, which is serialized as text. */
export const time = (description?: string) =>
  Type.Unsafe<Date | string>({ type: 'string', format: 'date-time', ...(description && { description }) });
export const nullable = <Schema extends TSchema>(schema: Schema, description?: string) =>
  Type.Union([schema, Type.Null()], { ...(description && { description }) });
export const timestamp = time();
export const nullableTimestamp = nullable(timestamp);
export const nullableText = nullable(Type.String());

export const Problem = Type.Object(
  {
    type: Type.String({ description: 'URL of the documentation of this error code.' }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String({ description: 'What went wrong and what to do about it.' }),
    code: Type.String({ description: 'Stable code, for programs.' }),
    errors: Type.Optional(Type.Record(Type.String(), Type.Array(Type.String()), { description: 'Messages by field.' })),
    request_id: Type.String({ description: 'Identifies this request in the server log.' }),
  },
  { $id: 'Problem', description: 'RFC 9457 problem document.' },
);

export const Ping = Type.Object({ token: Type.String({ description: 'Name of the API key.' }) }, { $id: 'Ping' });

export const Organization = Type.Object(
  {
    name: Type.String(),
    slug: Type.String(),
    users: url('URL of the list of users.'),
    projects: url('URL of the list of projects.'),
    channels: url('URL of the list of channels.'),
  },
  { $id: 'Organization' },
);

export const Project = Type.Object(
  {
    name: Type.String(),
    slug: Type.String(),
    applications: url('URL of the list of applications.'),
    channels: url("URL of the list of the project's own channels."),
    distribution_lists: url('URL of the list of distribution lists.'),
  },
  { $id: 'Project' },
);

export const Channel = Type.Object(
  {
    name: Type.String(),
    slug: Type.String(),
    type: Type.String({ description: 'The medium: `email`, `sms`, `slack`, `webhook`, …' }),
    enabled: Type.Boolean(),
  },
  { $id: 'Channel' },
);

export const Application = Type.Object(
  { name: Type.String(), slug: Type.String(), events: url('URL of the list of events.') },
  { $id: 'Application' },
);

export const Event = Type.Object({ name: Type.String(), slug: Type.String() }, { $id: 'Event' });

// Not Type.Record: its key pattern does not match keys that contain a line break, and the serializer would drop them.
export const customFields = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  description: 'Any JSON object.',
});
export const nameOfUser = Type.String({ maxLength: limits.name });
const locale = nullable(
  Type.String({ maxLength: limits.locale }),
  'Language tag, such as `en` or `pt-BR`. Messages are rendered in this language if a translation exists. Empty or null: none.',
);

const userFields = {
  id: Type.Integer(),
  email: Type.String(),
  username: Type.String({ description: 'The email in lower case; identifies the user in paths.' }),
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
    locale: nullable(Type.String(), 'Language tag, such as `en` or `pt-BR`.'),
    timezone: nullable(Type.String(), 'Time zone, such as `Europe/Berlin`.'),
    reach: nullable(Reach, 'Null: by all channels at once.'),
    custom_fields: customFields,
    created_at: timestamp,
    updated_at: timestamp,
  },
  { $id: 'Profile' },
);

export const ProfileUpdate = Type.Object(
  {
    first_name: Type.Optional(nameOfUser),
    last_name: Type.Optional(nameOfUser),
    locked: optionalBoolean(),
    locale: Type.Optional(Type.Union([Type.String({ maxLength: limits.locale }), Type.Null()])),
    timezone: Type.Optional(
      nullable(Type.String({ maxLength: 100 }), 'Time zone, such as `Europe/Berlin`. Empty or null: none.'),
    ),
    reach: Type.Optional(nullable(Reach, 'Empty or null: by all channels at once.')),
    custom_fields: Type.Optional(customFields),
  },
  { $id: 'ProfileUpdate', ...closed },
);

export const WholeAddress = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    value: Type.String(),
    verified_at: nullable(timestamp, 'When the address was verified. Null: it is not.'),
    disabled_at: nullableTimestamp,
    disabled_reason: nullableText,
    suppression: Type.Union(
      [
        Type.Object({
          target: Type.String({ description: 'The address, or `@` and its domain.' }),
          reason: Type.String(),
          source: Type.String(),
          since: timestamp,
          projects: nullable(
            Type.Array(Type.String()),
            'Slugs of the projects whose channels send nothing to it. Null: no channel does.',
          ),
        }),
        Type.Null(),
      ],
      { description: 'Entry of the suppression list that the address matches.' },
    ),
  },
  { $id: 'WholeAddress' },
);

export const Membership = Type.Object(
  {
    id: Type.Integer({ description: 'Id of the member.' }),
    project: Type.String({ description: 'Slug of the project.' }),
    list: Type.Object({ id: Type.Integer(), name: Type.String() }),
    address: Type.String(),
    active: Type.Boolean(),
  },
  { $id: 'Membership' },
);

export const NewUser = Type.Object(
  {
    email: Type.String({ format: 'email', maxLength: limits.email }),
    first_name: Type.Optional(nameOfUser),
    last_name: Type.Optional(nameOfUser),
    locale: Type.Optional(locale),
    custom_fields: Type.Optional(Type.Union([customFields, Type.Null()])),
  },
  { $id: 'NewUser', ...closed },
);

export const UserUpdate = Type.Object(
  {
    first_name: Type.Optional(nameOfUser),
    last_name: Type.Optional(nameOfUser),
    locked: optionalBoolean(),
    locale: Type.Optional(locale),
    custom_fields: Type.Optional(Type.Union([customFields, Type.Null()])),
    _mode: optionalString({
      patternHint: 'must be REPLACE, MERGE or IGNORE, in any letter case',
      pattern: '^([Rr][Ee][Pp][Ll][Aa][Cc][Ee]|[Mm][Ee][Rr][Gg][Ee]|[Ii][Gg][Nn][Oo][Rr][Ee])$',
      default: 'IGNORE',
      description:
        'How `custom_fields` is applied, in any letter case. `REPLACE`: replaces the object. `MERGE`: merges by RFC 7396, ' +
        'null removes a field. `IGNORE`: leaves it unchanged.',
    }),
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
      ...singleLine,
      minLength: 1,
      maxLength: limits.name,
      description:
        'The kind of address. Names that start with `email` hold an email, with `phone` or `sms` a phone number, others any text.',
    }),
    value: Type.String({
      minLength: 1,
      maxLength: limits.subscription,
      description: `Up to ${limits.address} characters, or ${limits.subscription} if the name starts with \`webpush\` or \`push\`.`,
    }),
  },
  { $id: 'NewAddress', ...closed },
);

export const DistributionList = Type.Object(
  { id: Type.Integer(), name: Type.String(), members: url('URL of the list of members.') },
  { $id: 'DistributionList' },
);

export const NewDistributionList = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: limits.name,
      pattern: '\\S',
      patternHint: 'must not be blank',
      description: 'Unique in the project. Leading and trailing spaces are removed.',
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
  description: 'Email addresses. A user is created for each unknown address.',
});

export const RecipientsAdded = Type.Object(
  {
    added: Type.Integer({ description: 'Members added.' }),
    existing: Type.Integer({ description: 'Recipients that were already members.' }),
    created_users: Type.Integer({ description: 'Users created.' }),
  },
  { $id: 'RecipientsAdded' },
);

export const Member = Type.Object(
  {
    id: Type.Integer(),
    address: Type.String(),
    user: Type.String({ description: 'The username.' }),
    channel: Type.String({
      description: 'Slug of the channel that delivers to this address, else the kind of address.',
    }),
    active: Type.Boolean({ description: 'False: the member stays in the list but is not notified.' }),
  },
  { $id: 'Member' },
);

export const TriggerQuery = Type.Object({
  cid: optionalString({ maxLength: limits.name, description: 'Correlation id, stored with the occurrence.' }),
});

export const TriggerHeaders = Type.Object({
  'idempotency-key': optionalString({
    maxLength: limits.key,
    description: 'A request with the same key and body returns the same occurrence.',
  }),
  traceparent: optionalString({
    description:
      'Trace context of the caller (W3C Trace Context), continued if Belfry exports traces. An invalid value is ignored.',
  }),
});

export const Triggered = Type.Object(
  { occurrence: Type.String({ format: 'uuid', description: 'Identifier of the occurrence.' }) },
  { $id: 'Triggered' },
);

export const ListQuery = Type.Object({
  limit: optionalInteger({
    minimum: 1,
    maximum: 1000,
    description: 'Maximum number of items per page. Without it, the whole list is returned.',
  }),
  cursor: optionalString({
    maxLength: 2_048,
    description: 'Position of the page, taken from the `Link` header of the previous page.',
  }),
});

export const DeleteQuery = Type.Object({
  dry_run: optionalBoolean({ description: 'Returns what would be deleted, without deleting it.' }),
});

export const CascadeQuery = Type.Object({
  ...DeleteQuery.properties,
  cascade: optionalBoolean({ description: 'Also deletes everything below it.' }),
});

export const Deleted = Type.Object(
  {
    deleted: Type.Record(Type.String(), Type.Integer(), {
      description: 'Number of deleted records by kind, including the record itself.',
    }),
    dry_run: optionalBoolean(),
  },
  { $id: 'Deleted' },
);

export function deletionOptions({ cascade = false, dry_run = false }: Static<typeof CascadeQuery>) {
  return { cascade, dryRun: dry_run };
}
