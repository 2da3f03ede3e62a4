/**
 * The declarative file: an organization and everything that is configured in it, as one document. This schema is the
 * form of the file, of the API's bodies and of an export alike.
 */
import { type Static, Type } from 'typebox';
import { Digest } from '../digest.ts';
import { expressionLimits } from '../expressions.ts';
import { Actions, Avatar } from '../inbox-actions.ts';
import type { JsonObject } from '../json.ts';
import { categoryKinds } from '../preferences.ts';
import { QuietHours } from '../quiet-hours.ts';
import { templateLimits } from '../render/template-limits.ts';
import { GiveUpAfter, Steps } from '../steps.ts';
import { limits, slugPattern } from '../text.ts';
import { Throttle, throttleLimits } from '../throttle.ts';
import { priorities } from '../trigger.ts';
import { WebhookEntry, webhookLimits } from '../webhooks.ts';

/** The kinds of channel. An address of the same kind is what a channel of that kind sends to. */
export const media = [
  'email',
  'sms',
  'voice',
  'whatsapp',
  'telegram',
  'slack',
  'teams',
  'discord',
  'webhook',
  'webpush',
  'push',
  'inbox',
] as const;
export type Medium = (typeof media)[number];

const closed = { additionalProperties: false } as const;
const section = 'Absent: not managed, left as it is.';

const Slug = Type.String({
  maxLength: limits.slug,
  pattern: slugPattern,
  patternHint: 'must be lower-case letters and digits, with single dashes or underscores between them',
});
const Name = Type.String({
  minLength: 1,
  maxLength: limits.name,
  pattern: '\\S',
  patternHint: 'must not be blank',
});
const Email = Type.String({ format: 'email', maxLength: limits.email });
const Data = Type.Record(Type.String(), Type.Unknown(), { description: 'Free-form JSON.' });
const Expression = Type.String({ minLength: 1, maxLength: expressionLimits.source, description: 'JMESPath.' });
const Subject = Type.String({ maxLength: 2_000, description: 'A template.' });
const Body = Type.String({ maxLength: templateLimits.source, description: 'A template.' });
const Locale = Type.String({ maxLength: limits.locale, description: 'A language such as en or pt-BR. Empty: none.' });

export const ProviderEntry = Type.Unsafe<{ use: string; [field: string]: unknown }>(
  Type.Object(
    { use: Type.String({ description: 'The name of the provider; its own fields stand beside it.' }) },
    { additionalProperties: true },
  ),
);

export const ChannelEntry = Type.Object(
  {
    slug: Slug,
    name: Name,
    type: Type.Enum([...media], { description: 'The medium.' }),
    enabled: Type.Optional(Type.Boolean({ description: 'Absent: true.' })),
    on_unknown: Type.Optional(
      Type.Enum(['resend', 'hold'], {
        description: 'What to do with a message whose answer was lost: send it again, or keep it. Absent: resend.',
      }),
    ),
    rate_per_second: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 100_000,
        description: 'Messages a second, of all workers. Absent: no limit.',
      }),
    ),
    concurrency: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000,
        description: 'Messages under way at once, of all workers. Absent: no limit.',
      }),
    ),
    providers: Type.Optional(
      Type.Array(ProviderEntry, {
        maxItems: 10,
        description: `Tried in order. A secret that is left out stays as it is stored, and null removes it. ${section}`,
      }),
    ),
  },
  closed,
);

const AddressEntry = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: limits.name,
      pattern: '^[^\\r\\n]*[^\\s][^\\r\\n]*$',
      patternHint: 'must be one line that is not blank, without CR and LF',
    }),
    value: Type.String({ minLength: 1, maxLength: limits.subscription }),
  },
  closed,
);

const UserEntry = Type.Object(
  {
    email: Email,
    first_name: Type.Optional(Type.String({ maxLength: limits.name })),
    last_name: Type.Optional(Type.String({ maxLength: limits.name })),
    locked: Type.Optional(Type.Boolean()),
    locale: Type.Optional(Locale),
    timezone: Type.Optional(
      Type.String({ maxLength: 100, description: 'A time zone such as Europe/Berlin. Empty: none.' }),
    ),
    custom_fields: Type.Optional(Data),
    addresses: Type.Optional(Type.Array(AddressEntry, { description: `Besides the email itself. ${section}` })),
  },
  { ...closed, description: 'A field that is absent is left as it is.' },
);

