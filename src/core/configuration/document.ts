/**
 * Schema of the declarative file: organizations with everything that is configured in them, as one document. The file,
 * the bodies of the API and exports all have this form. The nouns declare their own fields; this is the tree of them.
 */
import { type Static, type TObject, type TSchema, Type } from 'typebox';
import { Reach } from '../oncall/reach.ts';
import { limits } from '../text/text.ts';
import { application } from './nouns/application.ts';
import { category } from './nouns/category.ts';
import { channel } from './nouns/channel.ts';
import { event } from './nouns/event.ts';
import { heartbeat } from './nouns/heartbeat.ts';
import { layout } from './nouns/layout.ts';
import { type NotificationFields, notification } from './nouns/notification.ts';
import type { FieldsOf, Noun } from './nouns/noun.ts';
import { organization } from './nouns/organization.ts';
import { project } from './nouns/project.ts';
import { schedule } from './nouns/schedule.ts';
import { closed, Data, Name, unmanaged } from './nouns/schemas.ts';
import { source } from './nouns/source.ts';
import { watch } from './nouns/watch.ts';
import { webhook } from './nouns/webhook.ts';

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
  source,
  heartbeat,
  watch,
  schedule,
};
export type NounName = keyof typeof nouns;
type SectionNoun = Exclude<NounName, 'organization'> | 'user' | 'list';

/**
 * The sections of each noun with the nouns in them, in the order in which an apply creates them. Tables have the same names
 * as sections.
 */
const sections = {
  organization: {
    channels: 'channel',
    layouts: 'layout',
    categories: 'category',
    webhooks: 'webhook',
    users: 'user',
    projects: 'project',
  },
  project: {
    channels: 'channel',
    layouts: 'layout',
    distribution_lists: 'list',
    schedules: 'schedule',
    applications: 'application',
  },
  application: { events: 'event', sources: 'source', heartbeats: 'heartbeat', watches: 'watch' },
  event: { notifications: 'notification' },
} as const satisfies { [noun in NounName]?: Record<string, SectionNoun> };

/** The nouns in the sections of a noun, by section. */
export type SectionsOf<N> = N extends keyof typeof sections ? (typeof sections)[N] : Record<never, SectionNoun>;

export function sectionsOf(noun: string): [section: string, child: SectionNoun][] {
  return Object.entries((sections as Record<string, Record<string, SectionNoun>>)[noun] ?? {});
}

/** Returns the section that holds entries of the noun; undefined for the organization. */
export function sectionOf(noun: NounName): string | undefined {
  return Object.keys(sections)
    .flatMap(sectionsOf)
    .find(([, child]) => child === noun)?.[0];
}

/** The nouns whose slugs are parts of a path. */
export const pathNouns = ['project', 'application', 'event'] as const;
export type PathNoun = (typeof pathNouns)[number];

/** Returns the noun below the organization that contains entries of this one, and whether the organization can, too. */
export function parentOf(noun: NounName): { parent: PathNoun | undefined; isShared: boolean } {
  const isIn = (above: string) => sectionsOf(above).some(([, child]) => child === noun);
  return { parent: pathNouns.find(isIn), isShared: isIn('organization') };
}

/** The fields of a noun in a comparable form, with defaults filled in. An undefined one is left unchanged. */
export type NounFields<N extends NounName> = N extends 'notification'
  ? NotificationFields
  : FieldsOf<(typeof nouns)[N]>;

const AddressEntry = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: limits.name,
      pattern: '^[^\\r\\n]*[^\\s][^\\r\\n]*$',
      patternHint: 'must be a single line that is not blank',
    }),
    value: Type.String({ minLength: 1, maxLength: limits.subscription }),
    verified: Type.Optional(
      Type.Boolean({ description: 'Whether the user has proved to read what is sent to it. Absent: unchanged.' }),
    ),
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
    reach: Type.Optional(Reach),
    custom_fields: Type.Optional(Data),
    addresses: Type.Optional(
      Type.Array(AddressEntry, {
        description: `In addition to the email, which may be listed to say whether it is verified. ${unmanaged}`,
      }),
    ),
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

/** An entry of a file, or the body of a request that creates the object. */
export type EntryOf<N> = N extends 'user'
  ? UserEntry
  : N extends 'list'
    ? ListEntry
    : N extends NounName
      ? Static<TObject<(typeof nouns)[N]['fields']>> &
          Static<TObject<NonNullable<(typeof nouns)[N]['more']>>> & {
            -readonly [S in keyof SectionsOf<N>]?: EntryOf<SectionsOf<N>[S]>[];
          }
      : never;

function schemaOf(noun: SectionNoun | 'organization', options: { $id?: string } = {}): TSchema {
  if (noun === 'user') return UserEntry;
  if (noun === 'list') return ListEntry;
  const { fields, more, description }: Noun = nouns[noun];
  const below = sectionsOf(noun).map(([section, child]) => [section, sectionSchemaOf(noun, child)]);
  const properties = { ...fields, ...more, ...Object.fromEntries(below) };
  return Type.Object(properties, { ...(description && { description }), ...options, ...closed });
}

/** An absent section is not managed: what is stored of it stays unchanged. */
function sectionSchemaOf(above: NounName, noun: SectionNoun): TSchema {
  const { max }: { max?: number } = noun in nouns ? nouns[noun as NounName] : {};
  const isOwn = above !== 'organization' && noun in nouns && parentOf(noun as NounName).isShared;
  const description = isOwn ? `The ${above}'s own. ${unmanaged}` : unmanaged;
  return Type.Optional(Type.Array(schemaOf(noun), { ...(max && { maxItems: max }), description }));
}

export const OrganizationDocument = Type.Unsafe<EntryOf<'organization'>>(
  schemaOf('organization', { $id: 'OrganizationDocument' }),
);
export const Document = Type.Object({ organizations: Type.Array(OrganizationDocument) }, closed);

export type ChannelEntry = EntryOf<'channel'>;
export type NotificationEntry = EntryOf<'notification'>;
export type ProjectEntry = EntryOf<'project'>;
export type ApplicationEntry = EntryOf<'application'>;
export type UserEntry = Static<typeof UserEntry>;
export type ListEntry = Static<typeof ListEntry>;
export type OrganizationDocument = EntryOf<'organization'>;
export type Document = Static<typeof Document>;
