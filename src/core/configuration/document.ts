/**
 * Schema of the declarative file: organizations with everything that is configured in them, as one document. The file,
 * the bodies of the API and exports all have this form.
 */
import { type Static, Type } from 'typebox';
import { Digest } from '../decision/digest.ts';
import { categoryKinds } from '../decision/preferences.ts';
import { QuietHours } from '../decision/quiet-hours.ts';
import { GiveUpAfter, Steps } from '../decision/steps.ts';
import { Throttle, throttleLimits } from '../decision/throttle.ts';
import { expressionLimits } from '../expressions/expressions.ts';
import { reputationDefaults } from '../feedback/reputation.ts';
import { Retry } from '../history/retries.ts';
import type { JsonObject } from '../json.ts';
import { AttachmentEntries } from '../message/attachments.ts';
import { Actions, Avatar } from '../message/inbox-actions.ts';
import { logoUrlPattern } from '../render/logo-url.ts';
import { templateLimits } from '../render/template/limits.ts';
import { limits, slugPattern } from '../text/text.ts';
import { priorities } from '../trigger.ts';
import { WebhookEntry, webhookLimits } from './webhooks.ts';

/** Channel types. A channel sends to addresses of its type. */
export const media = [
  'email',
  'sms',
  'voice',
  'whatsapp',
  'telegram',
  'slack',
  'teams',
  'discord',
  'chat',
  'webhook',
  'webpush',
  'push',
  'inbox',
] as const;
export type Medium = (typeof media)[number];

const closed = { additionalProperties: false } as const;
const unmanaged = 'Absent: not managed, left unchanged.';

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
    { use: Type.String({ description: 'Name of the provider. Its settings are further fields of this object.' }) },
    { additionalProperties: true },
  ),
);

const percent = { minimum: 0.01, maximum: 100 };

export const ChannelEntry = Type.Object(
  {
    slug: Slug,
    name: Name,
    type: Type.Enum([...media], { description: 'The medium.' }),
    enabled: Type.Optional(Type.Boolean({ description: 'Absent: true.' })),
    on_unknown: Type.Optional(
      Type.Enum(['resend', 'hold'], {
        description:
          'What to do when the outcome of an attempt is unknown: send the message again, at most once, or hold it. Absent: resend.',
      }),
    ),
    rate_per_second: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 100_000,
        description: 'Messages per second, across all workers. Absent: no limit.',
      }),
    ),
    concurrency: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000,
        description: 'Messages in flight at a time, across all workers. Absent: no limit.',
      }),
    ),
    retry: Type.Optional(Retry),
    reputation_guard: Type.Optional(
      Type.Boolean({
        description:
          'Pauses bulk messages of an email channel if too many of its messages bounce or are reported as spam. Absent: true.',
      }),
    ),
    max_bounce_percent: Type.Optional(
      Type.Number({
        ...percent,
        description: `Permanent bounces above which the reputation guard pauses. Absent: ${reputationDefaults.max_bounce_percent}.`,
      }),
    ),
    max_complaint_percent: Type.Optional(
      Type.Number({
        ...percent,
        description: `Complaints above which the reputation guard pauses. Absent: ${reputationDefaults.max_complaint_percent}.`,
      }),
    ),
    providers: Type.Optional(
      Type.Array(ProviderEntry, {
        maxItems: 10,
        description: `Tried in order. A secret that is omitted keeps its stored value; null removes it. ${unmanaged}`,
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
      patternHint: 'must be a single line that is not blank',
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
    addresses: Type.Optional(Type.Array(AddressEntry, { description: `In addition to the email. ${unmanaged}` })),
  },
  { ...closed, description: 'Absent fields are left unchanged.' },
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
  { ...closed, description: 'The frame around HTML emails. Messages that name no layout use the one named default.' },
);

const categoryTexts = {
  name: Name,
  description: Type.Optional(Type.String({ maxLength: 1_000, description: 'Shown to recipients.' })),
};

export const CategoryEntry = Type.Object(
  {
    slug: Slug,
    ...categoryTexts,
    kind: Type.Optional(
      Type.Enum([...categoryKinds], {
        description:
          'Recipients cannot turn off required, can turn off transactional, and can unsubscribe from promotional with one click. Absent: transactional.',
      }),
    ),
    default: Type.Optional(
      Type.Boolean({ description: 'Whether it is on until the recipient chooses. Absent: true.' }),
    ),
    channel_defaults: Type.Optional(
      Type.Record(Type.String(), Type.Boolean(), {
        description: 'Exceptions to the default by channel type, such as { sms: false }.',
      }),
    ),
    channels: Type.Optional(
      Type.Array(Type.Enum([...media]), {
        minItems: 1,
        maxItems: media.length,
        description: 'Channel types that the recipient can choose from. Absent: all.',
      }),
    ),
    quiet_hours: Type.Optional(
      Type.Enum(['respect', 'ignore'], {
        description:
          'Whether messages wait until quiet hours end. Only required categories can ignore them. Absent: respect.',
      }),
    ),
    track: Type.Optional(
      Type.Boolean({ description: 'Whether opens and clicks of emails are recorded. Absent: false.' }),
    ),
    locales: Type.Optional(
      Type.Record(Type.String(), Type.Object({ ...categoryTexts, name: Type.Optional(Name) }, closed), {
        description: 'Name and description in other languages, by language tag.',
      }),
    ),
  },
  { ...closed, description: 'Groups events for recipients, who choose what they get by category.' },
);

const LocalizedText = Type.Object({ subject: Type.Optional(Subject), body: Type.Optional(Body) }, closed);
const locales = Type.Optional(
  Type.Record(Type.String(), LocalizedText, {
    description: 'Translations by language tag. pt-BR is preferred over pt, and pt over the untranslated text.',
  }),
);
export const Message = Type.Object(
  {
    subject: Type.Optional(Subject),
    body: Body,
    layout: Type.Optional(
      Type.String({
        ...Name,
        description: "Name of the layout. The project's layouts take precedence over the organization's.",
      }),
    ),
    strict: Type.Optional(
      Type.Boolean({ description: 'Whether the message fails when the context lacks a variable. Absent: false.' }),
    ),
    avatar: Type.Optional(Avatar),
    actions: Type.Optional(Actions),
    attachments: Type.Optional(AttachmentEntries),
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
        trigger: Type.Optional(Type.Literal(true, { description: 'The recipients named by the trigger.' })),
      },
      { ...closed, minProperties: 1 },
    ),
    channels: Type.Optional(
      Type.Array(Slug, { minItems: 1, maxItems: 100, description: 'Slugs or types. Absent when there are `steps`.' }),
    ),
    steps: Type.Optional(Steps),
    give_up_after: Type.Optional(GiveUpAfter),
    notify_resolved: Type.Optional(
      Type.Boolean({
        description: 'Whether notified recipients are also notified when it is resolved. Absent: false.',
      }),
    ),
    filter: Type.Optional(Expression),
    environs: Type.Optional(Type.Array(Name, { minItems: 1, maxItems: 100 })),
    extra_context: Type.Optional(Data),
    priority: Type.Optional(
      Type.Enum([...priorities], {
        description: "Absent: normal, or bulk for many recipients. The trigger's priority takes precedence.",
      }),
    ),
    throttle: Type.Optional(Throttle),
    digest: Type.Optional(Digest),
    message: Message,
    overrides: Type.Optional(
      Type.Record(Type.String(), Override, { description: 'Overrides for a channel, by its slug or type.' }),
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
      // Not a union, which would report each mistake once per branch.
      Type.Unsafe<JsonObject | null>({
        type: ['object', 'null'],
        additionalProperties: true,
        description: `JSON Schema of the context. Triggers that do not match it are refused. ${unmanaged} Null (the initial value): none.`,
      }),
    ),
    notifications: Type.Optional(Type.Array(NotificationEntry, { description: unmanaged })),
  },
  closed,
);