export const LayoutEntry = Type.Object(
  {
    name: Name,
    body: Type.String({
      minLength: 1,
      maxLength: templateLimits.source,
      description: 'HTML with Liquid, around {{ content }}.',
    }),
  },
  { ...closed, description: 'What an HTML mail stands in. The one named default is that of messages that name none.' },
);

const categoryWords = {
  name: Name,
  description: Type.Optional(Type.String({ maxLength: 1_000, description: 'Shown to recipients.' })),
};

export const CategoryEntry = Type.Object(
  {
    slug: Slug,
    ...categoryWords,
    kind: Type.Optional(
      Type.Enum([...categoryKinds], {
        description:
          'required cannot be switched off, transactional can, promotional carries one-click unsubscribe. Absent: transactional.',
      }),
    ),
    default: Type.Optional(
      Type.Boolean({ description: 'Whether it is on until the recipient chooses. Absent: true.' }),
    ),
    channel_defaults: Type.Optional(
      Type.Record(Type.String(), Type.Boolean(), {
        description: 'What differs for a channel type, such as { sms: false }.',
      }),
    ),
    channels: Type.Optional(
      Type.Array(Type.Enum([...media]), {
        minItems: 1,
        maxItems: media.length,
        description: 'Channel types that the recipient may choose between. Absent: all of them.',
      }),
    ),
    quiet_hours: Type.Optional(
      Type.Enum(['respect', 'ignore'], {
        description: 'Whether it waits for the end of quiet hours; only required may ignore them. Absent: respect.',
      }),
    ),
    locales: Type.Optional(
      Type.Record(Type.String(), Type.Object({ ...categoryWords, name: Type.Optional(Name) }, closed), {
        description: 'Name and description in other languages, by tag.',
      }),
    ),
  },
  { ...closed, description: 'Groups events for recipients, who choose what they get by category.' },
);

const Words = Type.Object({ subject: Type.Optional(Subject), body: Type.Optional(Body) }, closed);
const locales = Type.Optional(
  Type.Record(Type.String(), Words, {
    description: 'What differs in a language, by its tag: pt-BR before pt before the words beside this.',
  }),
);
export const Message = Type.Object(
  {
    subject: Type.Optional(Subject),
    body: Body,
    layout: Type.Optional(Type.String({ ...Name, description: "By name: the project's before the organization's." })),
    strict: Type.Optional(
      Type.Boolean({ description: 'Whether a variable that the context lacks fails the message. Absent: false.' }),
    ),
    avatar: Type.Optional(Avatar),
    actions: Type.Optional(Actions),
    locales,
  },
  closed,
);
export const Override = Type.Object({ subject: Type.Optional(Subject), body: Type.Optional(Body), locales }, closed);

export const NotificationEntry = Type.Object(
  {
    name: Name,
    active: Type.Optional(Type.Boolean({ description: 'Absent: true.' })),
    recipients: Type.Object(
      {
        list: Type.Optional(Name),
        users: Type.Optional(Expression),
        trigger: Type.Optional(Type.Literal(true, { description: 'Whom the trigger itself names.' })),
      },
      { ...closed, minProperties: 1 },
    ),
    channels: Type.Optional(
      Type.Array(Slug, { minItems: 1, maxItems: 100, description: 'Slugs or types. Absent: there are `steps`.' }),
    ),
    steps: Type.Optional(Steps),
    give_up_after: Type.Optional(GiveUpAfter),
    notify_resolved: Type.Optional(
      Type.Boolean({ description: 'Whether those who were told hear that it is resolved. Absent: false.' }),
    ),
    filter: Type.Optional(Expression),
    environs: Type.Optional(Type.Array(Name, { minItems: 1, maxItems: 100 })),
    extra_context: Type.Optional(Data),
    priority: Type.Optional(
      Type.Enum([...priorities], {
        description: "Absent: normal, and bulk for many recipients. A trigger's own wins.",
      }),
    ),
    throttle: Type.Optional(Throttle),
    digest: Type.Optional(Digest),
    message: Message,
    overrides: Type.Optional(
      Type.Record(Type.String(), Override, { description: 'What differs on a channel, by its slug or type.' }),
    ),
  },
  closed,
);

