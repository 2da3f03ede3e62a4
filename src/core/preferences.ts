/**
 * What a recipient wants to get. A choice is about everything, one category or one event, by one channel type or by all;
 * the narrowest one decides. A broad choice never touches a narrow one, and a required category asks nobody.
 */
import { type Static, Type } from 'typebox';
import { limits, slugPattern } from './text.ts';

export const categoryKinds = ['required', 'transactional', 'promotional'] as const;
export type CategoryKind = (typeof categoryKinds)[number];

export interface Category {
  slug: string;
  name: string;
  description: string;
  kind: CategoryKind;
  /** What holds until the recipient chooses, and what differs for a channel type. */
  default: boolean;
  channel_defaults: Record<string, boolean>;
  /** The channel types that the recipient may choose between; null: all. */
  channels: string[] | null;
  quiet_hours: 'respect' | 'ignore';
  /** By language. */
  locales: Record<string, { name?: string; description?: string }>;
}

export const generalSlug = 'general';

/** Of events that name none, unless the organization has one of this slug itself. */
export const generalCategory: Category = {
  slug: generalSlug,
  name: 'General',
  description: '',
  kind: 'transactional',
  default: true,
  channel_defaults: {},
  channels: null,
  quiet_hours: 'respect',
  locales: {},
};

export const preferenceSources = ['page', 'one-click', 'api', 'console', 'import', 'inbox'] as const;
export type PreferenceSource = (typeof preferenceSources)[number];

/** As the engine reads it with the person. */
export interface Choice {
  on: boolean;
  source: PreferenceSource;
  at: string;
}

/** By `choiceKey`. */
export type Choices = Record<string, Choice>;

export const everything = 'everything';
export const categoryScope = (slug: string) => `category:${slug}`;
export const eventScope = (path: string) => `event:${path}`;

/** An empty channel type means all of them. */
export function choiceKey(scope: string, channelType: string): string {
  return channelType === '' ? scope : `${scope} ${channelType}`;
}

/** An event, as far as preferences are concerned. */
export interface Topic {
  category: Category;
  /** shop/web/order-paid; undefined: about the category as such. */
  event: string | undefined;
}

export interface Ruling {
  enabled: boolean;
  /** `category`: what its default says. `default`: nobody has said anything. */
  decidedBy: 'required' | 'preference' | 'category' | 'default';
  /** The row that decided. */
  choice?: Choice & { scope: string; channelType: string };
}

/** Whether a person gets messages about this by this channel type, and what decided it: the first that matches. */
export function ruleOn(topic: Topic, channelType: string, choices: Choices | null | undefined): Ruling {
  const { category, event } = topic;
  if (category.kind === 'required') return { enabled: true, decidedBy: 'required' };
  if (choices) {
    const scopes = [...(event === undefined ? [] : [eventScope(event)]), categoryScope(category.slug), everything];
    for (const scope of scopes) {
      for (const type of [channelType, '']) {
        const choice = choices[choiceKey(scope, type)];
        if (choice)
          return { enabled: choice.on, decidedBy: 'preference', choice: { ...choice, scope, channelType: type } };
      }
    }
  }
  if (Object.hasOwn(category.channel_defaults, channelType)) {
    return { enabled: category.channel_defaults[channelType]!, decidedBy: 'category' };
  }
  return category.default ? { enabled: true, decidedBy: 'default' } : { enabled: false, decidedBy: 'category' };
}

/** For people: "category news by email, one-click on 2026-11-15". */
export function describeRuling({ decidedBy, choice }: Ruling, { category }: Topic): string {
  if (!choice) return decidedBy === 'category' ? `default of the category ${category.slug}` : decidedBy;
  const what = choice.scope.replace(':', ' ');
  const by = choice.channelType === '' ? '' : ` by ${choice.channelType}`;
  return `${what}${by}, ${choice.source} on ${choice.at.slice(0, 10)}`;
}

/** A webhook is a program's, and no person sees what it gets. */
export function isPersonal(channelType: string): boolean {
  return channelType !== 'webhook';
}

/** Whether the preference page has this channel type for this category. */
export function isOffered({ channels }: Category, channelType: string): boolean {
  return isPersonal(channelType) && (channels === null || channels.includes(channelType));
}

/** Name and description in the language that suits the recipient best: pt-BR before pt before the category's own. */
export function localizeCategory({ name, description, locales }: Category, locale: string | null | undefined) {
  const words = locale ? (locales[locale] ?? locales[locale.split('-')[0]!]) : undefined;
  return { name: words?.name ?? name, description: words?.description ?? description };
}

/** A choice as the API takes it; without a category and an event it is about everything. */
export const PreferenceChange = Type.Object(
  {
    category: Type.Optional(
      Type.String({
        maxLength: limits.slug,
        pattern: slugPattern,
        patternHint: 'must be the slug of a category',
        description: 'Slug. With neither a category nor an event, the choice is about everything.',
      }),
    ),
    event: Type.Optional(
      Type.String({
        maxLength: 3 * limits.slug + 2,
        pattern: '^[a-z0-9_-]+/[a-z0-9_-]+/[a-z0-9_-]+$',
        patternHint: 'must be project/application/event, such as shop/web/order-paid',
        description: 'project/application/event',
      }),
    ),
    channel_type: Type.Optional(
      Type.String({ minLength: 1, maxLength: 20, description: 'Such as `email`. Absent: all of them.' }),
    ),
    enabled: Type.Unsafe<boolean | null>({
      type: ['boolean', 'null'],
      description: 'Null withdraws the choice: what is broader decides again.',
    }),
  },
  { additionalProperties: false },
);
export type PreferenceChange = Static<typeof PreferenceChange>;
