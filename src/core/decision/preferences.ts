/**
 * Recipient preferences. A choice covers everything, one category or one event, for one channel type or for all; the most
 * specific one decides. A broad choice never changes a specific one, and preferences do not apply to required categories.
 */
import { type Static, Type } from 'typebox';
import type { Category } from '../configuration/nouns/category.ts';
import { lookUp } from '../lookup.ts';
import { optionalString } from '../optional.ts';
import { limits, slugPattern } from '../text/text.ts';

export const generalSlug = 'general';

/** The category of events without one, unless the organization has its own category with this slug. */
export const generalCategory: Category = {
  slug: generalSlug,
  name: 'General',
  description: '',
  kind: 'transactional',
  default: true,
  channel_defaults: {},
  channels: null,
  quiet_hours: 'respect',
  track: false,
  locales: {},
};

export const preferenceSources = ['page', 'one-click', 'api', 'console', 'import', 'inbox'] as const;
export type PreferenceSource = (typeof preferenceSources)[number];

/** A recipient's choice, as the engine reads it. */
export interface Choice {
  on: boolean;
  source: PreferenceSource;
  at: string;
}

/** Choices by `choiceKey`. */
export type Choices = Record<string, Choice>;

export const everything = 'everything';
export const categoryScope = (slug: string) => `category:${slug}`;
export const eventScope = (path: string) => `event:${path}`;

/** Returns the key of a choice. An empty channel type means all channel types. */
export function choiceKey(scope: string, channelType: string): string {
  return channelType === '' ? scope : `${scope} ${channelType}`;
}

/** What a preference is evaluated for. */
export interface Topic {
  category: Category;
  /** Path such as shop/web/order-paid; undefined for the category as a whole. */
  event: string | undefined;
}

interface PreferenceDecision {
  enabled: boolean;
  /** `category`: a default of the category. `default`: neither the recipient nor the category says otherwise. */
  decidedBy: 'required' | 'preference' | 'category' | 'default';
  /** The choice that decided. */
  choice?: Choice & { scope: string; channelType: string };
}

/** Returns whether the recipient gets messages about this topic via this channel type, and what decided it: the first match. */
export function resolvePreference(
  topic: Topic,
  channelType: string,
  choices: Choices | null | undefined,
): PreferenceDecision {
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

/** Describes what decided: "category news via email, one-click on 2026-11-15". */
export function describePreferenceDecision({ decidedBy, choice }: PreferenceDecision, { category }: Topic): string {
  if (!choice) return decidedBy === 'category' ? `default of the category ${category.slug}` : decidedBy;
  const what = choice.scope.replace(':', ' ');
  const via = choice.channelType === '' ? '' : ` via ${choice.channelType}`;
  return `${what}${via}, ${choice.source} on ${choice.at.slice(0, 10)}`;
}

/** Returns whether people read this channel. Webhooks are received by programs. */
export function isPersonal(channelType: string): boolean {
  return channelType !== 'webhook';
}

/** Returns whether the preference page offers this channel type for this category. */
export function isOffered({ channels }: Category, channelType: string): boolean {
  return isPersonal(channelType) && (channels === null || (channels as readonly string[]).includes(channelType));
}

/** Returns name and description in the best matching language: pt-BR, then pt, then the category's own. */
export function localizeCategory({ name, description, locales }: Category, locale: string | null | undefined) {
  const translation = locale ? (lookUp(locales, locale) ?? lookUp(locales, locale.split('-')[0]!)) : undefined;
  return { name: translation?.name ?? name, description: translation?.description ?? description };
}

/** A choice in the API; without a category and an event it covers everything. */
export const PreferenceChange = Type.Object(
  {
    category: optionalString({
      maxLength: limits.slug,
      pattern: slugPattern,
      patternHint: 'must be the slug of a category',
      description: 'Slug. With neither a category nor an event, the choice covers everything.',
    }),
    event: optionalString({
      maxLength: 3 * limits.slug + 2,
      pattern: '^[a-z0-9_-]+/[a-z0-9_-]+/[a-z0-9_-]+$',
      patternHint: 'must be project/application/event, such as shop/web/order-paid',
      description: 'project/application/event',
    }),
    channel_type: optionalString({
      minLength: 1,
      maxLength: 20,
      description: 'Such as `email`. Defaults to all channel types.',
    }),
    enabled: Type.Unsafe<boolean | null>({
      type: ['boolean', 'null'],
      description: 'Null removes the choice, so that the next broader one decides.',
    }),
  },
  { additionalProperties: false },
);
export type PreferenceChange = Static<typeof PreferenceChange>;