export const EventEntry = Type.Object(
  {
    slug: Slug,
    name: Name,
    active: Type.Optional(Type.Boolean({ description: 'Absent: true.' })),
    category: Type.Optional(Type.String({ ...Slug, description: 'Slug of a category. Absent: general.' })),
    context_schema: Type.Optional(
      // Without a union: its mistakes are told once.
      Type.Unsafe<JsonObject | null>({
        type: ['object', 'null'],
        additionalProperties: true,
        description: `A JSON Schema of the context: a trigger that breaks it is refused. ${section} Null, and at first: none.`,
      }),
    ),
    notifications: Type.Optional(Type.Array(NotificationEntry, { description: section })),
  },
  closed,
);

export const ApplicationEntry = Type.Object(
  { slug: Slug, name: Name, events: Type.Optional(Type.Array(EventEntry, { description: section })) },
  closed,
);

const ListEntry = Type.Object(
  {
    name: Name,
    members: Type.Optional(Type.Array(Email, { description: `Emails of users. ${section}` })),
  },
  closed,
);

export const ProjectEntry = Type.Object(
  {
    slug: Slug,
    name: Name,
    channels: Type.Optional(Type.Array(ChannelEntry, { description: `The project's own. ${section}` })),
    layouts: Type.Optional(Type.Array(LayoutEntry, { description: `The project's own. ${section}` })),
    distribution_lists: Type.Optional(Type.Array(ListEntry, { description: section })),
    applications: Type.Optional(Type.Array(ApplicationEntry, { description: section })),
  },
  closed,
);

export const OrganizationDocument = Type.Object(
  {
    slug: Slug,
    name: Name,
    retention_days: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 3_650, description: `How long history is kept. ${section} At first: 90.` }),
    ),
    max_key_lifetime_days: Type.Optional(
      // Without a union: its mistakes are told once.
      Type.Unsafe<number | null>({
        type: ['integer', 'null'],
        minimum: 1,
        maximum: 3_650,
        description: `How long a key that is created from now on may live. ${section} Null, and at first: for ever.`,
      }),
    ),
    brand_color: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        pattern: '^#[0-9a-fA-F]{6}$',
        patternHint: 'must be a colour such as #1f5fbf',
        description: `Of the pages that recipients see. ${section} Null: the usual one.`,
      }),
    ),
    logo_url: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        maxLength: 2_048,
        pattern: '^https://[^\\s"<>\';,]+$',
        patternHint: 'must be an https address',
        description: `Of a picture, on the pages that recipients see. ${section} Null: the name instead.`,
      }),
    ),
    timezone: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        maxLength: 100,
        description: `In which quiet hours are counted: Europe/Berlin. ${section} Null, and at first: UTC.`,
      }),
    ),
    quiet_hours: Type.Optional(
      Type.Unsafe<QuietHours | null>({
        ...QuietHours,
        type: ['object', 'null'],
        description: `For people who have none of their own. ${section} Null, and at first: none.`,
      }),
    ),
    most_per_day: Type.Optional(
      Type.Unsafe<number | null>({
        type: ['integer', 'null'],
        minimum: 1,
        maximum: throttleLimits.most,
        description: `How much one person gets in 24 hours, of all events; required and urgent do not count. ${section} Null, and at first: no limit.`,
      }),
    ),
    channels: Type.Optional(Type.Array(ChannelEntry, { description: section })),
    layouts: Type.Optional(Type.Array(LayoutEntry, { description: section })),
    categories: Type.Optional(Type.Array(CategoryEntry, { description: section })),
    webhooks: Type.Optional(Type.Array(WebhookEntry, { maxItems: webhookLimits.endpoints, description: section })),
    users: Type.Optional(Type.Array(UserEntry, { description: section })),
    projects: Type.Optional(Type.Array(ProjectEntry, { description: section })),
  },
  { $id: 'OrganizationDocument', ...closed },
);

export const Document = Type.Object({ organizations: Type.Array(OrganizationDocument) }, closed);

export type ProviderEntry = Static<typeof ProviderEntry>;
export type ChannelEntry = Static<typeof ChannelEntry>;
export type LayoutEntry = Static<typeof LayoutEntry>;
export type CategoryEntry = Static<typeof CategoryEntry>;
export type UserEntry = Static<typeof UserEntry>;
export type NotificationEntry = Static<typeof NotificationEntry>;
export type EventEntry = Static<typeof EventEntry>;
export type ApplicationEntry = Static<typeof ApplicationEntry>;
export type ListEntry = Static<typeof ListEntry>;
export type ProjectEntry = Static<typeof ProjectEntry>;
export type OrganizationDocument = Static<typeof OrganizationDocument>;
export type Document = Static<typeof Document>;