export const ApplicationEntry = Type.Object(
  { slug: Slug, name: Name, events: Type.Optional(Type.Array(EventEntry, { description: unmanaged })) },
  closed,
);

const ListEntry = Type.Object(
  {
    name: Name,
    // The email format is checked in slices, not here: 100,000 members take up to 0.4 s.
    members: Type.Optional(
      Type.Array(Type.String({ maxLength: limits.email }), { description: `Emails of users. ${unmanaged}` }),
    ),
  },
  closed,
);

export const ProjectEntry = Type.Object(
  {
    slug: Slug,
    name: Name,
    channels: Type.Optional(Type.Array(ChannelEntry, { description: `The project's own. ${unmanaged}` })),
    layouts: Type.Optional(Type.Array(LayoutEntry, { description: `The project's own. ${unmanaged}` })),
    distribution_lists: Type.Optional(Type.Array(ListEntry, { description: unmanaged })),
    applications: Type.Optional(Type.Array(ApplicationEntry, { description: unmanaged })),
  },
  closed,
);

export const OrganizationDocument = Type.Object(
  {
    slug: Slug,
    name: Name,
    retention_days: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 3_650, description: `How long history is kept. ${unmanaged} Initially 90.` }),
    ),
    max_key_lifetime_days: Type.Optional(
      // Not a union, which would report each mistake once per branch.
      Type.Unsafe<number | null>({
        type: ['integer', 'null'],
        minimum: 1,
        maximum: 3_650,
        description: `Maximum lifetime of new API keys. ${unmanaged} Null (the initial value): no limit.`,
      }),
    ),
    brand_color: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        pattern: '^#[0-9a-fA-F]{6}$',
        patternHint: 'must be a color such as #1f5fbf',
        description: `Color of the pages that recipients see. ${unmanaged} Null: the default color.`,
      }),
    ),
    logo_url: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        maxLength: 2_048,
        pattern: logoUrlPattern,
        patternHint:
          'must be an https URL such as https://acme.test/logo.png, with an ASCII host name (use punycode for others)',
        format: 'url',
        description: `Logo on the pages that recipients see. ${unmanaged} Null: the name is shown instead.`,
      }),
    ),
    timezone: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        maxLength: 100,
        description: `Time zone of quiet hours, such as Europe/Berlin. ${unmanaged} Null (the initial value): UTC.`,
      }),
    ),
    quiet_hours: Type.Optional(
      Type.Unsafe<QuietHours | null>({
        ...QuietHours,
        type: ['object', 'null'],
        description: `For users who have not set their own. ${unmanaged} Null (the initial value): none.`,
      }),
    ),
    max_per_day: Type.Optional(
      Type.Unsafe<number | null>({
        type: ['integer', 'null'],
        minimum: 1,
        maximum: throttleLimits.max,
        description: `Maximum messages per user in 24 hours, over all events. Required and urgent messages do not count. ${unmanaged} Null (the initial value): no limit.`,
      }),
    ),
    channels: Type.Optional(Type.Array(ChannelEntry, { description: unmanaged })),
    layouts: Type.Optional(Type.Array(LayoutEntry, { description: unmanaged })),
    categories: Type.Optional(Type.Array(CategoryEntry, { description: unmanaged })),
    webhooks: Type.Optional(Type.Array(WebhookEntry, { maxItems: webhookLimits.endpoints, description: unmanaged })),
    users: Type.Optional(Type.Array(UserEntry, { description: unmanaged })),
    projects: Type.Optional(Type.Array(ProjectEntry, { description: unmanaged })),
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
