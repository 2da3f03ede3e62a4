/**
 * Schema of the declarative file: organizations with everything that is configured in them, as one document. The file,
 * the bodies of the API and exports all have this form. The nouns declare their own fields; this is the tree of them.
 */
import { type Static, type TProperties, type TSchema, Type } from 'typebox';
import { limits } from '../text/text.ts';
import { application } from './nouns/application.ts';
import { category } from './nouns/category.ts';
import { channel, Providers } from './nouns/channel.ts';
import { event } from './nouns/event.ts';
import { layout } from './nouns/layout.ts';
import { Message, notification, Overrides } from './nouns/notification.ts';
import { organization } from './nouns/organization.ts';
import { project } from './nouns/project.ts';
import { closed, Data, Name, unmanaged } from './nouns/schemas.ts';
import { Secret, webhook } from './nouns/webhook.ts';
import { webhookLimits } from './webhooks.ts';

function entryOf<Fields extends TProperties, More extends TProperties>(
  { fields }: { fields: Fields },
  more: More,
  options: { description?: string; $id?: string } = {},
) {
  return Type.Object({ ...fields, ...more }, { ...options, ...closed });
}

/** An absent section is not managed: what is stored of it stays unchanged. */
function section<Entry extends TSchema>(entry: Entry, description = unmanaged, options: { maxItems?: number } = {}) {
  return Type.Optional(Type.Array(entry, { ...options, description }));
}

export const ChannelEntry = entryOf(channel, { providers: Providers });

export const LayoutEntry = entryOf(
  layout,
  {},
  { description: 'The frame around HTML emails. Messages that name no layout use the one named default.' },
);

export const CategoryEntry = entryOf(
  category,
  {},
  { description: 'Groups events for recipients, who choose what they get by category.' },
);

export const WebhookEntry = entryOf(
  webhook,
  { secret: Secret },
  { description: 'An endpoint that receives operational events.' },
);

export const NotificationEntry = entryOf(notification, { message: Message, overrides: Type.Optional(Overrides) });
export const EventEntry = entryOf(event, { notifications: section(NotificationEntry) });
export const ApplicationEntry = entryOf(application, { events: section(EventEntry) });

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
    email: Type.String({ format: 'email', maxLength: limits.email }),
    first_name: Type.Optional(Type.String({ maxLength: limits.name })),
    last_name: Type.Optional(Type.String({ maxLength: limits.name })),
    locked: Type.Optional(Type.Boolean()),
    locale: Type.Optional(
      Type.String({ maxLength: limits.locale, description: 'A language such as en or pt-BR. Empty: none.' }),
    ),
    timezone: Type.Optional(
      Type.String({ maxLength: 100, description: 'A time zone such as Europe/Berlin. Empty: none.' }),
    ),
    custom_fields: Type.Optional(Data),
    addresses: Type.Optional(Type.Array(AddressEntry, { description: `In addition to the email. ${unmanaged}` })),
  },
  { ...closed, description: 'Absent fields are left unchanged.' },
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

export const ProjectEntry = entryOf(project, {
  channels: section(ChannelEntry, `The project's own. ${unmanaged}`),
  layouts: section(LayoutEntry, `The project's own. ${unmanaged}`),
  distribution_lists: section(ListEntry),
  applications: section(ApplicationEntry),
});

export const OrganizationDocument = entryOf(
  organization,
  {
    channels: section(ChannelEntry),
    layouts: section(LayoutEntry),
    categories: section(CategoryEntry),
    webhooks: section(WebhookEntry, unmanaged, { maxItems: webhookLimits.endpoints }),
    users: section(UserEntry),
    projects: section(ProjectEntry),
  },
  { $id: 'OrganizationDocument' },
);

/** Declarations by name, except for users and lists: they belong to the audience. */
export const nouns = {
  organization,
  channel,
  layout,
  category,
  webhook,
  project,
  application,
  event,
  notification,
};
export type NounName = keyof typeof nouns;

/** The sections of each noun with the nouns in them, in the order in which an apply creates them. */
export const sections: { [noun in NounName]?: Record<string, NounName | 'user' | 'list'> } = {
  organization: {
    channels: 'channel',
    layouts: 'layout',
    categories: 'category',
    webhooks: 'webhook',
    users: 'user',
    projects: 'project',
  },
  project: { channels: 'channel', layouts: 'layout', distribution_lists: 'list', applications: 'application' },
  application: { events: 'event' },
  event: { notifications: 'notification' },
};

export const Document = Type.Object({ organizations: Type.Array(OrganizationDocument) }, closed);

export type ChannelEntry = Static<typeof ChannelEntry>;
export type LayoutEntry = Static<typeof LayoutEntry>;
export type CategoryEntry = Static<typeof CategoryEntry>;
export type WebhookEntry = Static<typeof WebhookEntry>;
export type UserEntry = Static<typeof UserEntry>;
export type NotificationEntry = Static<typeof NotificationEntry>;
export type EventEntry = Static<typeof EventEntry>;
export type ApplicationEntry = Static<typeof ApplicationEntry>;
export type ListEntry = Static<typeof ListEntry>;
export type ProjectEntry = Static<typeof ProjectEntry>;
export type OrganizationDocument = Static<typeof OrganizationDocument>;
export type Document = Static<typeof Document>;
