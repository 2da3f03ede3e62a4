/** The shapes of the API, one each: they validate, serialise, type and document. */
import { Type } from 'typebox';
import { deliveryStatuses, occurrenceStatuses } from '../core/statuses.ts';
import { limits } from '../core/text.ts';

const closed = { additionalProperties: false } as const;
const url = (description: string) => Type.String({ format: 'uri', description });

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
const customFields = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  description: 'Free-form JSON.',
});
const personName = Type.String({ maxLength: limits.name });
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
    custom_fields: customFields,
    created_at: Type.String({ format: 'date-time' }),
    updated_at: Type.String({ format: 'date-time' }),
  },
  { $id: 'Profile' },
);

export const ProfileUpdate = Type.Object(
  {
    first_name: Type.Optional(personName),
    last_name: Type.Optional(personName),
    locked: Type.Optional(Type.Boolean()),
    locale: Type.Optional(Type.Union([Type.String({ maxLength: limits.locale }), Type.Null()])),
    custom_fields: Type.Optional(customFields),
  },
  { $id: 'ProfileUpdate', ...closed },
);

export const WholeAddress = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    value: Type.String(),
    disabled_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    disabled_reason: Type.Union([Type.String(), Type.Null()]),
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
    name: Type.String({ minLength: 1, maxLength: limits.name, pattern: '\\S', description: 'Unique in the project.' }),
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
});

export const Triggered = Type.Object(
  { occurrence: Type.String({ format: 'uuid', description: 'Identifier of the occurrence.' }) },
  { $id: 'Triggered' },
);

export const Key = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    project: Type.Union([Type.String(), Type.Null()]),
    application: Type.Union([Type.String(), Type.Null()]),
    permissions: Type.Array(Type.String()),
    requests_per_second: Type.Union([Type.Integer(), Type.Null()]),
    created_at: Type.String({ format: 'date-time' }),
    expires_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    revoked_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    last_used_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  },
  { $id: 'Key' },
);

export const NewKey = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: limits.name, pattern: '\\S' }),
    project: Type.Optional(Type.String({ description: 'Narrows the key to this project.' })),
    application: Type.Optional(Type.String({ description: 'Narrows the key to this application of the project.' })),
    permissions: Type.Array(Type.String(), { minItems: 1, maxItems: 100 }),
    expires_at: Type.Optional(Type.Union([Type.String({ format: 'date-time' }), Type.Null()])),
    requests_per_second: Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: 1_000_000 }), Type.Null()])),
  },
  { $id: 'NewKey', ...closed },
);

export const CreatedKey = Type.Object(
  { id: Type.String(), name: Type.String(), key: Type.String({ description: 'Shown this once.' }) },
  { $id: 'CreatedKey' },
);

export const KeyUpdate = Type.Object(
  {
    name: Type.Optional(NewKey.properties.name),
    requests_per_second: NewKey.properties.requests_per_second,
    expires_at: NewKey.properties.expires_at,
  },
  { $id: 'KeyUpdate', ...closed },
);

export const RotateKey = Type.Object(
  {
    overlap: Type.Optional(
      Type.String({ maxLength: 12, default: '24h', description: 'How long the old one still works.' }),
    ),
  },
  { $id: 'RotateKey', ...closed },
);

export const RotatedKey = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    key: Type.String({ description: 'Shown this once.' }),
    previous: Type.Object({ id: Type.String(), expires_at: Type.String({ format: 'date-time' }) }),
  },
  { $id: 'RotatedKey' },
);

export const RevokeKey = Type.Object(
  { key: Type.String({ minLength: 1, maxLength: limits.name, description: 'Its id or name.' }) },
  { $id: 'RevokeKey', ...closed },
);

export const ListQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, description: 'A page of so many; without it, the whole list.' }),
  ),
  cursor: Type.Optional(
    Type.String({ maxLength: 2_048, description: 'Where a page begins: from the Link header of the page before.' }),
  ),
});

const moment = Type.String({ format: 'date-time' });
const maybeMoment = Type.Union([moment, Type.Null()]);
export const maybeText = Type.Union([Type.String(), Type.Null()]);

const occurrenceFields = {
  identifier: Type.String({ format: 'uuid' }),
  event: Type.Union([Type.String(), Type.Null()], { description: 'prj/app/evt; null when it has been deleted.' }),
  status: Type.Enum([...occurrenceStatuses]),
  reason: Type.Union([Type.String(), Type.Null()], { description: 'Why it came to nothing, if it did.' }),
  created_at: moment,
  completed_at: maybeMoment,
  correlation_id: maybeText,
  counts: Type.Object(
    {
      pending: Type.Integer({ description: 'Waiting, being sent or to be tried again.' }),
      sent: Type.Integer(),
      failed: Type.Integer(),
      suppressed: Type.Integer(),
      cancelled: Type.Integer(),
      expired: Type.Integer(),
      unknown: Type.Integer(),
    },
    { description: 'Deliveries by status.' },
  ),
};

export const OccurrenceSummary = Type.Object(occurrenceFields, { $id: 'OccurrenceSummary' });
export const Occurrence = Type.Object(
  {
    ...occurrenceFields,
    context: Type.Record(Type.String(), Type.Unknown()),
    options: Type.Record(Type.String(), Type.Unknown()),
    deliveries: url('The list of deliveries.'),
  },
  { $id: 'Occurrence' },
);

export const OccurrenceFilter = Type.Object({
  project: Type.Optional(Type.String({ description: 'Slug.' })),
  application: Type.Optional(Type.String({ description: 'Slug.' })),
  event: Type.Optional(Type.String({ description: 'Slug.' })),
  status: Type.Optional(Type.Enum([...occurrenceStatuses])),
  correlation_id: Type.Optional(Type.String({ maxLength: limits.name })),
  search: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.name,
      description: 'What the identifier begins with, or the correlation id.',
    }),
  ),
  since: Type.Optional(moment),
  until: Type.Optional(moment),
});

const deliveryStatus = Type.Enum([...deliveryStatuses]);

const deliveryFields = {
  id: Type.Integer(),
  user: Type.Union([Type.String(), Type.Null()], { description: 'The username; null when the user has been deleted.' }),
  address: maybeText,
  channel: Type.Union([Type.String(), Type.Null()], { description: 'Slug.' }),
  notification: Type.Union([Type.String(), Type.Null()], { description: 'Name.' }),
  status: deliveryStatus,
  reason: Type.Union([Type.String(), Type.Null()], { description: 'A stable code.' }),
  detail: Type.Union([Type.String(), Type.Null()], { description: "The provider's own words." }),
  attempts: Type.Integer(),
  provider: maybeText,
  created_at: moment,
  sent_at: maybeMoment,
  next_attempt_at: maybeMoment,
};

export const Delivery = Type.Object(deliveryFields, { $id: 'Delivery' });
export const PastDelivery = Type.Object(
  {
    ...deliveryFields,
    occurrence: Type.String({ format: 'uuid', description: 'Identifier of the occurrence.' }),
    event: Type.Union([Type.String(), Type.Null()], { description: 'prj/app/evt; null when it has been deleted.' }),
  },
  { $id: 'PastDelivery' },
);

export const DeliveryFilter = Type.Object({
  status: Type.Optional(deliveryStatus),
  user: Type.Optional(Type.String({ maxLength: limits.email, description: 'Username.' })),
  channel: Type.Optional(Type.String({ description: 'Slug.' })),
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
